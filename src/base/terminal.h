// What the other end of a descriptor can show.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace gprof {

struct Terminal {
  bool is_terminal = false;
  bool has_color = false;  // never when NO_COLOR is set or the terminal is a dumb one
  std::size_t columns = 80;
};

// The width is COLUMNS where it is set, else that of the terminal, else 80.
Terminal DetectTerminal(int descriptor);

// Puts colours around text, or not.
class Style {
 public:
  explicit Style(bool has_color) : has_color_(has_color) {}
  std::string Bold(std::string_view text) const { return Wrapped("\033[1m", text); }
  std::string Dim(std::string_view text) const { return Wrapped("\033[2m", text); }
  std::string Red(std::string_view text) const { return Wrapped("\033[1;31m", text); }
  std::string Yellow(std::string_view text) const { return Wrapped("\033[1;33m", text); }
  std::string Green(std::string_view text) const { return Wrapped("\033[32m", text); }
  std::string Cyan(std::string_view text) const { return Wrapped("\033[36m", text); }

 private:
  std::string Wrapped(std::string_view code, std::string_view text) const;
  bool has_color_;
};

}  // namespace gprof

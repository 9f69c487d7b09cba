#include "base/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <cstring>

namespace gprof {
namespace {

constexpr std::size_t kMinColumns = 40, kMaxColumns = 400;

// 0 when COLUMNS is not set, or not to a sensible number.
std::size_t ColumnsFromEnvironment() {
  const char* const text = std::getenv("COLUMNS");
  if (text == nullptr) return 0;
  std::size_t columns = 0;
  const char* const end = text + std::strlen(text);
  const auto [stop, error] = std::from_chars(text, end, columns);
  return error == std::errc() && stop == end ? columns : 0;
}

std::size_t ColumnsOf(int descriptor) {
  winsize size = {};
  return ioctl(descriptor, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

bool WantsColor() {
  const char* const no_color = std::getenv("NO_COLOR");
  const char* const terminal = std::getenv("TERM");
  const bool is_dumb = terminal == nullptr || std::strcmp(terminal, "dumb") == 0;
  return (no_color == nullptr || *no_color == '\0') && !is_dumb;
}

}  // namespace

Terminal DetectTerminal(int descriptor) {
  Terminal terminal;
  terminal.is_terminal = isatty(descriptor) == 1;
  terminal.has_color = terminal.is_terminal && WantsColor();
  std::size_t columns = ColumnsFromEnvironment();
  if (columns == 0 && terminal.is_terminal) columns = ColumnsOf(descriptor);
  if (columns != 0)
    terminal.columns = columns < kMinColumns ? kMinColumns : columns > kMaxColumns ? kMaxColumns : columns;
  return terminal;
}

std::string Style::Wrapped(std::string_view code, std::string_view text) const {
  if (!has_color_) return std::string(text);
  return std::string(code) + std::string(text) + "\033[0m";
}

}  // namespace gprof

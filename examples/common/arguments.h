// Command line of the example programs: `-n 1000`, `--facts FILE`, `--batched`.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace gprof::examples {

class Arguments {
 public:
  // `usage` is what `--help` prints; a usage error prints it too and ends the program with 2.
  Arguments(int argc, char** argv, std::string usage);

  // Each takes its option off the command line.
  std::size_t Number(std::string_view name, std::size_t fallback, std::size_t at_least = 1);
  std::string Text(std::string_view name, std::string fallback);
  bool Switch(std::string_view name);
  // Ends the program if anything is left.
  void Finish() const;

 private:
  std::vector<std::string>::iterator Find(std::string_view name);
  [[noreturn]] void Fail(const std::string& why) const;

  std::string usage_;
  std::vector<std::string> words_;
};

}  // namespace gprof::examples

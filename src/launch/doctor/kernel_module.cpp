#include "launch/doctor/kernel_module.h"

#include <algorithm>
#include <cctype>

namespace gprof {

// "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159  Release Build ...": the number.
std::string KernelModuleVersion(const std::string& text) {
  const std::string line = text.substr(0, text.find('\n'));
  std::size_t at = 0;
  while (at < line.size()) {
    const std::size_t end = std::min(line.find_first_of(" \t", at), line.size());
    const std::string word = line.substr(at, end - at);
    const bool is_number = word.find('.') != std::string::npos &&
                           std::all_of(word.begin(), word.end(), [](char c) { return c == '.' || std::isdigit(c); });
    if (is_number) return word;
    at = end + 1;
  }
  return {};
}

}  // namespace gprof

// A command of ours in a process of its own: whatever it does, the caller lives on and gets an answer of bounded size.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace gprof::cli {

struct BoundedOutput {
  int exit_code = 0;
  bool is_late = false;  // it was ended after the time limit
  std::string out, err;  // the first bytes of each, or the last
  bool is_cut = false;   // there was more
};

enum class Keep : uint8_t { kFirst, kLast };

// gprof-cli with these words. Its standard input is empty; it is not a terminal, and writes no colours.
BoundedOutput RunBounded(const std::vector<std::string>& words, std::chrono::seconds limit, std::size_t most_bytes,
                         Keep keep);

}  // namespace gprof::cli

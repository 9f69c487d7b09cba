// Text on stdin, a trace on stdout: what the cases of other tests are made with.
#include <array>
#include <cstdio>
#include <string>

#include "gprof/error.h"
#include "trace/text/assemble.h"

namespace {

// In large pieces: a character at a time, which is not optimised in tests, took more time than all the rest.
std::string AllOfStdin() {
  std::string text;
  std::array<char, 1 << 16> piece;
  while (const std::size_t size = std::fread(piece.data(), 1, piece.size(), stdin)) text.append(piece.data(), size);
  return text;
}

}  // namespace

int main() {
  const std::string text = AllOfStdin();
  try {
    const std::string bytes = gprof::AssembleTrace(text);
    return std::fwrite(bytes.data(), 1, bytes.size(), stdout) == bytes.size() && std::fflush(stdout) == 0 ? 0 : 1;
  } catch (const gprof::Error& e) {
    std::fprintf(stderr, "assemble_trace: %s\nhint: %s\n", e.what(), e.hint().c_str());
    return static_cast<int>(e.code());
  }
}

// Text on stdin, a trace on stdout: what the cases of other tests are made with.
#include <cstdio>
#include <iostream>
#include <iterator>
#include <string>

#include "gprof/error.h"
#include "trace/text/assemble.h"

int main() {
  const std::string text{std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>()};
  try {
    const std::string bytes = gprof::AssembleTrace(text);
    return std::fwrite(bytes.data(), 1, bytes.size(), stdout) == bytes.size() && std::fflush(stdout) == 0 ? 0 : 1;
  } catch (const gprof::Error& e) {
    std::fprintf(stderr, "assemble_trace: %s\nhint: %s\n", e.what(), e.hint().c_str());
    return static_cast<int>(e.code());
  }
}

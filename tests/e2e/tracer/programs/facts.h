// How the test programs say what they did: one JSON object a line on stdout, which the scripts compare with the trace.
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>

namespace facts {

inline unsigned Tid() { return static_cast<unsigned>(syscall(SYS_gettid)); }

// One line with one write, so that lines of several threads and processes stay whole.
__attribute__((format(printf, 1, 2))) inline void Say(const char* format, ...) {
  char line[4096];
  va_list list;
  va_start(list, format);
  int n = std::vsnprintf(line, sizeof(line) - 1, format, list);
  va_end(list);
  if (n < 0 || n >= static_cast<int>(sizeof(line)) - 1) std::abort();
  line[n++] = '\n';
  if (write(1, line, static_cast<size_t>(n)) != n) std::abort();
}

inline void Check(int result, const char* what) {
  if (result == 0) return;
  std::fprintf(stderr, "%s answered %d\n", what, result);
  std::exit(99);
}

}  // namespace facts

#define CHECK(call) facts::Check(static_cast<int>(call), #call)

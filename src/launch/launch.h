// Runs a program with the tracer injected: what `gprof-cli profile` does.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace gprof {

struct LaunchOptions {
  std::vector<std::string> command;  // the program and its arguments
  std::string output = "run.trace";  // may hold %p %h %n %q{NAME} %%
  bool may_overwrite = false;
  bool trace_cuda = true, trace_nvtx = true;
  bool all_apis = false;
  bool show_output = true;                                     // false: the program's stdout and stderr go to /dev/null
  std::string graph_trace;                                     // empty: left to the tracer
  uint32_t flush_ms = 0;                                       // 0: left to the tracer
  std::string cupti_path;                                      // empty: left to the tracer
  std::vector<std::pair<std::string, std::string>> variables;  // set for the program on top of the inherited ones
  std::function<void(const std::string&)> warn = [](const std::string&) {};
};

struct LaunchResult {
  std::string trace_path;  // as expanded from the pattern, relative as it was given
  int exit_code = 0;       // the program's, 128 + N when signal N killed it
  int signal = 0;          // that killed it, or 0
};

// Everything that can be refused is refused, by Error, before the program starts and before an old trace is touched.
LaunchResult RunTraced(const LaunchOptions& options);

}  // namespace gprof

#include "analysis/calls/interpreters.h"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace gprof {

bool IsInterpreted(const Trace& trace, uint32_t process) {
  if (process == kNone) return true;  // nobody knows
  constexpr std::string_view kInterpreters[] = {"python", "pt_main_thread", "julia", "java", "node", "MATLAB"};
  const Process& of = trace.processes[process];
  const std::string_view name = trace.Text(of.name), command = trace.Text(of.command_line);
  return (name.empty() && command.empty()) ||
         std::any_of(std::begin(kInterpreters), std::end(kInterpreters), [&](std::string_view interpreter) {
           return name.starts_with(interpreter) || command.find(interpreter) != std::string_view::npos;
         });
}

bool IsAnyInterpreted(const Trace& trace) {
  for (uint32_t i = 0; i < trace.processes.size(); ++i) {
    if (IsInterpreted(trace, i)) return true;
  }
  return trace.processes.empty();
}

}  // namespace gprof

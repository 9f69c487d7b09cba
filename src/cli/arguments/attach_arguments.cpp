#include "cli/arguments/attach_arguments.h"

#include <charconv>
#include <vector>

#include "gprof/error.h"
#include "launch/attach/attach_target.h"

namespace gprof::cli {

pid_t ReadPid(const std::string& text) {
  pid_t pid = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, pid);
  if (error == std::errc() && stop == end && pid > 0) return pid;
  throw Error(ExitCode::kUsage, "'" + text + "' is not a PID", "example: gprof-cli attach 4711 -d 5");
}

pid_t ChooseProcess(const std::string& command, const std::string& pid, const std::string& name) {
  if (pid.empty() == name.empty()) {
    throw Error(ExitCode::kUsage, command + " needs a PID or --name", "example: gprof-cli " + command + " 4711");
  }
  if (name.empty()) return ReadPid(pid);
  const std::vector<pid_t> found = FindProcesses(name);
  if (found.empty()) throw Error(ExitCode::kUsage, "no process is called '" + name + "'", "pass its PID");
  std::string pids;
  for (const pid_t one : found) pids += (pids.empty() ? "" : ", ") + std::to_string(one);
  if (found.size() > 1) throw Error(ExitCode::kUsage, "several processes match '" + name + "'", "choose one: " + pids);
  return found.front();
}

void PrepareForAttach(bool is_experimental, LaunchOptions* trace) {
  if (!is_experimental) {
    throw Error(ExitCode::kUsage, "attach is new, and may crash the program",
                "add --experimental if you can afford that; gprof-cli record and launch start a program instead");
  }
  if (trace->TracesNothing()) throw Error(ExitCode::kUsage, "-t none cannot record anything", "remove -t none");
  // What has to be there when the program begins.
  if (trace->has_serving_hooks || (!trace->pytorch.empty() && trace->pytorch != "memory")) {
    throw Error(ExitCode::kUsage,
                std::string(trace->has_serving_hooks ? "--serving" : "--pytorch") +
                    " needs a hook that is loaded when Python starts",
                "start the program with gprof-cli launch or record");
  }
  trace->capture.by_session = true;
}

}  // namespace gprof::cli

#include "launch/salvage/remaining.h"

#include <unistd.h>

#include <set>
#include <string_view>

#include "base/machine/descriptor.h"
#include "base/machine/read_proc.h"
#include "gprof/trace/env.h"
#include "launch/salvage/arena_files.h"

namespace gprof {
namespace {

std::string ReadProc(pid_t pid, const char* file) { return ReadProcFile("/proc/" + std::to_string(pid) + "/" + file); }

// Every entry ends with a zero byte.
bool HasEntry(std::string_view environment, const std::string& name, const std::string& value) {
  if (value.empty()) return false;
  const std::string entry = name + "=" + value + '\0';
  for (std::size_t at = environment.find(entry); at != std::string_view::npos; at = environment.find(entry, at + 1)) {
    if (at == 0 || environment[at - 1] == '\0') return true;
  }
  return false;
}

}  // namespace

std::vector<pid_t> RemainingProcesses(const RunMarks& marks) {
  std::set<pid_t> remaining;
  for (const pid_t pid : NumbersIn("/proc")) {
    // Of a process that has ended and was not waited for, it is empty.
    const std::string environment = ReadProc(pid, "environ");
    const bool is_of_run = HasEntry(environment, trace::env::kRunFolder, marks.folder) ||
                           HasEntry(environment, trace::env::kRunId, marks.run_id);
    if (is_of_run) remaining.insert(pid);
  }
  if (!marks.folder.empty()) {
    for (const Arena& arena : ArenasIn(marks.folder)) {
      const bool writes =
          arena.has_header && !arena.is_of_collector && arena.state != trace::ArenaState::kFinished && IsAlive(arena);
      if (writes) remaining.insert(static_cast<pid_t>(arena.pid));
    }
  }
  remaining.erase(getpid());
  return {remaining.begin(), remaining.end()};
}

std::string Describe(const std::vector<pid_t>& remaining) {
  std::string name = ReadProc(remaining.front(), "comm");
  if (!name.empty() && name.back() == '\n') name.pop_back();
  std::string text = "process " + std::to_string(remaining.front());
  if (!name.empty()) text += " (" + name + ")";
  const std::size_t others = remaining.size() - 1;
  if (others == 0) return text + " of the run is still running";
  return text + " and " + std::to_string(others) + " more of the run are still running";
}

}  // namespace gprof

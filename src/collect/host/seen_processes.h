// The processes of a run, as seen from outside. Those that the tracer did not come into are added to the trace when the
// recording is over: what other collectors have of them has a name then.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "collect/run/collector.h"
#include "trace/write/append.h"

namespace gprof {

class SeenProcesses {
 public:
  explicit SeenProcesses(std::string proc) : proc_(std::move(proc)) {}

  // The program, which may be gone before anybody could look at it.
  void SeeProgram(const RunView& run, int64_t now_ns);
  // A process that is there now; `is_new`: it had not been there before. A thorough look finds new threads, too.
  void See(pid_t pid, bool is_new, bool is_thorough, int64_t now_ns);
  // Adds to the trace who is not in it. A trace in which nobody else is stays empty, unless the run wants one all the
  // same.
  void Write(const RunView& run, const TraceFile& trace);
  // There is another trace.
  void Reset();

 private:
  struct Process {
    pid_t parent = 0;
    std::string program, name, command_line;  // program: the file
    int64_t first_ns = 0, last_ns = 0;
    std::map<pid_t, std::string> threads;
    uint64_t most_files = UINT64_MAX;  // that it may have open
    bool is_written = false;
  };
  using Key = std::pair<pid_t, uint64_t>;  // pid, and when it began in ticks

  Key KeyOf(pid_t pid) const;
  std::string NameOf(const std::string& folder) const;
  void Describe(pid_t pid, Process* process) const;
  static std::string ChunksOf(const Key& key, const Process& process, uint64_t first_ns, uint64_t last_ns);

  const std::string proc_;
  Key program_;
  std::map<pid_t, Key> now_;
  std::map<Key, Process> processes_;
};

}  // namespace gprof

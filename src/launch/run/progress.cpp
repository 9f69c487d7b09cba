#include "launch/run/progress.h"

#include <signal.h>
#include <unistd.h>

#include <set>

namespace gprof {

Progress ProgressOf(const RunFolder& folder, uint32_t epoch) {
  Progress progress;
  for (const Arena& arena : folder.Arenas()) {
    // One without a header is being made, and reads the control page when it is ready.
    if (!arena.has_header || arena.state == trace::ArenaState::kFinished || !IsAlive(arena)) continue;
    if (arena.is_of_collector) {
      progress.collectors_are_done = progress.collectors_are_done && arena.epoch_done >= epoch;
      continue;
    }
    ++progress.living;
    if (arena.epoch_done < epoch) continue;
    ++progress.done;
    if (arena.state == trace::ArenaState::kRecording) ++progress.recording;
  }
  return progress;
}

void SignalProgram(const RunFolder& folder, pid_t program, int signal) {
  std::set<pid_t> processes = {program};
  for (const Arena& arena : folder.Arenas()) {
    // The pid and the start of the process are what it wrote there itself, so both must still fit.
    const bool is_it = arena.has_header && !arena.is_of_collector && arena.start_ticks != 0 &&
                       IsProcessAlive(arena.pid, arena.start_ticks);
    if (is_it && arena.pid > 1) processes.insert(static_cast<pid_t>(arena.pid));
  }
  processes.erase(getpid());
  for (const pid_t process : processes) kill(process, signal);
}

}  // namespace gprof

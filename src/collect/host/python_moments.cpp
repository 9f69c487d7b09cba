#include "collect/host/python_moments.h"

#include <algorithm>
#include <utility>

#include "collect/run/system_clocks.h"

namespace gprof {
namespace {

// A stack that was read earlier is closer to an old sample than what the thread runs by now.
constexpr int64_t kFreshNs = kSecondNs / 500;
constexpr int64_t kThreadsNs = kSecondNs / 10;
constexpr int64_t kShortestTryNs = kSecondNs / 10, kLongestTryNs = 16 * kSecondNs;
// It has become another program, or its structures are not those of its version.
constexpr uint32_t kMostTorn = 100;

}  // namespace

bool PythonMoments::HasPython(pid_t pid, int64_t now_ns) {
  Process& process = processes_[pid];
  if (process.reader != nullptr || now_ns < process.try_ns) return process.reader != nullptr;
  process.try_step_ns = std::clamp(2 * process.try_step_ns, kShortestTryNs, kLongestTryNs);
  process.try_ns = now_ns + process.try_step_ns;
  process.reader = PythonReader::Try(pid).reader;
  is_there_some_ |= process.reader != nullptr;
  return process.reader != nullptr;
}

std::optional<SampledPython> PythonMoments::Of(pid_t pid, pid_t tid, int64_t sampled_ns) {
  const int64_t now_ns = MonotonicNs();
  if (!HasPython(pid, now_ns)) return std::nullopt;
  Process& process = processes_[pid];
  Thread* const thread = ThreadOf(&process, tid, now_ns);
  if (thread == nullptr) return std::nullopt;
  const bool is_old = now_ns - sampled_ns > kFreshNs;
  const bool has_closer = thread->is_read && std::abs(thread->read_ns - sampled_ns) < now_ns - sampled_ns;
  if (!is_old || !has_closer) {
    thread->read_ns = now_ns;
    thread->is_read = Read(&process, thread);
  }
  thread->moment.is_close = std::abs(thread->read_ns - sampled_ns) <= kFreshNs;
  if (thread->is_read) return SampledPython{thread->moment, process.codes, *process.reader};
  if (process.torn >= kMostTorn) process = {};
  return std::nullopt;
}

PythonMoments::Thread* PythonMoments::ThreadOf(Process* process, pid_t tid, int64_t now_ns) {
  if (now_ns >= process->look_ns) {
    process->look_ns = now_ns + kThreadsNs;
    std::map<pid_t, Thread> threads;
    for (const auto& [of, state] : process->reader->Threads()) {
      Thread& thread = threads[of] = std::move(process->threads[of]);
      thread.state = state;
    }
    process->threads = std::move(threads);
  }
  const auto found = process->threads.find(tid);
  return found == process->threads.end() ? nullptr : &found->second;
}

bool PythonMoments::Read(Process* process, Thread* thread) {
  constexpr int kMostTries = 3;
  PythonMoment& moment = thread->moment;
  bool is_read = false;
  for (int i = 0; i < kMostTries && !is_read; ++i) {
    is_read = process->reader->StackOf(thread->state, &moment.frames, &moment.is_whole);
  }
  process->torn = is_read ? 0 : process->torn + 1;
  if (is_read) process->codes.Learn(moment.frames);
  moment.interpreter = process->reader->file();
  moment.loop = process->reader->loop();
  return is_read && !moment.frames.empty();
}

}  // namespace gprof

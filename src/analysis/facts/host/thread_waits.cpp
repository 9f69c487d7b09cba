#include "analysis/facts/host/thread_waits.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "analysis/facts/host/os_call_kinds.h"

namespace gprof {
namespace {

using Waits = std::vector<ThreadWait>;

std::span<const ThreadWait> PartsWithin(std::span<const ThreadWait> all, int64_t from_ns, int64_t to_ns) {
  const auto first =
      std::partition_point(all.begin(), all.end(), [&](const ThreadWait& wait) { return wait.end_ns <= from_ns; });
  const auto is_before_end = [&](const ThreadWait& wait) { return wait.start_ns < to_ns; };
  constexpr std::ptrdiff_t kFew = 4;  // there are as a rule
  const auto few = all.end() - first < kFew ? all.end() : first + kFew;
  auto last = std::find_if_not(first, few, is_before_end);
  if (last == few) last = std::partition_point(few, all.end(), is_before_end);
  return {first, last};
}

// Of each process; the first one where none has the number of the process.
std::vector<uint32_t> MainThreads(const Trace& trace) {
  std::vector<uint32_t> mains(trace.processes.size(), kNone);
  for (uint32_t i = 0; i < trace.threads.size(); ++i) {
    const Thread& thread = trace.threads[i];
    if (thread.process == kNone) continue;
    uint32_t& main = mains[thread.process];
    if (main == kNone || thread.tid == trace.processes[thread.process].pid) main = i;
  }
  return mains;
}

uint32_t ToldBy(const Trace& trace, const std::vector<uint32_t>& main_threads, const OsCall& call) {
  const uint32_t other = call.other_thread, process = trace.threads[call.thread].process;
  if (other == kNone || other == call.thread || process == kNone || !IsHandover(call.object_kind)) return kNone;
  const bool is_of_us = trace.threads[other].process == process;
  return is_of_us && main_threads[process] != call.thread ? other : kNone;
}

// Calls come in order of their start; one within another is part of it.
template <class Call>
void AddCall(const Call& call, uint32_t index, Waits* waits) {
  const int64_t from_ns = waits->empty() ? call.start_ns : std::max(call.start_ns, waits->back().end_ns);
  if (from_ns < call.end_ns) waits->push_back({from_ns, call.end_ns, index, std::is_same_v<Call, MpiCall>});
}

// Of all threads. While MPI waits it may call the operating system, so of two that start together it is the outer one.
void AddCalls(const Trace& trace, std::vector<Waits>* of_threads) {
  const auto add = [&](const auto& calls, uint32_t i) {
    if (calls[i].thread != kNone) AddCall(calls[i], i, &(*of_threads)[calls[i].thread]);
  };
  uint32_t os = 0;
  const auto add_os_until = [&](int64_t time_ns) {
    while (os < trace.os_calls.size() && trace.os_calls[os].start_ns < time_ns) add(trace.os_calls, os++);
  };
  for (uint32_t i = 0; i < trace.mpi_calls.size(); ++i) {
    add_os_until(trace.mpi_calls[i].start_ns);
    add(trace.mpi_calls, i);
  }
  add_os_until(INT64_MAX);
}

void SetTellers(const Trace& trace, std::vector<Waits>* of_threads) {
  const std::vector<uint32_t> main_threads = MainThreads(trace);
  for (Waits& waits : *of_threads) {
    for (ThreadWait& wait : waits) {
      if (wait.IsOsCall()) wait.told_by = ToldBy(trace, main_threads, trace.os_calls[wait.call]);
    }
  }
}

// What of the times off the processor is outside of the calls, which come in order and do not overlap.
void AddOutside(const std::vector<Interval>& times_off, Waits* waits) {
  const Waits calls = *waits;
  int64_t done_ns = INT64_MIN;
  for (const Interval& off : times_off) {
    int64_t from_ns = std::max(off.start_ns, done_ns);
    const auto add_until = [&](int64_t to_ns) {
      if (from_ns < to_ns) waits->push_back({from_ns, to_ns, kNone});
    };
    for (const ThreadWait& call : PartsWithin(calls, from_ns, off.end_ns)) {
      add_until(call.start_ns);
      from_ns = std::max(from_ns, call.end_ns);
    }
    add_until(off.end_ns);
    done_ns = std::max(done_ns, off.end_ns);
  }
  std::ranges::sort(*waits, {}, &ThreadWait::start_ns);
}

}  // namespace

ThreadWaits::ThreadWaits(const Trace& trace) {
  if (trace.os_calls.empty() && trace.mpi_calls.empty() && trace.switches.empty()) return;
  of_threads_.resize(trace.threads.size());
  AddCalls(trace, &of_threads_);
  SetTellers(trace, &of_threads_);
  std::vector<std::vector<Interval>> blocked(trace.threads.size());
  for (const ThreadSwitch& s : trace.switches) {
    if (s.thread != kNone && !s.is_preempted) blocked[s.thread].push_back({s.start_ns, s.end_ns});
  }
  for (size_t i = 0; i < blocked.size(); ++i) {
    AddOutside(blocked[i], &of_threads_[i]);
  }
}

std::span<const ThreadWait> ThreadWaits::Within(uint32_t thread, int64_t from_ns, int64_t to_ns) const {
  return PartsWithin(WaitsOf(thread), from_ns, to_ns);
}

uint32_t ThreadWaits::ActingThread(uint32_t thread, int64_t time_ns) const {
  for (size_t followed = 0; followed < kMostToldInTurn; ++followed) {
    const std::span<const ThreadWait> waits = Within(thread, time_ns, time_ns + 1);
    if (waits.empty() || waits.front().told_by == kNone) break;
    thread = waits.front().told_by;
  }
  return thread;
}

}  // namespace gprof

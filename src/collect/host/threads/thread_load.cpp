#include "collect/host/threads/thread_load.h"

#include <iterator>
#include <optional>
#include <string_view>

#include "collect/host/perf_ring.h"
#include "collect/run/arenas.h"
#include "collect/run/percent_units.h"
#include "collect/run/system_clocks.h"

namespace gprof {
namespace {

constexpr int64_t kPeriodNs = kSecondNs / 20, kThreadLookNs = kSecondNs / 4;
constexpr CostLimit kThreadCostLimit = {1, kSecondNs};
constexpr int64_t kThreadWatchNs = 2 * kSecondNs;

}  // namespace

bool IsThreadLoadWanted(const CollectorOptions& options) { return options.sampling.switches != CpuScope::kNobody; }

std::unique_ptr<Collector> MakeThreadLoad(const CollectorOptions& /*options*/) {
  return std::make_unique<ThreadLoad>();
}

bool ThreadLoad::Start(const RunView& run, std::string* /*why*/) {
  run_ = run;
  period_ns_ = kPeriodNs;
  PerfWish wish;
  wish.switches = true;
  return TryPerfEvents(&wish) != 0;
}

void ThreadLoad::Switch(bool /*is_on*/, int64_t now_ns) {
  threads_.clear();
  next_look_ns_ = now_ns;
  own_cost_.Restart();
}

void ThreadLoad::Reset() {
  for (auto& [key, thread] : threads_) thread.cpu_source = thread.wait_source = 0;
}

int64_t ThreadLoad::Drain(int64_t now_ns, Journal* journal) {
  if (now_ns >= next_look_ns_) {
    LookForThreads();
    next_look_ns_ = now_ns + kThreadLookNs;
  }
  for (auto entry = threads_.begin(); entry != threads_.end();) {
    const auto [pid, tid] = entry->first;
    entry = Take(pid, tid, &entry->second, now_ns, journal) ? std::next(entry) : threads_.erase(entry);
  }
  own_cost_.StepDown(kThreadCostLimit, now_ns, kThreadWatchNs, &period_ns_, journal);
  return now_ns + period_ns_;
}

void ThreadLoad::LookForThreads() {
  for (const TracedProcess& process : TracedProcessesIn(run_.folder)) {
    for (const pid_t tid : process.threads) {
      const auto [at, is_new] = threads_.try_emplace({process.pid, tid});
      if (!is_new) continue;
      at->second.schedstat = ProcFile(TaskFile(process.pid, tid, "schedstat"));
    }
  }
}

bool ThreadLoad::Take(pid_t pid, pid_t tid, Thread* thread, int64_t now_ns, Journal* journal) {
  const std::optional<ProcessorTimes> now = ReadProcessorTimes(thread->schedstat);
  if (!now) return false;
  const int64_t since_ns = std::exchange(thread->read_ns, now_ns);
  const ProcessorTimes before = std::exchange(thread->times, *now);
  const int64_t ran = now->ran_ns - before.ran_ns, waited = now->waited_ns - before.waited_ns;
  if (since_ns == 0 || since_ns >= now_ns) return true;
  if (thread->cpu_source == 0) {
    thread->cpu_source = TellSource(pid, tid, "CPU", journal);
    thread->wait_source = TellSource(pid, tid, "waiting for a CPU", journal);
  }
  const auto start = static_cast<uint64_t>(since_ns), duration = static_cast<uint64_t>(now_ns - since_ns);
  journal->Add(trace::MetricBlockRecord{start, duration, thread->cpu_source, PercentUnits(ran, now_ns - since_ns)});
  journal->Add(trace::MetricBlockRecord{start, duration, thread->wait_source, PercentUnits(waited, now_ns - since_ns)});
  if (std::exchange(is_told_, true)) return true;
  constexpr const char* kInPlace =
      "context switches are not permitted: running and waiting times of threads are read from /proc, 20 times a second";
  journal->Add(trace::NoticeRecord{static_cast<uint64_t>(now_ns), static_cast<uint8_t>(trace::NoticeLevel::kInfo),
                                   journal->Name(kInPlace)});
  return true;
}

uint32_t ThreadLoad::TellSource(pid_t pid, pid_t tid, const char* name, Journal* journal) {
  trace::MetricSourceRecord source;
  source.id = next_source_++;
  source.name = journal->Name(name);
  source.unit = journal->Name("%");
  source.origin = journal->Name("proc");
  source.metric_kind = static_cast<uint8_t>(trace::MetricKind::kRate);
  source.scope = static_cast<uint8_t>(trace::MetricScope::kThread);
  source.scale = kPercentScale;
  source.period_ns = static_cast<uint64_t>(kPeriodNs);
  source.pid = static_cast<uint32_t>(pid);
  source.tid = static_cast<uint32_t>(tid);
  journal->Add(source);
  return source.id;
}

}  // namespace gprof

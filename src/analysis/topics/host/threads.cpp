// What threads did by their context switches: running, able to run, blocked; and who was preempted by whom.
#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/causes/host_gaps.h"
#include "analysis/causes/shared_causes.h"
#include "analysis/facts/host/loader_workers.h"
#include "analysis/facts/shared_facts.h"
#include "analysis/findings/finding_catalogue.h"
#include "analysis/findings/finding_words.h"
#include "analysis/result/display_names.h"
#include "analysis/result/statistics.h"
#include "analysis/result/tables.h"
#include "analysis/topics/analyses.h"
#include "base/units.h"

namespace gprof {
namespace {

constexpr double kPercentPreempted = 1;  // of the window of the GPUs
// As src/collect/host/thread_load.cpp names them.
constexpr std::string_view kCpu = "CPU", kWaitingForCpu = "waiting for a CPU";

struct ThreadTimes {
  uint32_t thread = kNone;
  int64_t first_ns = INT64_MAX, last_ns = INT64_MIN;  // of what is known of it
  int64_t preempted_ns = 0, blocked_ns = 0;
  int64_t switches = 0, preemptions = 0, moves = 0;
  uint32_t cpu = kNone;
  int64_t done_ns = INT64_MIN;  // end of the last switch

  void See(int64_t start_ns, int64_t end_ns) {
    first_ns = std::min(first_ns, start_ns);
    last_ns = std::max(last_ns, end_ns);
  }
  void Add(const ThreadSwitch& off) {
    See(off.start_ns, off.end_ns);
    const int64_t off_ns = std::max<int64_t>(off.end_ns - std::max(off.start_ns, done_ns), 0);
    (off.is_preempted ? preempted_ns : blocked_ns) += off_ns;
    done_ns = std::max(done_ns, off.end_ns);
    ++switches;
    preemptions += off.is_preempted;
    moves += off.cpu != kNone && cpu != kNone && off.cpu != cpu;
    if (off.cpu != kNone) cpu = off.cpu;
  }
  int64_t RunningNs() const { return last_ns - first_ns - preempted_ns - blocked_ns; }
};

// Of the threads with switches.
std::vector<ThreadTimes> TimesOfThreads(const Trace& trace) {
  std::vector<ThreadTimes> all(trace.threads.size());
  for (const ThreadSwitch& off : trace.switches) {
    if (off.thread != kNone) all[off.thread].Add(off);
  }
  for (uint32_t i = 0; i < all.size(); ++i) {
    all[i].thread = i;
    if (all[i].switches == 0) continue;
    const Trace::Slice calls = trace.thread_api_calls[i];
    if (calls.first != calls.last)
      all[i].See(trace.api_calls[calls.first].start_ns, trace.api_calls[calls.last - 1].end_ns);
  }
  std::erase_if(all, [](const ThreadTimes& times) { return times.switches == 0; });
  return all;
}

Table ThreadTable(const Trace& trace, uint32_t max_rows) {
  Table table{"threads",
              "Threads",
              {{"cpu_percent", "CPU", Unit::kPercent, false, ColumnRole::kOwn,
                "running time in percent of the time from the first to the last record of the thread"},
               {"running_ns", "Running", Unit::kNs, false},
               {"preempted_ns", "Preempted", Unit::kNs, false, "runnable while another thread had the core"},
               {"blocked_ns", "Blocked", Unit::kNs, false},
               {"switches", "Switches", Unit::kCount, false},
               {"migrations", "Migrations", Unit::kCount, false, "moves to another core"},
               {"thread", "Thread", Unit::kText, false},
               {"preemptions", "Preemptions", Unit::kCount, true},
               {"seen_ns", "Observed", Unit::kNs, true}},
              {},
              ""};
  for (const ThreadTimes& t : TimesOfThreads(trace)) {
    const int64_t seen_ns = t.last_ns - t.first_ns;
    table.rows.push_back({PercentOf(t.RunningNs(), seen_ns), t.RunningNs(), t.preempted_ns, t.blocked_ns, t.switches,
                          t.moves, ThreadName(trace, t.thread), t.preemptions, seen_ns});
  }
  SortAndCut(&table, 1, 6, max_rows);
  return table;
}

// What /proc counted of threads, which is sampled where context switches are refused.
struct ThreadShare {
  double running_ns = 0, waiting_ns = 0;
  int64_t seen_ns = 0;
};

std::map<uint32_t, ThreadShare> SharesOfThreads(const Trace& trace) {
  std::map<uint32_t, ThreadShare> shares;
  for (uint32_t i = 0; i < trace.metric_sources.size(); ++i) {
    const MetricSource& source = trace.metric_sources[i];
    if (source.scope != trace::MetricScope::kThread || source.thread == kNone) continue;
    const bool is_waiting = trace.Text(source.name) == kWaitingForCpu;
    if (!is_waiting && trace.Text(source.name) != kCpu) continue;
    ThreadShare& share = shares[source.thread];
    for (const MetricSample& sample : trace.SamplesOf(i)) {
      const int64_t ns = sample.end_ns - sample.start_ns;
      (is_waiting ? share.waiting_ns : share.running_ns) +=
          ScaledValue(source, sample.value) / 100 * static_cast<double>(ns);
      if (!is_waiting) share.seen_ns += ns;
    }
  }
  return shares;
}

Table ShareTable(const Trace& trace, uint32_t max_rows) {
  Table table{
      "threads",
      "Threads",
      {{"cpu_percent", "CPU", Unit::kPercent, false, ColumnRole::kOwn, "running time in percent of the time observed"},
       {"running_ns", "Running", Unit::kNs, false},
       {"waiting_ns", "Waiting for a CPU", Unit::kNs, false},
       {"blocked_ns", "Blocked", Unit::kNs, false},
       {"thread", "Thread", Unit::kText, false},
       {"seen_ns", "Observed", Unit::kNs, true}},
      {},
      "From /proc counters, because context switches were not recorded."};
  for (const auto& [thread, share] : SharesOfThreads(trace)) {
    const auto running_ns = std::llround(share.running_ns), waiting_ns = std::llround(share.waiting_ns);
    table.rows.push_back(
        {PercentOf(running_ns, share.seen_ns), static_cast<int64_t>(running_ns), static_cast<int64_t>(waiting_ns),
         std::max<int64_t>(share.seen_ns - running_ns - waiting_ns, 0), ThreadName(trace, thread), share.seen_ns});
  }
  SortAndCut(&table, 1, 4, max_rows);
  return table;
}

// "worker (72) of other (9)" where the two are of different processes.
std::string NameOfOther(const Trace& trace, uint32_t thread, uint32_t other) {
  if (other == kNone) return "unrecorded threads";
  const uint32_t process = trace.threads[other].process;
  const bool is_same = process == kNone || process == trace.threads[thread].process;
  return ThreadName(trace, other) + (is_same ? "" : " of " + std::string(trace.Text(trace.processes[process].name)));
}

// The thread that was preempted most.
void AddFinding(const AnalysisInput& input, std::vector<Finding>* findings) {
  const Trace& trace = input.trace();
  const HostGaps& host = input.causes().of_host(input);
  const int64_t window_ns = input.shared().window_ns();
  if (host.preempted.empty() || PercentOf(host.PreemptedNs(), window_ns) < kPercentPreempted) return;
  std::vector<int64_t> of_threads(trace.threads.size());
  for (const IdlePreempted& preempted : host.preempted) of_threads[preempted.thread] += preempted.idle_ns;
  const auto thread = static_cast<uint32_t>(std::ranges::max_element(of_threads) - of_threads.begin());
  const auto most =
      std::ranges::find_if(host.preempted, [&](const IdlePreempted& preempted) { return preempted.thread == thread; });
  const int64_t ns = of_threads[thread];
  Finding finding = NewFinding("host.preempted", PercentOf(ns, window_ns));
  finding.subject.thread = ThreadName(trace, thread);
  finding.subject.causes = {"host"};
  finding.message = "GPU idle for " + ShareOfTime(ns, window_ns, "") + " while " + InMessage(finding.subject.thread) +
                    " was preempted";
  finding.evidence.push_back(FormatPercent(PercentOf(most->idle_ns, ns)) + " of that by " +
                             NameOfOther(trace, thread, most->by));
  finding.gain_ns = ns;
  finding.basis = "idle time in which the thread was runnable";
  findings->push_back(std::move(finding));
}

// With more than cores, the workers take the time of each other and of the thread that launches.
void AddWorkersFinding(const Trace& trace, std::vector<Finding>* findings) {
  const LoaderWorkers workers = LoaderWorkersOf(trace);
  if (workers.cores == 0 || workers.at_once <= workers.cores) return;
  Finding finding = NewFinding("host.loader_workers");
  finding.message = CountOf(workers.at_once, "DataLoader worker") + " on " + CountOf(workers.cores, "core") +
                    ": they cannot all run at once";
  findings->push_back(std::move(finding));
}

}  // namespace

AnalysisResult RunThreads(const AnalysisInput& input, const AnalysisOptions& options) {
  AnalysisResult result;
  const Trace& trace = input.trace();
  Table shares = trace.switches.empty() ? ShareTable(trace, options.max_rows) : Table{};
  result.tables.push_back(shares.rows.empty() ? ThreadTable(trace, options.max_rows) : std::move(shares));
  if (!trace.switches.empty()) AddFinding(input, &result.findings);
  AddWorkersFinding(trace, &result.findings);
  return result;
}

}  // namespace gprof

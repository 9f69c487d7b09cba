// Calls that made the host wait: for a device, a stream, an event, for a copy or fill, or for a free.
#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/facts/calls/call_kinds.h"
#include "analysis/facts/host/event_waits.h"
#include "analysis/facts/recording/base_tables.h"
#include "analysis/facts/shared_facts.h"
#include "analysis/findings/finding_catalogue.h"
#include "analysis/findings/finding_words.h"
#include "analysis/findings/ranked_findings.h"
#include "analysis/result/display_names.h"
#include "analysis/result/metrics.h"
#include "analysis/result/statistics.h"
#include "analysis/result/tables.h"
#include "analysis/topics/analyses.h"
#include "analysis/topics/waits/host_waits.h"
#include "base/saturate.h"
#include "base/units.h"

namespace gprof {
namespace {

struct EventSyncSite {
  int64_t count = 0, complete = 0;
  SaturatingSum blocked_ns, after_ns;
  uint32_t op = kNone;
  bool is_known = false;
};

// Calls of one thread in one NVTX range for one sort of operation in one stream.
Table EventSyncTable(const AnalysisInput& input, uint32_t max_rows) {
  const Trace& trace = input.trace();
  Table table{"event_syncs",
              "Event synchronisation",
              {{"blocked_ns", "Blocked", Unit::kNs, false},
               {"after_ns", "Blocked after", Unit::kNs, true, "time blocked after the operation had ended"},
               {"count", "Count", Unit::kCount, false},
               {"complete", "Complete", Unit::kCount, false, "calls whose event had already completed"},
               {"thread", "Thread", Unit::kText, true},
               {"path", "NVTX range", Unit::kText, false},
               {"event_stream", "Event stream", Unit::kText, false},
               {"operation", "Operation", Unit::kText, false,
                "the last one launched into the stream before the event was recorded"}},
              {},
              "",
              RowsOfRanks::kApart,
              true};
  std::map<std::tuple<uint32_t, NameId, EventTarget>, EventSyncSite> sites;  // by thread, path, what it waits for
  for (const Sync& sync : trace.syncs) {
    if (sync.kind != trace::SyncKind::kEvent) continue;
    const EventWait wait = input.shared().host().event_waits.Resolve(sync.event, sync.process, sync.start_ns);
    EventSyncSite& site = sites[{sync.thread, PathOfCall(trace, sync.api), TargetOf(trace, wait)}];
    site.op = wait.op;
    site.is_known = wait.is_known;
    ++site.count;
    site.blocked_ns += sync.DurationNs();
    if (!wait.is_known) continue;
    const int64_t completed_ns = wait.op == kNone ? sync.start_ns : trace.ops[wait.op].end_ns;
    site.complete += completed_ns <= sync.start_ns;
    site.after_ns += sync.end_ns - std::clamp(completed_ns, sync.start_ns, sync.end_ns);
  }
  for (const auto& [key, site] : sites) {
    const auto& [thread, path, target] = key;
    table.rows.push_back({site.blocked_ns, site.after_ns, site.count, site.complete, ThreadName(trace, thread),
                          PathName(trace, path), StreamName(trace, std::get<0>(target)),
                          TargetName(trace, site.op, site.is_known)});
  }
  SortAndCut(&table, 0, table.columns.size() - 1, max_rows);
  return table;
}

constexpr ptrdiff_t kIdleColumn = 2;  // beside the time that the host was blocked
constexpr double kWorthAFinding = 5;  // percent of the window

struct Sum {
  int64_t count = 0, idle_ns = 0;
  SaturatingSum blocked_ns;
  void Add(const WaitSite& site) {
    count += site.count;
    blocked_ns += site.blocked_ns;
    idle_ns += site.idle_ns;
  }
};

template <class F>
Sum SumIf(const HostWaits& waits, F&& is_wanted) {
  Sum sum;
  for (const WaitSite& site : waits.sites) {
    if (is_wanted(site.kind)) sum.Add(site);
  }
  return sum;
}

std::string FunctionOf(const Trace& trace, NameId function) {
  const std::string_view text = trace.Text(function);
  return text.empty() ? "(unknown)" : std::string(text);
}

// By what is waited for and the function, whoever called it.
Table FunctionTable(const Trace& trace, const HostWaits& waits, const AnalysisOptions& options) {
  Table table{"sync",
              "Synchronisation",
              TimeColumns(),
              {},
              "Percent of the time host threads spent waiting, summed over all threads.",
              RowsOfRanks::kAddUp};
  table.columns.insert(table.columns.begin() + kIdleColumn, Column{"idle_ns", "GPU idle", Unit::kNs, false});
  table.columns.push_back({"function", "Function", Unit::kText, false});
  table.columns.push_back({"waits_for", "Waits for", Unit::kText, false});
  AddHistogramColumn(options, "median_ns", &table);
  std::map<std::pair<WaitKind, NameId>, uint32_t> rows;
  for (const WaitSite& site : waits.sites) rows.try_emplace({site.kind, site.function}, 0);
  uint32_t next = 0;
  for (auto& [key, row] : rows) row = next++;
  std::vector<uint32_t> row_of_site;
  std::vector<int64_t> idle_ns(rows.size(), 0);
  Groups times(rows.size());
  SaturatingSum total_ns;
  for (const WaitSite& site : waits.sites) {
    const uint32_t row = rows.at({site.kind, site.function});
    row_of_site.push_back(row);
    idle_ns[row] += site.idle_ns;
    total_ns += site.blocked_ns;
    times.Count(row, static_cast<size_t>(site.count));
  }
  times.Seal();
  for (const auto& [site, duration_ns] : waits.waits) times.Add(row_of_site[site], duration_ns);
  for (const auto& [key, row] : rows) {
    const Statistics time = times.Of(row).Summary(SpreadFor(options));
    table.rows.push_back({PercentOf(time.total, total_ns), time.total, idle_ns[row], time.count, time.mean, time.median,
                          time.min, time.max, time.stddev, FunctionOf(trace, key.second),
                          std::string(WaitName(key.first))});
    AddHistogramCell(options, time, &table.rows.back());
  }
  SortAndCut(&table, kTotalNsColumn, kTimeColumnCount + 1, options.max_rows);
  return table;
}

Table SiteTable(const Trace& trace, const HostWaits& waits, uint32_t max_rows) {
  Table table{"sync_sites",
              "Synchronisation by thread and NVTX range",
              {{"percent", "Time (%)", Unit::kPercent, true},
               {"blocked_ns", "Blocked", Unit::kNs, false},
               {"idle_ns", "GPU idle", Unit::kNs, false, "idle time caused by these calls"},
               {"count", "Count", Unit::kCount, false},
               {"longest_ns", "Longest", Unit::kNs, true, ColumnRole::kMost},
               {"waits_for", "Waits for", Unit::kText, true},
               {"thread", "Thread", Unit::kText, false, ColumnRole::kCommon},
               {"path", "NVTX range", Unit::kText, false},
               {"function", "Function", Unit::kText, false}},
              {},
              "",
              RowsOfRanks::kAddUp,
              true};
  const int64_t total_ns = SumIf(waits, [](WaitKind) { return true; }).blocked_ns;
  for (const WaitSite& site : waits.sites) {
    table.rows.push_back({PercentOf(site.blocked_ns, total_ns), site.blocked_ns, site.idle_ns, site.count,
                          site.longest_ns, std::string(WaitName(site.kind)), ThreadName(trace, site.thread),
                          PathName(trace, site.path), FunctionOf(trace, site.function)});
  }
  SortAndCut(&table, 1, table.columns.size() - 1, max_rows);
  return table;
}

Table PollingTable(const Trace& trace, const std::vector<PollingSite>& sites, uint32_t max_rows) {
  Table table{"polling",
              "Polling loops",
              {{"time_ns", "Time", Unit::kNs, false},
               {"loops", "Loops", Unit::kCount, false},
               {"calls", "Calls", Unit::kCount, false},
               {"thread", "Thread", Unit::kText, false, ColumnRole::kCommon},
               {"function", "Function", Unit::kText, false}},
              {},
              "A loop is " + std::to_string(kPollsOfALoop) + " or more queries in a row without CUDA work in between.",
              RowsOfRanks::kAddUp,
              true};
  for (const PollingSite& site : sites) {
    table.rows.push_back(
        {site.time_ns, site.loops, site.calls, ThreadName(trace, site.thread), std::string(trace.Text(site.function))});
  }
  SortAndCut(&table, 0, table.columns.size() - 1, max_rows);
  return table;
}

void AddMetrics(AnalysisResult* result, const HostWaits& waits, const std::vector<PollingSite>& polling) {
  const Sum all = SumIf(waits, IsExplicit), copies = SumIf(waits, IsCopyOrFill), implied = SumIf(waits, IsImplied);
  AddMetric(result, "sync.count", all.count);
  AddMetric(result, "sync.host_blocked_ns", all.blocked_ns);
  AddMetric(result, "sync.idle_ns", all.idle_ns);
  AddMetric(result, "sync.copy_count", copies.count);
  AddMetric(result, "sync.copy_blocked_ns", copies.blocked_ns);
  AddMetric(result, "sync.copy_idle_ns", copies.idle_ns);
  AddMetric(result, "sync.implied_count", implied.count);
  AddMetric(result, "sync.implied_blocked_ns", implied.blocked_ns);
  AddMetric(result, "sync.implied_idle_ns", implied.idle_ns);
  constexpr struct {
    WaitKind kind;
    const char *count, *blocked_ns;
  } kKinds[] = {{WaitKind::kDevice, "sync.device_count", "sync.device_blocked_ns"},
                {WaitKind::kStream, "sync.stream_count", "sync.stream_blocked_ns"},
                {WaitKind::kEvent, "sync.event_count", "sync.event_blocked_ns"}};
  for (const auto& of : kKinds) {
    const Sum sum = SumIf(waits, [&](WaitKind kind) { return kind == of.kind; });
    AddMetric(result, of.count, sum.count);
    AddMetric(result, of.blocked_ns, sum.blocked_ns);
  }
  PollingSite sum;
  for (const PollingSite& site : polling) {
    sum.loops += site.loops;
    sum.calls += site.calls;
    sum.time_ns += site.time_ns;
  }
  AddMetric(result, "sync.polling_loops", sum.loops);
  AddMetric(result, "sync.polling_calls", sum.calls);
  AddMetric(result, "sync.polling_ns", sum.time_ns);
}

// "in cudaStreamSynchronize (thread main (70), range step/train)"
std::string PlaceOf(const Trace& trace, const WaitSite& site) {
  std::string place = "in " + FunctionOf(trace, site.function) + " (thread " + ThreadName(trace, site.thread);
  if (!trace.Text(site.path).empty()) place += ", range " + PathName(trace, site.path);
  return place + ")";
}

Subject SubjectOf(const Trace& trace, const WaitSite& site) {
  Subject subject;
  subject.function = FunctionOf(trace, site.function);
  subject.thread = ThreadName(trace, site.thread);
  subject.range = trace.Text(site.path);
  return subject;
}

std::string Blocked(const Sum& sum) {
  return "host blocked for " + FormatNs(sum.blocked_ns) + ", GPU idle for " + FormatNs(sum.idle_ns) + " of that";
}

// The place that costs most: what idle.sync sums up over all of them, so it is worth a line only where there are
// several, or where the range says more than the function does.
void AddSite(const Trace& trace, const HostWaits& waits, std::vector<Finding>* findings) {
  const WaitSite* worst = nullptr;
  int64_t places = 0;
  for (const WaitSite& site : waits.sites) {
    if (!IsExplicit(site.kind) || site.idle_ns == 0) continue;
    ++places;
    if (worst == nullptr || site.idle_ns > worst->idle_ns) worst = &site;
  }
  if (worst == nullptr || PercentOf(worst->idle_ns, waits.window_ns) < kWorthAFinding) return;
  if (places < 2 && trace.Text(worst->path).empty()) return;
  Sum sum;
  sum.Add(*worst);
  Finding finding = NewFinding("sync.site", PercentOf(worst->idle_ns, waits.window_ns));
  finding.message = "GPU idle for " + ShareOfTime(worst->idle_ns, waits.window_ns, "") + " in the most expensive wait";
  AddPlace(PlaceOf(trace, *worst), &finding);
  finding.evidence.push_back(CountOf(sum.count, "call") + ", " + Blocked(sum));
  finding.gain_ns = worst->idle_ns;
  finding.basis = "this idle time, included in idle.sync";
  finding.subject = SubjectOf(trace, *worst);
  findings->push_back(std::move(finding));
}

void AddImplied(const Trace& trace, const HostWaits& waits, std::vector<Finding>* findings) {
  const Sum sum = SumIf(waits, IsImplied);
  if (PercentOf(std::max<int64_t>(sum.blocked_ns, sum.idle_ns), waits.window_ns) < kWorthAFinding) return;
  const WaitSite* worst = nullptr;
  for (const WaitSite& site : waits.sites) {
    if (IsImplied(site.kind) && (worst == nullptr || site.blocked_ns > worst->blocked_ns)) worst = &site;
  }
  Finding finding =
      NewFinding("sync.implied", PercentOf(std::max<int64_t>(sum.blocked_ns, sum.idle_ns), waits.window_ns));
  finding.subject = SubjectOf(trace, *worst);
  finding.message = CountOf(sum.count, "memory call") + " synchronised implicitly with the GPU: " + Blocked(sum);
  AddPlace("mostly " + PlaceOf(trace, *worst), &finding);
  finding.gain_ns = sum.idle_ns;
  finding.basis = sum.idle_ns > 0 ? "this idle time, included in idle.memory" : "host time only, no GPU idle time";
  if (sum.idle_ns == 0) finding.severity = Severity::kInfo;  // it waited for kernels, which take the time
  findings->push_back(std::move(finding));
}

void AddPolling(const Trace& trace, const HostWaits& waits, const std::vector<PollingSite>& sites,
                std::vector<Finding>* findings) {
  const auto worst = std::ranges::max_element(sites, {}, &PollingSite::time_ns);
  if (worst == sites.end() || PercentOf(worst->time_ns, waits.window_ns) < kWorthAFinding) return;
  Finding finding = NewFinding("sync.polling");
  finding.message = InMessage(ThreadName(trace, worst->thread)) + " polled the GPU " + CountOf(worst->calls, "time") +
                    " with " + std::string(trace.Text(worst->function)) + ", in " + CountOf(worst->loops, "loop") +
                    " that took " + FormatNs(worst->time_ns);
  finding.basis = "CPU time, not GPU time";
  finding.subject.thread = ThreadName(trace, worst->thread);
  finding.subject.function = trace.Text(worst->function);
  findings->push_back(std::move(finding));
}

}  // namespace

AnalysisResult RunSync(const AnalysisInput& input, const AnalysisOptions& options) {
  const Trace& trace = input.trace();
  const HostWaits waits = HostWaitsOf(input);
  const std::vector<PollingSite> polling = waits.has_queries ? PollingOf(trace) : std::vector<PollingSite>();
  AnalysisResult result;
  result.tables.push_back(FunctionTable(trace, waits, options));
  result.tables.push_back(SiteTable(trace, waits, options.max_rows));
  result.tables.push_back(EventSyncTable(input, options.max_rows));
  result.tables.push_back(PollingTable(trace, polling, options.max_rows));
  if (!trace.base_calls.empty()) result.tables.push_back(BaseCallTable(trace, options.max_rows));
  AddMetrics(&result, waits, polling);
  AddSite(trace, waits, &result.findings);
  AddImplied(trace, waits, &result.findings);
  AddPolling(trace, waits, polling, &result.findings);
  RankFindings(&result.findings);
  return result;
}

}  // namespace gprof

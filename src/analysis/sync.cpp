// Calls that made the host wait: for a device, a stream, an event, or for a copy or fill.
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/analyses.h"
#include "analysis/calls.h"
#include "analysis/metrics.h"
#include "analysis/statistics.h"
#include "analysis/tables.h"

namespace gprof {
namespace {

using trace::SyncKind;

SyncKind KindByName(std::string_view function) {
  if (function.find("Event") != std::string_view::npos) return SyncKind::kEvent;
  if (function.find("Stream") != std::string_view::npos) return SyncKind::kStream;
  if (function.find("Device") != std::string_view::npos || function.find("Ctx") != std::string_view::npos) {
    return SyncKind::kContext;
  }
  return SyncKind::kUnknown;
}

std::string_view KindName(SyncKind kind) {
  switch (kind) {
    case SyncKind::kEvent:
      return "event";
    case SyncKind::kStream:
      return "stream";
    case SyncKind::kContext:
      return "device";
    case SyncKind::kStreamWaitEvent:
    case SyncKind::kUnknown:
      break;
  }
  return "other";
}

// Durations by what the host waited for and the function it called.
struct Waits {
  std::map<std::pair<std::string, NameId>, std::vector<int64_t>> durations;
  int64_t count = 0, blocked_ns = 0, copy_count = 0, copy_blocked_ns = 0;

  void Add(std::string_view what, NameId function, int64_t duration_ns) {
    durations[{std::string(what), function}].push_back(duration_ns);
  }
};

// For each call what CUPTI says that it waits for; kUnknown where there is no such record.
std::vector<SyncKind> RecordedKinds(const Trace& trace) {
  std::vector<SyncKind> kinds(trace.api_calls.size(), SyncKind::kUnknown);
  for (const Sync& sync : trace.syncs) {
    if (sync.api != kNone) kinds[OutermostCall(trace, sync.api)] = sync.kind;
  }
  return kinds;
}

void AddCalls(const Trace& trace, Waits* waits) {
  const std::vector<SyncKind> kinds = RecordedKinds(trace);
  const std::vector<uint8_t> blocking_copies = BlockingCopies(trace);
  for (size_t i = 0; i < trace.api_calls.size(); ++i) {
    const ApiCall& call = trace.api_calls[i];
    if (call.parent != kNone) continue;
    if (call.api_class == ApiClass::kSync) {
      const SyncKind kind = kinds[i] == SyncKind::kUnknown ? KindByName(trace.Text(call.function)) : kinds[i];
      waits->Add(KindName(kind), call.function, call.DurationNs());
      ++waits->count;
      waits->blocked_ns += call.DurationNs();
    } else if (blocking_copies[i] != 0) {
      waits->Add(call.api_class == ApiClass::kMemset ? "fill" : "copy", call.function, call.DurationNs());
      ++waits->copy_count;
      waits->copy_blocked_ns += call.DurationNs();
    }
  }
}

// Waits whose call is not in the trace.
void AddRecords(const Trace& trace, Waits* waits) {
  for (const Sync& sync : trace.syncs) {
    if (sync.api != kNone || sync.kind == SyncKind::kStreamWaitEvent) continue;
    waits->Add(KindName(sync.kind), NameId{}, sync.DurationNs());
    ++waits->count;
    waits->blocked_ns += sync.DurationNs();
  }
}

}  // namespace

AnalysisResult RunSync(const Trace& trace, const AnalysisOptions& options) {
  Waits waits;
  AddCalls(trace, &waits);
  AddRecords(trace, &waits);

  AnalysisResult result;
  Table table{"sync", "Where the host waited for the GPU", TimeColumns(), {},
              "Percent of the time that host threads waited, summed over the threads."};
  table.columns.push_back({"function", "Function", Unit::kText, false});
  table.columns.push_back({"waits_for", "Waits for", Unit::kText, false});
  for (auto& [key, durations] : waits.durations) {
    table.rows.push_back(TimeCells(Summarize(durations), waits.blocked_ns + waits.copy_blocked_ns));
    const std::string_view function = trace.Text(key.second);
    table.rows.back().emplace_back(function.empty() ? "(not known)" : std::string(function));
    table.rows.back().emplace_back(key.first);
  }
  SortAndCut(&table, kTotalNsColumn, kTimeColumnCount, options.max_rows);
  result.tables.push_back(std::move(table));
  AddMetric(&result, "sync.count", waits.count);
  AddMetric(&result, "sync.host_blocked_ns", waits.blocked_ns);
  AddMetric(&result, "sync.copy_count", waits.copy_count);
  AddMetric(&result, "sync.copy_blocked_ns", waits.copy_blocked_ns);
  return result;
}

}  // namespace gprof

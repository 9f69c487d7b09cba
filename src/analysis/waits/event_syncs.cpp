#include "analysis/waits/event_syncs.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>

#include "analysis/calls/call_kinds.h"
#include "analysis/facts/shared_facts.h"
#include "analysis/result/display_names.h"
#include "analysis/result/tables.h"
#include "analysis/waits/event_waits.h"
#include "base/saturate.h"

namespace gprof {
namespace {

struct EventSyncSite {
  int64_t count = 0, complete = 0;
  SaturatingSum blocked_ns, after_ns;
  uint32_t op = kNone;
  bool is_known = false;
};

}  // namespace

Table EventSyncTable(const AnalysisInput& input, uint32_t max_rows) {
  const Trace& trace = input.trace();
  Table table{"event_syncs",
              "Event synchronisation",
              {{"blocked_ns", "Blocked", Unit::kNs, false},
               {"after_ns", "Blocked after", Unit::kNs, true},
               {"count", "Count", Unit::kCount, false},
               {"complete", "Complete", Unit::kCount, false},
               {"thread", "Thread", Unit::kText, true},
               {"path", "NVTX range", Unit::kText, false},
               {"event_stream", "Event stream", Unit::kText, false},
               {"operation", "Operation", Unit::kText, false}},
              {},
              "Operation: the last one launched into the stream before the event was recorded. Complete: calls whose "
              "event had already completed. Blocked after: time blocked after the operation had ended.",
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

}  // namespace gprof

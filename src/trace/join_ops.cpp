#include <algorithm>
#include <string_view>

#include "trace/joins.h"
#include "trace/order.h"
#include "trace/prefetch.h"

namespace gprof {
namespace {

bool IsLaunch(ApiClass api_class) { return api_class == ApiClass::kLaunch || api_class == ApiClass::kGraphLaunch; }

enum class CallRole : uint8_t { kOther, kLaunch, kCaptureBegin, kCaptureEnd };

// What a call without operations means; calls that failed mean nothing, and so do launches that never returned.
CallRole RoleOf(const PackedCalls::Facts& f, std::string_view function) {
  if (f.result != 0) return CallRole::kOther;
  if (function.find("StreamBeginCapture") != std::string_view::npos) return CallRole::kCaptureBegin;
  if (function.find("StreamEndCapture") != std::string_view::npos) return CallRole::kCaptureEnd;
  return IsLaunch(f.api_class) && f.is_unfinished == 0 ? CallRole::kLaunch : CallRole::kOther;
}

std::vector<CallRole> RolesOfFacts(const Draft& draft) {
  const PackedCalls& calls = draft.trace.api_calls;
  std::vector<CallRole> roles;
  for (uint32_t i = 0; i < calls.FactsCount(); ++i) {
    roles.push_back(RoleOf(calls.FactsAt(i), draft.names.Text(calls.FactsAt(i).function)));
  }
  return roles;
}

// The calls of a thread that may be launches without an operation, and those that begin and end the capture of a stream:
// backwards, so that calls are met before the one that made them, which their operation is that of, too.
std::vector<uint32_t> FindCandidates(const PackedCalls& calls, Trace::Slice slice, const std::vector<CallRole>& roles,
                                     std::vector<bool>& has_effect) {
  std::vector<uint32_t> found;
  for (uint32_t i = slice.last; i-- > slice.first;) {
    const bool is_matched = calls[i].op_count != 0 || has_effect[i];
    if (const uint32_t parent = calls.Parent(i); is_matched && parent != kNone) has_effect[parent] = true;
    const CallRole role = roles[calls.FactsIndex(i)];
    if (role != CallRole::kOther && !(role == CallRole::kLaunch && is_matched)) found.push_back(i);
  }
  return found;
}

}  // namespace

void OrderOps(Draft& draft) {
  Trace& t = draft.trace;
  if (t.device_ops.empty()) {
    t.device_ops = GroupAndSortOps(t.ops, t.devices.size());
  } else {
    SortOps(t.ops, t.device_ops, draft.op_runs);
  }
}

void LinkOps(Draft& draft, const CorrelationIndex& calls) {
  Trace& t = draft.trace;
  TraceHealth& health = t.health;
  const LaunchesBefore before(draft);
  const bool is_one_process = t.processes.size() == 1;  // saves a look at facts that are spread over the cache
  for (PackedOps::Item& op : t.ops.items()) {
    PrefetchAfter(&op);
    const uint32_t process = is_one_process ? 0 : t.ops.FactsOf(op).process;
    op.api = calls.Find(process, op.correlation);
    if (op.api == kNone) {
      op.is_from_before = before.Has(process, op.correlation, op.start_ns()) ? 1 : 0;
      ++(op.is_from_before != 0 ? health.ops_from_before : health.unmatched_ops);
      continue;
    }
    t.api_calls.CountOp(op.api);
    const int64_t early_ns = t.api_calls.items()[op.api].start_ns() - op.start_ns();
    if (early_ns > 0) {
      ++health.early_ops;
      health.worst_early_ns = std::max(health.worst_early_ns, early_ns);
    }
  }
  health.unmatched_ops -= draft.launched_by_device;  // those have no call, and are among the unmatched
}

void LinkOthers(Draft& draft, const CorrelationIndex& calls) {
  const auto link = [&](auto& records) {
    for (auto& r : records) r.api = calls.Find(r.process, r.api);
  };
  link(draft.trace.syncs);
  link(draft.trace.memory_events);
  link(draft.trace.memory_pools);
  link(draft.trace.event_records);
}

void CountUnmatchedLaunches(Draft& draft) {
  Trace& t = draft.trace;
  std::vector<bool> has_effect(t.api_calls.size());
  for (const GraphNode& node : t.graph_nodes) {
    if (node.api != kNone) has_effect[node.api] = true;
  }
  const std::vector<CallRole> roles = RolesOfFacts(draft);
  for (const Trace::Slice slice : t.thread_api_calls) {
    const std::vector<uint32_t> found = FindCandidates(t.api_calls, slice, roles, has_effect);
    bool is_capturing = false;  // launches into a stream that is captured become nodes of a graph, nothing runs
    for (auto at = found.rbegin(); at != found.rend(); ++at) {
      const CallRole role = roles[t.api_calls.FactsIndex(*at)];
      if (role != CallRole::kLaunch) {
        is_capturing = role == CallRole::kCaptureBegin;
        continue;
      }
      const uint32_t parent = t.api_calls.Parent(*at);
      const bool is_inner = parent != kNone && IsLaunch(t.api_calls[parent].api_class);
      if (!is_capturing && !is_inner) ++t.health.unmatched_launches;
    }
  }
}

}  // namespace gprof

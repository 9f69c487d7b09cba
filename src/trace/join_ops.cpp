#include <algorithm>
#include <string_view>

#include "trace/joins.h"
#include "trace/order.h"

namespace gprof {
namespace {

bool IsLaunch(const ApiCall& c) {
  return c.api_class == ApiClass::kLaunch || c.api_class == ApiClass::kGraphLaunch;
}

void MarkMatched(const PackedCalls& calls, uint32_t call, std::vector<bool>& is_matched) {
  for (; call != kNone && !is_matched[call]; call = calls.Parent(call)) is_matched[call] = true;
}

enum class StreamCapture : uint8_t { kNone, kBegin, kEnd };

StreamCapture CaptureOf(std::string_view function) {
  if (function.find("StreamBeginCapture") != std::string_view::npos) return StreamCapture::kBegin;
  return function.find("StreamEndCapture") != std::string_view::npos ? StreamCapture::kEnd : StreamCapture::kNone;
}

}  // namespace

void OrderOps(Draft& draft) {
  Trace& t = draft.trace;
  t.device_ops = GroupAndSortOps(t.ops, t.devices.size());
}

std::vector<bool> LinkOps(Draft& draft, const CorrelationIndex& calls) {
  Trace& t = draft.trace;
  std::vector<bool> is_matched(t.api_calls.size());
  TraceHealth& health = t.health;
  const LaunchesBefore before(draft);
  for (PackedOps::Item& op : t.ops.items()) {
    const uint32_t process = t.ops.FactsOf(op).process;
    op.api = calls.Find(process, op.correlation);
    if (op.api == kNone) {
      op.is_from_before = before.Has(process, op.correlation, op.start_ns()) ? 1 : 0;
      ++(op.is_from_before != 0 ? health.ops_from_before : health.unmatched_ops);
      continue;
    }
    t.api_calls.CountOp(op.api);
    MarkMatched(t.api_calls, op.api, is_matched);
    const int64_t early_ns = t.api_calls.items()[op.api].start_ns() - op.start_ns();
    if (early_ns > 0) {
      ++health.early_ops;
      health.worst_early_ns = std::max(health.worst_early_ns, early_ns);
    }
  }
  health.unmatched_ops -= draft.launched_by_device;  // those have no call, and are among the unmatched
  return is_matched;
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

void CountUnmatchedLaunches(Draft& draft, std::vector<bool>& is_matched) {
  Trace& t = draft.trace;
  for (const GraphNode& node : t.graph_nodes) {
    if (node.api != kNone) is_matched[node.api] = true;
  }
  std::vector<StreamCapture> capture_of(draft.names.size());
  for (std::size_t i = 0; i < capture_of.size(); ++i) {
    capture_of[i] = CaptureOf(draft.names.Text(NameId{static_cast<uint32_t>(i)}));
  }
  for (const Trace::Slice slice : t.thread_api_calls) {
    bool is_capturing = false;  // launches into a stream that is captured become nodes of a graph, nothing runs
    for (uint32_t i = slice.first; i < slice.last; ++i) {
      const ApiCall& c = t.api_calls[i];
      const StreamCapture capture = capture_of[c.function.value];
      if (capture != StreamCapture::kNone && c.result == 0) is_capturing = capture == StreamCapture::kBegin;
      if (!IsLaunch(c) || is_matched[i] || is_capturing || c.result != 0 || c.is_unfinished) continue;
      const bool is_inner = c.parent != kNone && IsLaunch(t.api_calls[c.parent]);
      if (!is_inner) ++t.health.unmatched_launches;
    }
  }
}

}  // namespace gprof

#include <algorithm>
#include <string_view>

#include "trace/joins.h"
#include "trace/order.h"

namespace gprof {
namespace {

bool IsLaunch(const ApiCall& c) { return c.api_class == ApiClass::kLaunch || c.api_class == ApiClass::kGraphLaunch; }

// Calls whose operation, or that of a call they made, is in the trace.
std::vector<bool> FindMatched(const Trace& t) {
  std::vector<bool> is_matched(t.api_calls.size());
  for (std::size_t i = t.api_calls.size(); i-- > 0;) {  // children come after their parents
    const ApiCall& c = t.api_calls[i];
    if (c.op_count > 0) is_matched[i] = true;
    if (is_matched[i] && c.parent != kNone) is_matched[c.parent] = true;
  }
  return is_matched;
}

enum class Capture : uint8_t { kNone, kBegin, kEnd };

Capture CaptureOf(std::string_view function) {
  if (function.find("StreamBeginCapture") != std::string_view::npos) return Capture::kBegin;
  return function.find("StreamEndCapture") != std::string_view::npos ? Capture::kEnd : Capture::kNone;
}

}  // namespace

void OrderOps(Draft& draft) {
  Trace& t = draft.trace;
  t.device_ops = GroupBy(t.ops, t.devices.size(), [](const GpuOp& op) { return op.device; });
  for (const Trace::Slice slice : t.device_ops) {
    SortNearlySorted(t.ops.begin() + slice.first, t.ops.begin() + slice.last, [](const GpuOp& a, const GpuOp& b) {
      return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.end_ns < b.end_ns;
    });
  }
}

void LinkOps(Draft& draft, const CorrelationIndex& calls) {
  Trace& t = draft.trace;
  TraceHealth& health = t.health;
  for (GpuOp& op : t.ops) {
    op.api = calls.Find(op.process, op.correlation);
    if (op.api == kNone) {
      ++health.unmatched_ops;
      continue;
    }
    ApiCall& call = t.api_calls[op.api];
    ++call.op_count;
    if (op.start_ns < call.start_ns) {
      ++health.early_ops;
      health.worst_early_ns = std::max(health.worst_early_ns, call.start_ns - op.start_ns);
    }
  }
  health.unmatched_ops -= draft.launched_by_device;  // those have no call, and are among the unmatched
}

void LinkSyncsAndMemory(Draft& draft, const CorrelationIndex& calls) {
  for (Sync& s : draft.trace.syncs) s.api = calls.Find(s.process, s.api);
  for (MemoryEvent& m : draft.trace.memory_events) m.api = calls.Find(m.process, m.api);
}

void CountUnmatchedLaunches(Draft& draft) {
  Trace& t = draft.trace;
  const std::vector<bool> is_matched = FindMatched(t);
  std::vector<Capture> capture_of(draft.names.size());
  for (std::size_t i = 0; i < capture_of.size(); ++i) {
    capture_of[i] = CaptureOf(draft.names.Text(NameId{static_cast<uint32_t>(i)}));
  }
  for (const Trace::Slice slice : t.thread_api_calls) {
    bool is_capturing = false;  // launches into a stream that is captured become nodes of a graph, nothing runs
    for (uint32_t i = slice.first; i < slice.last; ++i) {
      const ApiCall& c = t.api_calls[i];
      const Capture capture = capture_of[c.function.value];
      if (capture != Capture::kNone && c.result == 0) is_capturing = capture == Capture::kBegin;
      if (!IsLaunch(c) || is_matched[i] || is_capturing || c.result != 0 || c.is_unfinished) continue;
      const bool is_inner = c.parent != kNone && IsLaunch(t.api_calls[c.parent]);
      if (!is_inner) ++t.health.unmatched_launches;
    }
  }
}

}  // namespace gprof

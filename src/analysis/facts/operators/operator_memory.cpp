#include <algorithm>
#include <string_view>

#include "analysis/facts/operators/operators.h"
#include "analysis/facts/time/search_near.h"
#include "gprof/pytorch.h"

namespace gprof {
namespace {

void AddTo(OperatorSum* sum, int64_t size_bytes, bool is_cpu, bool is_self) {
  (is_cpu ? sum->cpu_memory_bytes : sum->gpu_memory_bytes) += size_bytes;
  if (is_self) (is_cpu ? sum->cpu_memory_self_bytes : sum->gpu_memory_self_bytes) += size_bytes;
}

}  // namespace

uint32_t RangeAt(const Trace& trace, uint32_t thread, int64_t time_ns) {
  const auto& items = trace.ranges.items();
  const Trace::Slice slice = trace.thread_ranges[thread];
  const auto after = std::upper_bound(items.begin() + slice.first, items.begin() + slice.last, time_ns,
                                      [](int64_t ns, const auto& item) { return ns < item.start_ns(); });
  uint32_t range = static_cast<uint32_t>(after - items.begin());
  if (range == slice.first) return kNone;
  --range;
  while (range != kNone && (!items[range].is_push_pop || trace.ranges.EndNs(items[range]) < time_ns)) {
    range = RangeAround(trace, range);
  }
  return range;
}

void AddMemory(const Trace& trace, Operators* operators) {
  const auto add = [&](uint32_t thread, int64_t time_ns, int64_t size_bytes, bool is_cpu) {
    operators->has_memory = true;
    uint32_t range = operators->OperatorAround(trace, RangeAt(trace, thread, time_ns));
    for (bool is_self = true; range != kNone; is_self = false) {
      AddTo(&operators->sums[operators->of_ranges[range]], size_bytes, is_cpu, is_self);
      const uint32_t parent = trace.ranges.items()[range].parent;
      range = parent < range ? operators->OperatorAround(trace, parent) : kNone;
    }
  };
  for (const TensorBlock& block : trace.tensor_blocks) {
    if (block.thread != kNone) add(block.thread, block.time_ns, block.size_bytes, block.is_host);
  }
  for (const NvtxMark& mark : trace.marks) {
    if (mark.domain == kNone || mark.thread == kNone) continue;
    if (trace.Text(trace.domains[mark.domain].name) != kAllocatorDomain) continue;
    add(mark.thread, mark.time_ns, static_cast<int64_t>(mark.payload), trace.Text(mark.name) == "cpu");
  }
}

}  // namespace gprof

#include <algorithm>
#include <map>
#include <string>
#include <tuple>

#include "analysis/facts/calls/call_kinds.h"
#include "analysis/facts/memory/memory_use.h"
#include "analysis/facts/operations/operations.h"
#include "analysis/facts/shared_facts.h"
#include "analysis/result/statistics.h"
#include "analysis/result/tables.h"
#include "analysis/topics/memory/memory_growth.h"
#include "base/saturate.h"
#include "base/text.h"

namespace gprof {
namespace {

using trace::MemoryOp;

struct Peak {
  uint64_t now_bytes = 0, bytes = 0;
  uint32_t event = kNone;  // the allocation that reached it
};

std::map<uint32_t, Peak> PeaksOf(const Trace& trace, const std::vector<uint32_t>& ended) {
  std::map<uint32_t, Peak> peaks;
  for (uint32_t i = 0; i < ended.size(); ++i) {
    const MemoryEvent& event = trace.memory_events[i];
    if (ended[i] != kNone && IsOnDevice(trace.memory_events[ended[i]].memory)) {
      peaks[trace.memory_events[ended[i]].device].now_bytes -= trace.memory_events[ended[i]].size_bytes;
    }
    if (event.operation != MemoryOp::kAllocate || !IsOnDevice(event.memory)) continue;
    Peak& peak = peaks[event.device];
    peak.now_bytes += event.size_bytes;
    if (peak.now_bytes > peak.bytes) peak.bytes = peak.now_bytes, peak.event = i;
  }
  return peaks;
}

// Device, line, path, function, size: blocks alike share a row.
using BlockKind = std::tuple<uint32_t, uint32_t, NameId, NameId, uint64_t>;

BlockKind KindOf(const AnalysisInput& input, const MemoryEvent& block) {
  const Trace& trace = input.trace();
  const uint32_t call = OutermostCall(trace, block.api);
  if (call == kNone) return {block.device, kNone, NameId{}, NameId{}, block.size_bytes};
  return {block.device, input.shared().python_lines().LineOfCall(call), PathOfCall(trace, call),
          trace.api_calls[call].function, block.size_bytes};
}

std::map<BlockKind, int64_t> BlocksAtPeak(const AnalysisInput& input, const std::vector<uint32_t>& ended,
                                          const std::map<uint32_t, Peak>& peaks) {
  const Trace& trace = input.trace();
  std::vector<uint32_t> end_of(ended.size(), kNone);
  for (uint32_t i = 0; i < ended.size(); ++i) {
    if (ended[i] != kNone) end_of[ended[i]] = i;
  }
  std::map<BlockKind, int64_t> blocks;
  for (uint32_t i = 0; i < ended.size(); ++i) {
    const MemoryEvent& block = trace.memory_events[i];
    if (block.operation != MemoryOp::kAllocate || !IsOnDevice(block.memory)) continue;
    const uint32_t peak = peaks.at(block.device).event;
    if (peak != kNone && i <= peak && (end_of[i] == kNone || end_of[i] > peak)) ++blocks[KindOf(input, block)];
  }
  return blocks;
}

}  // namespace

Table AtPeakTable(const AnalysisInput& input, const std::vector<uint32_t>& ended, uint32_t max_rows) {
  Table table{"memory_at_peak",
              "Memory in use at the peak",
              {{"device", "GPU", Unit::kText, false, ColumnRole::kOwn},
               {"percent", "% of peak", Unit::kPercent, false},
               {"bytes", "Bytes", Unit::kBytes, false},
               {"blocks", "Blocks", Unit::kCount, false},
               {"size_bytes", "Size", Unit::kBytes, false},
               {"line", "Python", Unit::kText, false},
               {"path", "NVTX range", Unit::kText, true},
               {"function", "Allocated by", Unit::kText, true}},
              {},
              "Blocks of each GPU when most of its memory was in use.",
              RowsOfRanks::kApart,
              true};
  const Trace& trace = input.trace();
  const std::map<uint32_t, Peak> peaks = PeaksOf(trace, ended);
  const PythonLines& lines = input.shared().python_lines();
  for (const auto& [kind, count] : BlocksAtPeak(input, ended, peaks)) {
    const auto& [device, line, path, function, size_bytes] = kind;
    const auto size = static_cast<int64_t>(size_bytes);
    const int64_t bytes = MultiplySaturating(size, count);
    table.rows.push_back({MemoryDeviceName(trace, device),
                          PercentOf(bytes, static_cast<int64_t>(peaks.at(device).bytes)), bytes, count, size,
                          line == kNone ? Cell() : Cell(NameOf(trace, lines.all()[line])), Utf8(trace.Text(path)),
                          Utf8(trace.Text(function))});
  }
  std::ranges::stable_sort(
      table.rows, [](const auto& a, const auto& b) { return std::get<int64_t>(a[2]) > std::get<int64_t>(b[2]); });
  CutRows(&table, max_rows);
  return table;
}

}  // namespace gprof

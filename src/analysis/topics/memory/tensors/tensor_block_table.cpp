#include <algorithm>
#include <numeric>
#include <string>
#include <tuple>

#include "analysis/facts/memory/memory_use.h"
#include "analysis/result/tables.h"
#include "analysis/topics/memory/tensors/tensor_peak.h"
#include "analysis/topics/memory/tensors/tensor_use.h"
#include "base/text.h"

namespace gprof {

Table TensorBlockTable(const Trace& trace, const std::vector<HeldBlock>& blocks, BlockPlaces* places,
                       uint32_t max_rows) {
  Table table{"tensor_blocks",
              "Largest PyTorch allocations",
              {{"bytes", "Bytes", Unit::kBytes, false},
               {"start_ns", "At", Unit::kNs, false, ColumnRole::kOwn, "since the start of the trace"},
               {"held_ns", "Held for", Unit::kNs, false, "until it was freed; empty: not freed"},
               {"device", "GPU", Unit::kText, true, ColumnRole::kOwn},
               {"process", "Process", Unit::kText, true},
               {"operator", "Operator", Unit::kText, false},
               {"line", "Python", Unit::kText, true}},
              {},
              ""};
  table.is_detail = true;
  std::vector<uint32_t> order(blocks.size());
  std::iota(order.begin(), order.end(), 0u);
  const std::size_t shown = RowsShown(blocks.size(), max_rows);
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(shown), order.end(),
                    [&](uint32_t a, uint32_t b) {
                      return std::tuple(-blocks[a].size_bytes, blocks[a].start_ns, a) <
                             std::tuple(-blocks[b].size_bytes, blocks[b].start_ns, b);
                    });
  for (std::size_t i = 0; i < shown; ++i) {
    const HeldBlock& block = blocks[order[i]];
    const bool is_freed = block.end_ns != HeldBlock::kNeverFreed;
    table.rows.push_back({block.size_bytes, block.start_ns - trace.start_ns,
                          is_freed ? Cell(block.end_ns - block.start_ns) : Cell(),
                          MemoryDeviceName(trace, block.device), MemoryProcessName(trace, block.process),
                          Utf8(places->OperatorOf(block)), places->LineOf(block)});
  }
  CountLeftOut(&table, blocks.size());
  return table;
}

}  // namespace gprof

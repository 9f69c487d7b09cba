#include "analysis/topics/memory/tensors/tensor_peak.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "analysis/facts/memory/memory_use.h"
#include "analysis/result/statistics.h"
#include "analysis/result/tables.h"
#include "analysis/topics/memory/tensors/tensor_use.h"
#include "base/text.h"

namespace gprof {
namespace {

struct Change {
  MemoryOwner owner;
  int64_t time_ns = 0, bytes = 0;
};

// What is taken back comes before what is given at the same time.
std::vector<Change> ChangesOf(const std::vector<HeldBlock>& blocks) {
  std::vector<Change> changes;
  for (const HeldBlock& block : blocks) {
    changes.push_back({OwnerOf(block), block.start_ns, block.size_bytes});
    if (block.end_ns != HeldBlock::kNeverFreed) changes.push_back({OwnerOf(block), block.end_ns, -block.size_bytes});
  }
  std::ranges::sort(changes, [](const Change& a, const Change& b) {
    return std::tie(a.owner, a.time_ns, a.bytes) < std::tie(b.owner, b.time_ns, b.bytes);
  });
  return changes;
}

struct Share {
  int64_t bytes = 0, self_bytes = 0, backward_bytes = 0, blocks = 0;
};
using Shares = std::map<std::pair<MemoryOwner, std::string>, Share>;

void AddBlock(const HeldBlock& block, Share* share) { share->bytes += block.size_bytes, ++share->blocks; }

template <class F>
void ForEachAtPeak(const std::vector<HeldBlock>& blocks, const TensorPeaks& peaks, F&& f) {
  for (const HeldBlock& block : blocks) {
    if (IsAtPeak(block, peaks.at(OwnerOf(block)))) f(block);
  }
}

Table EmptyTable(std::string id, std::string title, bool is_of_modules, Column name) {
  Table table{std::move(id),
              std::move(title),
              {{"device", "GPU", Unit::kText, false, ColumnRole::kOwn},
               {"process", "Process", Unit::kText, true},
               {"percent", "% of peak", Unit::kPercent, false},
               {"bytes", "Bytes", Unit::kBytes, false},
               {"blocks", "Blocks", Unit::kCount, false}},
              {},
              "Memory held by the tensors of each GPU and process at its peak."};
  if (is_of_modules) {
    table.columns.push_back({"self_bytes", "Self", Unit::kBytes, false, "excluding modules within"});
    table.columns.push_back(
        {"backward_bytes", "Backward", Unit::kBytes, false, "allocated by operators of the backward pass"});
  }
  table.columns.push_back(std::move(name));
  return table;
}

std::vector<Cell> RowOf(const Trace& trace, const MemoryOwner& owner, const TensorPeak& peak, const Share& share,
                        bool is_of_modules) {
  std::vector<Cell> row = {MemoryDeviceName(trace, owner.second), MemoryProcessName(trace, owner.first),
                           PercentOf(share.bytes, peak.bytes), share.bytes, share.blocks};
  if (is_of_modules) row.insert(row.end(), {share.self_bytes, share.backward_bytes});
  return row;
}

void Fill(const Trace& trace, const TensorPeaks& peaks, const Shares& shares, uint32_t max_rows, Table* table) {
  constexpr std::size_t kBytes = 3;
  const bool is_of_modules = table->columns.size() > 6;
  for (const auto& [key, share] : shares) {
    table->rows.push_back(RowOf(trace, key.first, peaks.at(key.first), share, is_of_modules));
    table->rows.back().emplace_back(Utf8(key.second));
  }
  for (const auto& [owner, peak] : peaks) {
    const int64_t bytes = peak.bytes - peak.known_bytes;
    if (bytes <= 0 || shares.empty()) continue;
    table->rows.push_back(RowOf(trace, owner, peak, {bytes, bytes, 0, 0}, is_of_modules));
    table->rows.back()[kBytes + 1] = Cell();
    table->rows.back().emplace_back(std::string("(before the recording)"));
  }
  SortAndCut(table, kBytes, table->columns.size() - 1, max_rows);
}

// A module has what those within it have.
Shares ByModule(const std::vector<HeldBlock>& blocks, const TensorPeaks& peaks, const BlockPlaces& places) {
  Shares shares;
  if (places.modules().empty()) return shares;
  ForEachAtPeak(blocks, peaks, [&](const HeldBlock& block) {
    const uint32_t innermost = places.ModuleOf(block);
    const bool is_backward = places.IsBackward(block);
    const auto add = [&](const std::string& path, bool is_self) {
      Share& share = shares[{OwnerOf(block), path}];
      AddBlock(block, &share);
      if (is_self) share.self_bytes += block.size_bytes;
      if (is_backward) share.backward_bytes += block.size_bytes;
    };
    if (innermost == kNone) add("(no module)", true);
    for (uint32_t module = innermost; module != kNone; module = places.modules()[module].parent) {
      add(places.modules()[module].path, module == innermost);
    }
  });
  return shares;
}

template <class F>
Shares By(const std::vector<HeldBlock>& blocks, const TensorPeaks& peaks, const char* unknown, F&& name_of) {
  Shares shares;
  bool has_names = false;
  ForEachAtPeak(blocks, peaks, [&](const HeldBlock& block) {
    std::string name(name_of(block));
    has_names = has_names || !name.empty();
    AddBlock(block, &shares[{OwnerOf(block), name.empty() ? unknown : std::move(name)}]);
  });
  return has_names ? shares : Shares();
}

}  // namespace

// By the allocator's own figures where they are there: they have what was given before the recording as well.
TensorPeaks PeaksOf(const Trace& trace, const std::vector<HeldBlock>& blocks) {
  TensorPeaks peaks;
  std::map<MemoryOwner, int64_t> now_bytes;
  for (const Change& change : ChangesOf(blocks)) {
    const int64_t bytes = now_bytes[change.owner] += change.bytes;
    TensorPeak& peak = peaks[change.owner];
    if (bytes > peak.bytes) peak.bytes = bytes, peak.time_ns = change.time_ns;
  }
  for (auto& [owner, peak] : peaks) {
    const auto told = AllocatedPeak(trace, owner.first, owner.second);
    if (told && told->value >= peak.bytes) peak.bytes = told->value, peak.time_ns = told->start_ns;
  }
  for (const HeldBlock& block : blocks) {
    TensorPeak& peak = peaks.at(OwnerOf(block));
    if (IsAtPeak(block, peak)) peak.known_bytes += block.size_bytes;
  }
  return peaks;
}

std::vector<Table> TensorPeakTables(const Trace& trace, const std::vector<HeldBlock>& blocks, const TensorPeaks& peaks,
                                    BlockPlaces* places, uint32_t max_rows) {
  std::vector<Table> tables;
  tables.push_back(EmptyTable("tensors_by_operator", "PyTorch memory at the peak by operator", false,
                              {"operator", "Operator", Unit::kText, false}));
  tables.push_back(EmptyTable("tensors_by_module", "PyTorch memory at the peak by module", true,
                              {"module", "Module", Unit::kText, false}));
  tables.push_back(EmptyTable("tensors_by_line", "PyTorch memory at the peak by Python line", false,
                              {"line", "Python", Unit::kText, false}));
  if (blocks.empty()) return tables;
  Fill(trace, peaks, By(blocks, peaks, "(no operator)", [&](const HeldBlock& b) { return places->OperatorOf(b); }),
       max_rows, &tables[0]);
  Fill(trace, peaks, ByModule(blocks, peaks, *places), max_rows, &tables[1]);
  Fill(trace, peaks, By(blocks, peaks, "(no Python line)", [&](const HeldBlock& b) { return places->LineOf(b); }),
       max_rows, &tables[2]);
  return tables;
}

}  // namespace gprof

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "analysis/facts/memory/memory_use.h"
#include "analysis/result/metrics.h"
#include "analysis/result/statistics.h"
#include "analysis/result/tables.h"
#include "analysis/topics/memory/tensors/tensor_categories.h"
#include "analysis/topics/memory/tensors/tensor_peak.h"
#include "analysis/topics/memory/tensors/tensor_use.h"

namespace gprof {
namespace {

struct CategoryHeld {
  int64_t bytes = 0, blocks = 0;  // at the peak
  int64_t after_step_bytes = 0;
};
using HeldByCategory = std::array<CategoryHeld, kTensorCategories>;

struct OwnerHeld {
  HeldByCategory shares{};
  std::optional<int64_t> step_end_ns;  // of the last step of an optimizer
};

// A trace without training has only blocks that are temporary or unknown: that is no answer.
bool IsAnswer(TensorCategory category) {
  return category != TensorCategory::kTemporary && category != TensorCategory::kUnknown;
}

std::map<MemoryOwner, OwnerHeld> SumUp(const std::vector<HeldBlock>& blocks,
                                       const std::vector<TensorCategory>& categories, const TensorPeaks& peaks,
                                       const TrainingParts& parts) {
  std::map<MemoryOwner, OwnerHeld> all;
  for (const auto& [owner, peak] : peaks) all[owner].step_end_ns = parts.LastStepEnd(owner.first);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const HeldBlock& block = blocks[i];
    OwnerHeld& held = all.at(OwnerOf(block));
    CategoryHeld& share = held.shares[static_cast<std::size_t>(categories[i])];
    if (IsAtPeak(block, peaks.at(OwnerOf(block)))) share.bytes += block.size_bytes, ++share.blocks;
    const bool is_there = held.step_end_ns && block.start_ns <= *held.step_end_ns && block.end_ns > *held.step_end_ns;
    if (is_there) share.after_step_bytes += block.size_bytes;
  }
  return all;
}

Table CategoryTable() {
  return {
      "tensors_by_category",
      "PyTorch memory at the peak by category",
      {{"device", "GPU", Unit::kText, false, ColumnRole::kOwn},
       {"process", "Process", Unit::kText, true},
       {"percent", "% of peak", Unit::kPercent, false},
       {"bytes", "Bytes", Unit::kBytes, false},
       {"blocks", "Blocks", Unit::kCount, false},
       {"after_step_bytes", "After a step", Unit::kBytes, false, "held at the end of the last step of an optimizer"},
       {"category", "Category", Unit::kText, false}},
      {},
      "Memory held by the tensors of each GPU and process at its peak. Parameters include buffers of modules."};
}

void AddRows(const Trace& trace, const MemoryOwner& owner, const TensorPeak& peak, const OwnerHeld& held,
             Table* table) {
  const auto add = [&](int64_t bytes, Cell blocks, Cell after_step, std::string name) {
    table->rows.push_back({MemoryDeviceName(trace, owner.second), MemoryProcessName(trace, owner.first),
                           PercentOf(bytes, peak.bytes), bytes, std::move(blocks), std::move(after_step),
                           std::move(name)});
  };
  for (std::size_t i = 0; i < kTensorCategories; ++i) {
    const CategoryHeld& share = held.shares[i];
    if (share.bytes == 0 && share.after_step_bytes == 0) continue;
    add(share.bytes, share.blocks, held.step_end_ns ? Cell(share.after_step_bytes) : Cell(),
        NameOf(static_cast<TensorCategory>(i)));
  }
  if (peak.bytes > peak.known_bytes) add(peak.bytes - peak.known_bytes, {}, {}, "(before the recording)");
}

// Only where all that was held is known: what came before the recording would be missing.
void AddMetrics(const TensorPeaks& peaks, const std::map<MemoryOwner, OwnerHeld>& all, AnalysisResult* result) {
  const auto highest =
      std::ranges::max_element(peaks, [](const auto& a, const auto& b) { return a.second.bytes < b.second.bytes; });
  if (highest->second.bytes > highest->second.known_bytes) return;
  const HeldByCategory& shares = all.at(highest->first).shares;
  const std::pair<const char*, TensorCategory> metrics[] = {{"memory.parameters_bytes", TensorCategory::kParameter},
                                                            {"memory.gradients_bytes", TensorCategory::kGradient},
                                                            {"memory.optimizer_bytes", TensorCategory::kOptimizerState},
                                                            {"memory.activations_bytes", TensorCategory::kActivation}};
  for (const auto& [id, category] : metrics) AddMetric(result, id, shares[static_cast<std::size_t>(category)].bytes);
}

}  // namespace

void AddTensorCategories(const AnalysisInput& input, const std::vector<HeldBlock>& blocks, const TensorPeaks& peaks,
                         const BlockPlaces* places, uint32_t max_rows, AnalysisResult* result) {
  Table table = CategoryTable();
  if (!blocks.empty()) {
    const TrainingParts parts(input.trace());
    const std::vector<TensorCategory> categories = CategoriesOf(input, blocks, parts, places->operators());
    if (std::ranges::any_of(categories, IsAnswer)) {
      const std::map<MemoryOwner, OwnerHeld> all = SumUp(blocks, categories, peaks, parts);
      for (const auto& [owner, held] : all) AddRows(input.trace(), owner, peaks.at(owner), held, &table);
      AddMetrics(peaks, all, result);
    }
  }
  constexpr std::size_t kBytes = 3;
  SortAndCut(&table, kBytes, table.columns.size() - 1, max_rows);
  result->tables.push_back(std::move(table));
}

}  // namespace gprof

#include "analysis/topics/memory/tensors/tensor_categories.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <span>
#include <utility>

#include "analysis/topics/memory/tensors/block_origins.h"

namespace gprof {
namespace {

using Part = TrainingParts::Part;

constexpr std::size_t kMostPassesOfInput = 2;  // that begin while it is held: its own, and that before it
constexpr std::size_t kFewestPassesForInputs = 4;

// The allocator gives units of 512 bytes, and of more than 1 MiB up to 1 MiB more, where it does not split a block.
bool CanHold(int64_t block_bytes, int64_t bytes) {
  constexpr int64_t kUnit = 512, kLarge = int64_t{1} << 20;
  const int64_t rounded = (bytes + kUnit - 1) / kUnit * kUnit;
  return block_bytes >= bytes && block_bytes <= rounded + (rounded > kLarge ? kLarge : 0);
}

// The passes that begin while a block is held.
std::span<const BackwardPass> PassesDuring(const HeldBlock& block, std::span<const BackwardPass> passes) {
  const auto begins_before = [](const BackwardPass& pass, int64_t time_ns) { return pass.start_ns < time_ns; };
  const auto first = std::lower_bound(passes.begin(), passes.end(), block.start_ns, begins_before);
  return {first, std::lower_bound(first, passes.end(), block.end_ns, begins_before)};
}

class Sorter {
 public:
  Sorter(const AnalysisInput& input, const std::vector<HeldBlock>& blocks, const TrainingParts& parts,
         const Operators& operators)
      : trace_(input.trace()),
        blocks_(blocks),
        parts_(parts),
        origins_(input, operators),
        categories_(blocks.size(), TensorCategory::kUnknown) {}

  std::vector<TensorCategory> Run() {
    std::map<uint32_t, std::vector<uint32_t>> kept_of_pass, outside_of_process;
    for (uint32_t i = 0; i < blocks_.size(); ++i) {
      const TrainingParts::PartOfTraining place = parts_.PlaceOf(blocks_[i].range);
      if (place.part == Part::kForward) SortForward(i, place.index);
      if (place.part == Part::kOptimizer) SortOptimizer(i, place.index);
      if (place.part == Part::kBackward && !SortBackward(i, place.index)) kept_of_pass[place.index].push_back(i);
      if (place.part == Part::kOther) outside_of_process[blocks_[i].process].push_back(i);
    }
    for (auto& [pass, kept] : kept_of_pass) {
      Match(TensorCategory::kGradient, parts_.passes()[pass].gradient_bytes, std::move(kept));
    }
    for (const auto& [process, outside] : outside_of_process) SortOutside(parts_.PassesOf(process), outside);
    return std::move(categories_);
  }

 private:
  using Passes = std::span<const BackwardPass>;

  // What the program keeps of it for longer than to the next pass is not told from what a library keeps for itself.
  void SortForward(uint32_t i, uint32_t pass) {
    const HeldBlock& block = blocks_[i];
    const std::vector<BackwardPass>& passes = parts_.passes();
    const bool has_next = pass + 1 < passes.size() && passes[pass + 1].process == block.process;
    const int64_t next_ns = has_next ? passes[pass + 1].start_ns : HeldBlock::kNeverFreed - 1;
    if (block.end_ns <= next_ns) categories_[i] = TensorCategory::kActivation;
    if (block.end_ns <= passes[pass].start_ns) categories_[i] = TensorCategory::kTemporary;
  }

  void SortOptimizer(uint32_t i, uint32_t step) {
    const bool is_kept = blocks_[i].end_ns > trace_.ranges[step].end_ns;
    categories_[i] = is_kept ? TensorCategory::kOptimizerState : TensorCategory::kTemporary;
  }

  // False: it is kept.
  bool SortBackward(uint32_t i, uint32_t pass) {
    if (blocks_[i].end_ns > parts_.passes()[pass].end_ns) return false;
    categories_[i] = TensorCategory::kTemporary;
    return true;
  }

  // Of blocks outside of all that autograd and optimizers do.
  void SortOutside(Passes passes, const std::vector<uint32_t>& outside) {
    std::vector<uint32_t> of_modules, others, kept;
    for (const uint32_t i : outside) {
      const Passes during = PassesDuring(blocks_[i], passes);
      const bool goes_in_pass = !during.empty() && blocks_[i].end_ns <= during.back().end_ns;
      if (goes_in_pass) {
        categories_[i] = TensorCategory::kActivation;
      } else if (IsKeptByModule(blocks_[i], passes)) {
        categories_[i] = TensorCategory::kParameter;
        of_modules.push_back(i);
      } else {
        others.push_back(i);
      }
    }
    const std::size_t fewest = std::min<std::size_t>(2, passes.size());
    std::ranges::copy_if(others, std::back_inserter(kept), [&](uint32_t i) {
      return !passes.empty() && PassesDuring(blocks_[i], passes).size() >= fewest;
    });
    std::ranges::stable_sort(kept, [&](uint32_t a, uint32_t b) {
      return PassesDuring(blocks_[a], passes).size() > PassesDuring(blocks_[b], passes).size();
    });
    const std::vector<int64_t> left = Match(TensorCategory::kParameter, MostGradients(passes), std::move(of_modules));
    Match(TensorCategory::kParameter, left, std::move(kept));
    for (const uint32_t i : others) {
      if (categories_[i] == TensorCategory::kUnknown) SortOther(i, passes);
    }
  }

  bool IsKeptByModule(const HeldBlock& block, Passes passes) const {
    const bool is_there =
        passes.empty() || passes.back().start_ns < block.start_ns || !PassesDuring(block, passes).empty();
    return is_there && block.end_ns > origins_.WorkEnd(block) && origins_.IsOfModule(block);
  }

  void SortOther(uint32_t i, Passes passes) {
    const HeldBlock& block = blocks_[i];
    const std::size_t during = PassesDuring(block, passes).size();
    const bool has_pass_after = !passes.empty() && passes.back().start_ns >= block.start_ns;
    const bool goes_before = has_pass_after && during == 0;
    if (passes.size() >= kFewestPassesForInputs && during <= kMostPassesOfInput && origins_.IsCopiedFromHost(block)) {
      categories_[i] = TensorCategory::kInput;
    } else if (goes_before || block.end_ns <= origins_.WorkEnd(block)) {
      categories_[i] = TensorCategory::kTemporary;
    }
  }

  // The sizes of all gradients; of each size as many as one pass had at most.
  static std::vector<int64_t> MostGradients(Passes passes) {
    std::vector<int64_t> most;
    for (const BackwardPass& pass : passes) {
      std::vector<int64_t> both;
      std::set_union(most.begin(), most.end(), pass.gradient_bytes.begin(), pass.gradient_bytes.end(),
                     std::back_inserter(both));
      most = std::move(both);
    }
    return most;
  }

  // Gives each size the first block that can have it. What is left of the sizes comes back.
  std::vector<int64_t> Match(TensorCategory category, const std::vector<int64_t>& sizes, std::vector<uint32_t> blocks) {
    std::ranges::stable_sort(blocks,
                             [&](uint32_t a, uint32_t b) { return blocks_[a].size_bytes < blocks_[b].size_bytes; });
    std::vector<int64_t> left;
    auto at = blocks.begin();
    for (const int64_t size : sizes) {
      while (at != blocks.end() && blocks_[*at].size_bytes < size) ++at;
      if (at == blocks.end() || !CanHold(blocks_[*at].size_bytes, size)) {
        left.push_back(size);
      } else {
        categories_[*at++] = category;
      }
    }
    return left;
  }

  const Trace& trace_;
  const std::vector<HeldBlock>& blocks_;
  const TrainingParts& parts_;
  BlockOrigins origins_;
  std::vector<TensorCategory> categories_;
};

}  // namespace

const char* NameOf(TensorCategory category) {
  constexpr const char* kNames[kTensorCategories] = {"parameters", "gradients", "optimizer state", "activations",
                                                     "inputs",     "temporary", "unknown"};
  return kNames[static_cast<std::size_t>(category)];
}

std::vector<TensorCategory> CategoriesOf(const AnalysisInput& input, const std::vector<HeldBlock>& blocks,
                                         const TrainingParts& parts, const Operators& operators) {
  return Sorter(input, blocks, parts, operators).Run();
}

}  // namespace gprof

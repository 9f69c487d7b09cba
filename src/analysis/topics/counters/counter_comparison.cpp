#include "analysis/topics/counters/counter_comparison.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "analysis/result/tables.h"
#include "base/units.h"

namespace gprof {
namespace {

bool HaveSameShape(const KernelCounters& a, const KernelCounters& b) {
  constexpr std::string_view kShape[] = {"launch__grid_dim_x",  "launch__grid_dim_y",  "launch__grid_dim_z",
                                         "launch__block_dim_x", "launch__block_dim_y", "launch__block_dim_z"};
  return std::ranges::all_of(kShape, [&](std::string_view part) { return a.Value(part) == b.Value(part); });
}

class Pairing {
 public:
  Pairing(std::span<const KernelCounters> now, std::span<const KernelCounters> base) {
    for (const KernelCounters& kernel : now) pairs_.push_back({&kernel, nullptr});
    for (const KernelCounters& kernel : base) left_.push_back(&kernel);
  }

  // Gives each that has none yet the first that is left and matches.
  template <class F>
  void PairWhere(F&& matches) {
    for (ComparedKernel& pair : pairs_) {
      if (pair.base != nullptr) continue;
      const auto at =
          std::ranges::find_if(left_, [&](const KernelCounters* base) { return matches(*pair.now, *base); });
      if (at == left_.end()) continue;
      pair.base = *at;
      left_.erase(at);
    }
  }

  void PairTheLastTwo() {
    const auto is_alone = [](const ComparedKernel& pair) { return pair.base == nullptr; };
    if (left_.size() != 1 || std::ranges::count_if(pairs_, is_alone) != 1) return;
    std::ranges::find_if(pairs_, is_alone)->base = left_.front();
  }

  std::vector<ComparedKernel> Take() { return std::move(pairs_); }

 private:
  std::vector<ComparedKernel> pairs_;
  std::vector<const KernelCounters*> left_;
};

// What the tables do not show: kernels of other names beside each other, and kernels without a partner.
std::string NoteOf(std::span<const ComparedKernel> pairs) {
  std::string note;
  int64_t alone = 0;
  for (const ComparedKernel& pair : pairs) {
    if (pair.base == nullptr) {
      ++alone;
    } else if (pair.base->name != pair.now->name) {
      note += "The baseline of " + pair.now->name + " is " + pair.base->name + ". ";
    }
  }
  if (alone > 0) note += CountOf(alone, "kernel is", "kernels are") + " not in the baseline.";
  while (note.ends_with(' ')) note.pop_back();
  return note;
}

}  // namespace

std::vector<ComparedKernel> CompareKernels(std::span<const KernelCounters> now, std::span<const KernelCounters> base) {
  Pairing pairing(now, base);
  pairing.PairWhere(
      [](const KernelCounters& a, const KernelCounters& b) { return a.name == b.name && HaveSameShape(a, b); });
  pairing.PairWhere([](const KernelCounters& a, const KernelCounters& b) { return a.name == b.name; });
  pairing.PairTheLastTwo();
  return pairing.Take();
}

Table ComparisonTable(const CounterSection& section, std::span<const ComparedKernel> pairs) {
  Table table{std::string(section.id) + "_comparison",
              std::string(section.title) + ", beside the baseline",
              {{"kernel", "Kernel", Unit::kText},
               {"metric", "Metric", Unit::kText},
               {"base", "Baseline", Unit::kText},
               {"now", "Now", Unit::kText},
               {"change_percent", "Change", Unit::kPercent, false, ColumnRole::kOwn}},
              {},
              {}};
  for (const ComparedKernel& pair : pairs) {
    if (pair.base == nullptr) continue;
    for (const CounterColumn& column : section.columns) {
      const std::optional<double> now = ValueOf(column, *pair.now), base = ValueOf(column, *pair.base);
      if (!now || !base) continue;
      table.rows.push_back({pair.now->name, std::string(column.title), FormatFigure(*base, column.unit),
                            FormatFigure(*now, column.unit), *base != 0 ? Cell((*now / *base - 1) * 100) : Cell()});
    }
  }
  return table;
}

std::vector<Table> ComparisonTables(const Trace& now, const Trace& base, uint32_t max_kernels) {
  const std::vector<KernelCounters> kernels = KernelCountersOf(now), base_kernels = KernelCountersOf(base);
  const std::size_t shown = RowsShown(kernels.size(), max_kernels);
  const std::vector<ComparedKernel> pairs = CompareKernels(kernels, base_kernels);
  std::vector<Table> tables;
  for (const CounterSection& section : CounterSections()) {
    Table table = ComparisonTable(section, std::span(pairs).first(shown));
    if (!table.rows.empty()) tables.push_back(std::move(table));
  }
  if (!tables.empty()) tables.front().note = NoteOf(pairs);
  return tables;
}

}  // namespace gprof

#include "analysis/topics/memory/tensors/tensor_growth.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "analysis/facts/memory/memory_use.h"
#include "analysis/findings/finding_catalogue.h"
#include "analysis/findings/finding_words.h"
#include "analysis/result/metrics.h"
#include "analysis/result/statistics.h"
#include "analysis/result/tables.h"
#include "analysis/topics/memory/tensors/tensor_use.h"
#include "base/saturate.h"
#include "base/text.h"
#include "base/units.h"

namespace gprof {
namespace {

constexpr std::size_t kFewestStepsToGrow = 8;
constexpr std::size_t kQuarters = 4;    // of the steps that are looked at: each has to grow
constexpr std::size_t kStepsInUse = 2;  // at the end: what they hold is what any step holds

// Steps that are looked at: a third at the beginning is left to the warm-up.
struct Steps {
  std::vector<int64_t> ends_ns;  // the first is where they begin
  int64_t last_ns = 0;           // end of all steps: what is kept is there then
};

std::optional<Steps> StepsOf(const Trace& trace, const StepChoice* step) {
  if (step == nullptr || step->ranges.size() < kFewestStepsToGrow) return std::nullopt;
  Steps steps;
  const std::size_t warm = step->ranges.size() / 3 - 1;
  for (std::size_t i = warm; i + kStepsInUse < step->ranges.size(); ++i) {
    steps.ends_ns.push_back(trace.ranges[step->ranges[i]].end_ns);
  }
  steps.last_ns = trace.ranges[step->ranges.back()].end_ns;
  return steps;
}

// Where a block asked for at that time counts: kQuarters for what is not looked at.
std::size_t QuarterOf(const Steps& steps, int64_t time_ns) {
  const auto after = std::lower_bound(steps.ends_ns.begin(), steps.ends_ns.end(), time_ns);
  if (after == steps.ends_ns.begin() || after == steps.ends_ns.end()) return kQuarters;
  const auto number = static_cast<std::size_t>(after - steps.ends_ns.begin() - 1);
  return number * kQuarters / (steps.ends_ns.size() - 1);
}

int64_t StepsIn(const Steps& steps, std::size_t quarter) {
  const std::size_t count = steps.ends_ns.size() - 1;
  std::size_t steps_in = 0;
  for (std::size_t i = 0; i < count; ++i) steps_in += i * kQuarters / count == quarter ? 1 : 0;
  return static_cast<int64_t>(steps_in);
}

using Quarters = std::array<int64_t, kQuarters>;  // blocks kept of each
struct Site {
  GrowingTensors tensors;
  Quarters blocks{};
};
using SiteKey = std::tuple<MemoryOwner, std::string, std::string>;  // line and operator
using Sites = std::map<SiteKey, Site>;

void AddBlock(const HeldBlock& block, std::size_t quarter, BlockPlaces* places, Sites* sites) {
  SiteKey key{OwnerOf(block), places->LineOf(block), std::string(places->OperatorOf(block))};
  Site& site = (*sites)[key];
  if (site.tensors.blocks == 0) {
    const uint32_t module = places->ModuleOf(block);
    site.tensors.line = std::get<1>(key), site.tensors.op = Utf8(std::get<2>(key));
    if (module != kNone) site.tensors.module = Utf8(places->modules()[module].path);
  }
  ++site.blocks[quarter], ++site.tensors.blocks;
  site.tensors.bytes += block.size_bytes;
}

// What levels off has few left in a later part, whatever fills a cache or warms up; what a growing batch needs is not
// kept. Half as many as in any part before is about the same.
bool KeepsOn(const Quarters& blocks, const Quarters& steps_in) {
  double most = 0;
  for (std::size_t i = 0; i < kQuarters; ++i) {
    if (blocks[i] == 0) return false;
    const double rate = static_cast<double>(blocks[i]) / static_cast<double>(steps_in[i]);
    if (rate * 2 < most) return false;
    most = std::max(most, rate);
  }
  return true;
}

void AddTo(const Site& site, TensorGrowth* growth) {
  growth->tensors.push_back(site.tensors);
  growth->bytes += site.tensors.bytes, growth->blocks += site.tensors.blocks;
}

// The GPU that grows most.
TensorGrowth WorstOf(const Sites& sites, const Quarters& steps_in) {
  std::map<MemoryOwner, TensorGrowth> all;
  for (const auto& [key, site] : sites) {
    if (KeepsOn(site.blocks, steps_in)) AddTo(site, &all[std::get<0>(key)]);
  }
  TensorGrowth worst;
  for (auto& [owner, growth] : all) {
    growth.owner = owner;
    if (growth.bytes > worst.bytes) worst = std::move(growth);
  }
  std::ranges::stable_sort(worst.tensors, std::greater(), &GrowingTensors::bytes);
  return worst;
}

Cell TextOrNothing(const std::string& text) { return text.empty() ? Cell() : Cell(text); }

std::string PlaceText(const GrowingTensors& tensors) {
  std::string text = tensors.line;
  if (!tensors.op.empty()) text += (text.empty() ? "" : ", ") + tensors.op;
  if (tensors.line.empty() && !tensors.module.empty()) text += " in " + tensors.module;
  return text;
}

// What is left of the memory of the GPU holds so many more steps; nothing where its size is not known.
std::optional<int64_t> StepsLeft(const Trace& trace, const TensorGrowth& growth) {
  const auto [process, device] = growth.owner;
  const uint64_t all_bytes = device == kNone ? 0 : trace.devices[device].properties.memory_bytes;
  if (all_bytes == 0 || growth.BytesEach() == 0) return std::nullopt;
  const auto free_bytes = static_cast<int64_t>(all_bytes) - ReservedAtEnd(trace, process, device);
  return std::max<int64_t>(0, free_bytes) / growth.BytesEach();
}

// The share of the GPU's memory that a thousand steps take, by which it is judged.
double PercentInThousand(const Trace& trace, const TensorGrowth& growth) {
  const uint32_t device = growth.owner.second;
  const uint64_t all_bytes = device == kNone ? 0 : trace.devices[device].properties.memory_bytes;
  return all_bytes == 0 ? 100 : 1e5 * static_cast<double>(growth.BytesEach()) / static_cast<double>(all_bytes);
}

std::string WhenFull(const Trace& trace, const TensorGrowth& growth) {
  const std::optional<int64_t> left = StepsLeft(trace, growth);
  if (!left) return {};
  const int64_t left_ns = MultiplySaturating(*left, growth.span_ns / growth.steps);
  return "; " + MemoryDeviceName(trace, growth.owner.second) + " would be full after " + FormatCount(*left) +
         " more (" + FormatNs(left_ns) + ")";
}

}  // namespace

TensorGrowth TensorGrowthOf(const std::vector<HeldBlock>& blocks, const Trace& trace, const StepChoice* step,
                            BlockPlaces* places) {
  const std::optional<Steps> steps = StepsOf(trace, step);
  if (!steps || blocks.empty()) return {};
  const uint32_t process = trace.threads[step->thread].process;
  Sites sites;
  for (const HeldBlock& block : blocks) {
    if (block.process != process || block.end_ns <= steps->last_ns) continue;
    const std::size_t quarter = QuarterOf(*steps, block.start_ns);
    if (quarter < kQuarters) AddBlock(block, quarter, places, &sites);
  }
  Quarters steps_in{};
  for (std::size_t i = 0; i < kQuarters; ++i) steps_in[i] = StepsIn(*steps, i);
  TensorGrowth growth = WorstOf(sites, steps_in);
  growth.is_known = true;
  growth.step = step->path;
  growth.steps = static_cast<int64_t>(steps->ends_ns.size()) - 1;
  growth.span_ns = steps->ends_ns.back() - steps->ends_ns.front();
  return growth;
}

Table TensorGrowthTable(const Trace& trace, const TensorGrowth& growth, uint32_t max_rows) {
  Table table{"tensor_growth",
              "Tensors kept step after step",
              {{"device", "GPU", Unit::kText, false, ColumnRole::kOwn},
               {"percent", "% of growth", Unit::kPercent, false},
               {"bytes_each", "Bytes per step", Unit::kBytes, false},
               {"blocks", "Blocks", Unit::kCount, false},
               {"steps", "Steps", Unit::kCount, true},
               {"module", "Module", Unit::kText, true},
               {"operator", "Operator", Unit::kText, false},
               {"line", "Python", Unit::kText, false}},
              {},
              "Blocks allocated in steps after warm-up and still held at the end of the last step."};
  for (const GrowingTensors& tensors : growth.tensors) {
    table.rows.push_back({MemoryDeviceName(trace, growth.owner.second), PercentOf(tensors.bytes, growth.bytes),
                          tensors.bytes / growth.steps, tensors.blocks, growth.steps, TextOrNothing(tensors.module),
                          TextOrNothing(tensors.op), TextOrNothing(tensors.line)});
  }
  CutRows(&table, max_rows);
  return table;
}

void AddTensorGrowthMetric(const TensorGrowth& growth, AnalysisResult* result) {
  if (growth.is_known) AddMetric(result, "memory.tensor_growth_bytes", growth.BytesEach());
}

void AddTensorGrowthFinding(const Trace& trace, const TensorGrowth& growth, std::vector<Finding>* findings) {
  if (growth.BytesEach() == 0) return;
  const GrowingTensors& worst = growth.tensors.front();
  Finding finding = NewFinding("memory.tensor_growth", PercentInThousand(trace, growth));
  finding.subject.device = MemoryDeviceName(trace, growth.owner.second);
  finding.subject.process = MemoryProcessName(trace, growth.owner.first);
  finding.subject.line = worst.line.substr(0, worst.line.find(" ("));
  finding.message = "Tensors are kept step after step: " + FormatBytes(growth.BytesEach()) + " more after each " +
                    InMessage(trace.Text(growth.step)) + WhenFull(trace, growth);
  if (const std::string place = PlaceText(worst); !place.empty()) {
    AddPlace((growth.tensors.size() == 1 ? "allocated by " : "the largest share by ") + place, &finding);
  }
  finding.evidence.push_back(CountOf(growth.blocks, "block") + " in " + CountOf(growth.steps, "step"));
  findings->push_back(std::move(finding));
}

}  // namespace gprof

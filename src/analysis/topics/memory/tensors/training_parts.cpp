#include "analysis/topics/memory/tensors/training_parts.h"

#include <algorithm>
#include <limits>
#include <string_view>
#include <tuple>

#include "analysis/facts/operators/operators.h"
#include "analysis/facts/operators/sequence_links.h"
#include "analysis/facts/time/search_near.h"

namespace gprof {

// A function of the backward pass that ran.
struct TrainingParts::Node {
  static constexpr int64_t kUnknown = std::numeric_limits<int64_t>::min();
  uint32_t process = kNone;
  int64_t start_ns = 0, end_ns = 0;  // with what the engine does around it
  int64_t forward_ns = kUnknown;     // begin of the operator whose gradient it computes
  int64_t gradient_bytes = 0;        // that it gave to a parameter
};

TrainingParts::TrainingParts(const Trace& trace) : trace_(trace) {
  ReadNames();
  if (std::ranges::all_of(kinds_, [](Kind kind) { return kind == Kind::kOther; })) return;
  const std::vector<uint32_t> links = LinkBackward(trace);
  FindPasses(NodesOf(links));
  places_.resize(trace.ranges.size());
  for (uint32_t i = 0; i < links.size(); ++i) {
    const uint32_t pass = links[i] == kNone ? kNone : PassAt(ProcessOf(i), trace.ranges.items()[i].start_ns());
    if (pass != kNone) places_[links[i]] = {Part::kForward, pass};
  }
  for (uint32_t i = 0; i < places_.size(); ++i) {
    const PartOfTraining around = PlaceOf(RangeAround(trace, i));
    if (places_[i].part == Part::kOther) places_[i] = OwnPlace(i);
    const bool is_within_step = places_[i].part == Part::kOptimizer && around.part == Part::kOptimizer;
    if (places_[i].part == Part::kOther || is_within_step) places_[i] = around;
  }
}

// Ranges of one name share their traits.
void TrainingParts::ReadNames() {
  for (uint32_t i = 0; i < trace_.ranges.TraitsCount(); ++i) {
    const PackedRanges::Traits& range = trace_.ranges.TraitsAt(i);
    const std::string_view text = trace_.Text(range.name);
    const std::string_view domain =
        range.domain == kNone ? std::string_view() : trace_.Text(trace_.domains[range.domain].name);
    const OperatorName op = ReadOperatorName(text, domain);
    Kind kind = Kind::kOther;
    if (text.starts_with("Optimizer.step")) kind = Kind::kOptimizer;
    if (!op.name.empty() && IsOfBackward(op.name)) kind = IsOfEngine(op.name) ? Kind::kEngine : Kind::kBackward;
    if (op.name == "torch::autograd::AccumulateGrad") kind = Kind::kGradient;
    kinds_.push_back(kind);
    first_bytes_.push_back(kind == Kind::kGradient ? FirstInputBytes(op) : 0);
  }
}

uint32_t TrainingParts::ProcessOf(uint32_t range) const { return trace_.threads[trace_.ranges[range].thread].process; }

std::vector<TrainingParts::Node> TrainingParts::NodesOf(const std::vector<uint32_t>& links) const {
  std::vector<Node> nodes;
  for (uint32_t i = 0; i < trace_.ranges.size(); ++i) {
    const bool is_linked = i < links.size() && links[i] != kNone;
    const bool is_gradient = KindOf(i) == Kind::kGradient;
    if (!is_linked && !is_gradient) continue;
    const PackedRanges::Item& item = trace_.ranges.items()[i];
    const uint32_t around = RangeAround(trace_, i);
    const uint32_t outer = around != kNone && KindOf(around) == Kind::kEngine ? around : i;
    const NvtxRange range = trace_.ranges[outer];
    Node node{ProcessOf(i), range.start_ns, range.end_ns};
    if (is_linked) node.forward_ns = trace_.ranges.items()[links[i]].start_ns();
    if (is_gradient) node.gradient_bytes = first_bytes_[item.traits];
    nodes.push_back(node);
  }
  std::ranges::stable_sort(nodes, [](const Node& a, const Node& b) {
    return std::tie(a.process, a.start_ns) < std::tie(b.process, b.start_ns);
  });
  return nodes;
}

// What ran forward after a pass is of another one.
void TrainingParts::FindPasses(const std::vector<Node>& nodes) {
  for (const Node& node : nodes) {
    const bool is_new =
        passes_.empty() || passes_.back().process != node.process || node.forward_ns >= passes_.back().end_ns;
    if (is_new) passes_.push_back({node.process, node.start_ns, node.end_ns, {}});
    BackwardPass& pass = passes_.back();
    pass.end_ns = std::max(pass.end_ns, node.end_ns);
    if (node.gradient_bytes > 0) pass.gradient_bytes.push_back(node.gradient_bytes);
  }
  for (BackwardPass& pass : passes_) std::ranges::sort(pass.gradient_bytes);
}

// kNone: none is under way.
uint32_t TrainingParts::PassAt(uint32_t process, int64_t time_ns) const {
  const auto after = std::upper_bound(
      passes_.begin(), passes_.end(), std::tuple(process, time_ns),
      [](const auto& key, const BackwardPass& pass) { return key < std::tuple(pass.process, pass.start_ns); });
  if (after == passes_.begin()) return kNone;
  const BackwardPass& pass = *std::prev(after);
  const bool is_under_way = pass.process == process && time_ns <= pass.end_ns;
  return is_under_way ? static_cast<uint32_t>(after - passes_.begin() - 1) : kNone;
}

TrainingParts::PartOfTraining TrainingParts::OwnPlace(uint32_t range) const {
  const Kind kind = KindOf(range);
  if (kind == Kind::kOther) return {};
  if (kind == Kind::kOptimizer) return {Part::kOptimizer, range};
  const uint32_t pass = PassAt(ProcessOf(range), trace_.ranges.items()[range].start_ns());
  return pass == kNone ? PartOfTraining() : PartOfTraining{Part::kBackward, pass};
}

std::span<const BackwardPass> TrainingParts::PassesOf(uint32_t process) const {
  const auto less = [](const BackwardPass& a, const BackwardPass& b) { return a.process < b.process; };
  const auto [first, last] = std::equal_range(passes_.begin(), passes_.end(), BackwardPass{process, 0, 0, {}}, less);
  return {first, last};
}

std::optional<int64_t> TrainingParts::LastStepEnd(uint32_t process) const {
  std::optional<int64_t> last;
  for (uint32_t i = 0; i < places_.size(); ++i) {
    if (KindOf(i) != Kind::kOptimizer || ProcessOf(i) != process) continue;
    last = std::max(last.value_or(0), trace_.ranges[i].end_ns);
  }
  return last;
}

}  // namespace gprof

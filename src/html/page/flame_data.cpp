#include "html/page/flame_data.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "analysis/causes/host_gaps.h"
#include "analysis/causes/shared_causes.h"
#include "analysis/facts/places/running_samples.h"
#include "base/demangle.h"
#include "base/json_style.h"
#include "export/stacks/sampled_frames.h"

namespace gprof {
namespace {

// What is in fewer samples than this part of all is too narrow to be seen.
constexpr int64_t kNarrowest = 2000;

struct Node {
  uint32_t parent, name;
  int64_t samples = 0, idle = 0;
};

class Tree {
 public:
  explicit Tree(const Trace& trace) : trace_(trace) {}

  void Add(const CpuSample& sample, int64_t count, int64_t idle) {
    // Stacks that lack their outer part would begin anywhere; they stand together.
    uint32_t node = IsCut(sample.stack) ? Child(kNone, "(cut stacks)") : kNone;
    if (node != kNone) Count(node, count, idle);
    const std::vector<uint32_t> frames = FramesOf(trace_, sample.stack);
    for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
      const std::vector<FrameLine> lines = LinesOf(trace_, *frame);
      for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
        node = Child(node, ShortName(line->name));
        Count(node, count, idle);
      }
    }
  }

  std::string Text() const {
    int64_t all = 0;
    for (const Node& node : nodes_) all += node.parent == kNone ? node.samples : 0;
    Json nodes = Json::array();
    std::vector<int64_t> places(nodes_.size(), -1);
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const Node& node = nodes_[i];
      const bool has_parent = node.parent == kNone || places[node.parent] >= 0;
      if (!has_parent || node.samples * kNarrowest < all) continue;
      places[i] = static_cast<int64_t>(nodes.size());
      nodes.push_back({node.parent == kNone ? -1 : places[node.parent], node.name, node.samples, node.idle});
    }
    const Json json = {{"names", names_}, {"nodes", nodes}};
    return CompactText(json);
  }

 private:
  bool IsCut(uint32_t stack) const {
    bool is_cut = stack == kNone;
    for (; stack != kNone; stack = trace_.stacks[stack].parent) is_cut = trace_.stacks[stack].is_cut;
    return is_cut;
  }
  uint32_t Child(uint32_t parent, const std::string& name) {
    const auto number = static_cast<uint32_t>(names_.size());
    const auto [known, is_new_name] = numbers_.try_emplace(name, number);
    if (is_new_name) names_.push_back(name);
    const auto [at, is_new] = children_.try_emplace({parent, known->second}, static_cast<uint32_t>(nodes_.size()));
    if (is_new) nodes_.push_back({parent, known->second});
    return at->second;
  }
  void Count(uint32_t node, int64_t count, int64_t idle) {
    nodes_[node].samples += count;
    nodes_[node].idle += idle;
  }

  const Trace& trace_;
  std::vector<std::string> names_;
  std::map<std::string, uint32_t> numbers_;
  std::vector<Node> nodes_;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> children_;
};

}  // namespace

std::string FlameJson(const AnalysisInput& input) {
  const Trace& trace = input.trace();
  if (trace.cpu_samples.empty()) return {};
  struct Sum {
    int64_t count = 0, idle = 0;
    uint32_t first = 0;
  };
  std::map<uint32_t, Sum> stacks;  // samples with one stack are counted first: there are far fewer of those
  const auto sum_of = [&](uint32_t i) -> Sum& {
    const auto [at, is_new] = stacks.try_emplace(trace.cpu_samples[i].stack);
    if (is_new) at->second.first = i;
    return at->second;
  };
  const RunningSamples counted(trace);
  for (uint32_t i = 0; i < trace.cpu_samples.size(); ++i) {
    const CpuSample& sample = trace.cpu_samples[i];
    if (sample.thread != kNone && counted.Has(sample)) ++sum_of(i).count;
  }
  for (const uint32_t sample : input.causes().of_host(input).samples) ++sum_of(sample).idle;
  Tree tree(trace);
  for (const auto& [stack, sum] : stacks) tree.Add(trace.cpu_samples[sum.first], sum.count, sum.idle);
  return tree.Text();
}

}  // namespace gprof

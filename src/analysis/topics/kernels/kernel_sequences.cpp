#include "analysis/topics/kernels/kernel_sequences.h"

#include <algorithm>
#include <cstddef>

#include "analysis/facts/operations/operations.h"

namespace gprof {
namespace {

// A kernel of a stream, as far as sequences are concerned.
struct Step {
  uint32_t group;
  int64_t ns;
};

// Adds up what sequences consist of.
class Sums {
 public:
  explicit Sums(const KernelGroups& kernels) : ns_of_group_(kernels.size()) {}

  void Add(const std::vector<Step>& steps) {
    int64_t longest_ns = 0, ns = 0;
    for (const Step& step : steps) {
      ns += step.ns;
      longest_ns = std::max(longest_ns, step.ns);
      ns_of_group_[step.group] += step.ns;
    }
    sum_.ns += ns;
    sum_.saved_ns += ns - longest_ns;
    sum_.kernels += static_cast<int64_t>(steps.size());
    ++sum_.sequences;
  }

  SequenceSum Finish() {
    const auto longest = std::ranges::max_element(ns_of_group_);
    if (sum_.sequences > 0) sum_.longest = static_cast<uint32_t>(longest - ns_of_group_.begin());
    return sum_;
  }

 private:
  SequenceSum sum_;
  std::vector<int64_t> ns_of_group_;
};

// `Rule` takes what each stream runs, in order, and adds the sequences that it finds. Operations that are no kernels,
// and the end of the stream, are steps without a group.
template <class Rule>
SequenceSum SumSequences(const Trace& trace, const KernelGroups& kernels, Rule rule) {
  Sums sums(kernels);
  const std::size_t streams = trace.streams.size();
  std::vector<typename Rule::State> of_stream(streams + 1);  // the last one for what names none
  const std::vector<uint32_t>& group_of = kernels.of_traits();
  for (const Trace::Slice& slice : trace.device_ops) {
    for (const Operation op : OperationsOf(trace, slice)) {
      const uint32_t group = group_of[op.kind_number()];
      rule.Take(&of_stream[std::min<std::size_t>(op.stream(), streams)],
                {group, std::max<int64_t>(op.duration_ns(), 0)}, &sums);
    }
  }
  for (typename Rule::State& state : of_stream) rule.Take(&state, {kNone, 0}, &sums);
  return sums.Finish();
}

struct AttentionRule {
  static constexpr std::size_t kMostBetween = 8;  // kernels: more are another part of the model

  struct State {
    bool is_after_product = false, has_softmax = false;
    std::vector<Step> between;
  };

  const std::vector<KernelKind>& kinds;
  const std::vector<uint8_t>& is_log;

  void Take(State* state, Step step, Sums* sums) const {
    const KernelKind kind = step.group == kNone ? KernelKind::kOther : kinds[step.group];
    if (kind == KernelKind::kProduct) {
      if (state->is_after_product && state->has_softmax) sums->Add(state->between);
      *state = {true, false, {}};
      return;
    }
    const bool is_softmax = kind == KernelKind::kSoftmax && is_log[step.group] == 0;
    const bool is_beside = kind == KernelKind::kElementwise || kind == KernelKind::kRandom ||
                           kind == KernelKind::kReduction || kind == KernelKind::kIndexing;
    if (!state->is_after_product || !(is_softmax || is_beside) || state->between.size() == kMostBetween) {
      *state = {};
      return;
    }
    state->has_softmax |= is_softmax;
    state->between.push_back(step);
  }
};

struct ElementwiseRule {
  static constexpr std::size_t kMostFused = 16;  // more are seldom made one kernel
  using State = std::vector<Step>;
  const std::vector<uint8_t>& is_single;

  void Take(State* state, Step step, Sums* sums) const {
    if (step.group != kNone && is_single[step.group] != 0) {
      state->push_back(step);
      if (state->size() < kMostFused) return;
    }
    if (state->size() > 1) sums->Add(*state);
    state->clear();
  }
};

template <class F>
std::vector<uint8_t> ByName(const KernelGroups& kernels, F&& is_it) {
  std::vector<uint8_t> answers;
  for (uint32_t i = 0; i < kernels.size(); ++i) answers.push_back(is_it(kernels.Name(i)) ? 1 : 0);
  return answers;
}

}  // namespace

SequenceSum SoftmaxBetweenProducts(const Trace& trace, const KernelGroups& kernels,
                                   const std::vector<KernelKind>& kinds) {
  const std::vector<uint8_t> is_log = ByName(kernels, IsLogSoftmax);
  return SumSequences(trace, kernels, AttentionRule{kinds, is_log});
}

SequenceSum ElementwiseInARow(const Trace& trace, const KernelGroups& kernels) {
  const std::vector<uint8_t> is_single = ByName(kernels, IsSingleElementwise);
  return SumSequences(trace, kernels, ElementwiseRule{is_single});
}

}  // namespace gprof

#include "analysis/facts/operators/operators.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>

#include "analysis/facts/operations/operations.h"
#include "analysis/facts/shared_facts.h"
#include "analysis/facts/time/search_near.h"
#include "base/text.h"

namespace gprof {
namespace {

constexpr std::size_t kMostDeep = 512;  // ranges around a call that are looked at

// "aten::", "c10d::", "autograd::", …: lower case, as namespaces of operators are.
bool HasNamespace(std::string_view name) {
  const std::size_t end = name.find("::");
  if (end == std::string_view::npos || end == 0) return false;
  return std::all_of(name.begin(), name.begin() + static_cast<std::ptrdiff_t>(end),
                     [](char c) { return c == '_' || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); });
}

// What follows `key` in the name of a range, up to the fact after it.
std::string_view FactOf(std::string_view range_name, std::string_view key) {
  const std::size_t at = range_name.find(key);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = range_name.substr(at + key.size());
  return rest.substr(0, std::min({rest.find(", types = "), rest.find(", inputs = "), rest.find(", input_op_ids = ")}));
}

class OperatorSums {
 public:
  OperatorSums(const AnalysisInput& input, Operators* operators)
      : input_(input),
        trace_(input.trace()),
        all_(*operators),
        of_ranges_(operators->of_ranges),
        sums_(operators->sums) {}

  void Run() {
    // Ranges of one name share their traits, so traces without operators are done with those.
    std::vector<uint32_t> of_traits;
    for (uint32_t i = 0; i < trace_.ranges.TraitsCount(); ++i) of_traits.push_back(NumberOf(trace_.ranges.TraitsAt(i)));
    if (sums_.empty()) return;
    of_ranges_.reserve(trace_.ranges.size());
    for (const PackedRanges::Item& range : trace_.ranges.items()) {
      of_ranges_.push_back(range.is_push_pop ? of_traits[range.traits] : kNone);
    }
    all_.is_counted_around.assign(trace_.ranges.size(), false);
    MergeRepeated();
    for (const OperatorSum& sum : sums_) {
      all_.flops_of_call.push_back(FlopsOf({sum.name, sum.sizes, sum.types, sum.inputs}));
    }
    for (uint32_t i = 0; i < trace_.ranges.size(); ++i) AddHostTime(i);
    for (const Operation op : OperationsOf(trace_)) AddOperation(op);
    for (OperatorSum& sum : sums_) sum.cpu_self_ns = std::max<int64_t>(sum.cpu_self_ns, 0);
  }

 private:
  // Of the operator that ranges of this name are; kNone where they are none.
  uint32_t NumberOf(const PackedRanges::Traits& range) {
    const std::string_view domain =
        range.domain == kNone ? std::string_view() : trace_.Text(trace_.domains[range.domain].name);
    const OperatorName op = ReadOperatorName(trace_.Text(range.name), domain);
    if (op.name.empty()) return kNone;
    const auto [at, is_new] =
        numbers_.try_emplace(std::tuple(op.name, op.sizes, op.types, op.inputs), static_cast<uint32_t>(sums_.size()));
    if (is_new) {
      sums_.push_back({std::string(op.name), std::string(op.sizes), std::string(op.types), std::string(op.inputs)});
    }
    return at->second;
  }

  // An operator with nothing in it but another of the same name is one: sum() calls sum() with a list of dimensions.
  // key_averages() of PyTorch counts them so.
  void MergeRepeated() {
    std::vector<uint32_t> around(trace_.ranges.size(), kNone), within(trace_.ranges.size(), 0);
    for (uint32_t i = 0; i < trace_.ranges.size(); ++i) {
      const uint32_t parent = trace_.ranges.items()[i].parent;
      if (of_ranges_[i] == kNone || parent >= i) continue;
      around[i] = OperatorAround(parent);
      if (around[i] != kNone) ++within[around[i]];
    }
    std::vector<uint32_t> merged;
    for (uint32_t i = 0; i < trace_.ranges.size(); ++i) {
      if (around[i] == kNone || within[around[i]] != 1) continue;
      if (sums_[of_ranges_[around[i]]].name == sums_[of_ranges_[i]].name) merged.push_back(i);
    }
    for (const uint32_t range : merged) of_ranges_[range] = kNone;
  }

  uint32_t OperatorAround(uint32_t range) const { return all_.OperatorAround(trace_, range); }

  void AddHostTime(uint32_t index) {
    const NvtxRange range = trace_.ranges[index];
    if (range.parent < index) {
      const uint32_t parent = of_ranges_[range.parent];
      all_.is_counted_around[index] =
          all_.is_counted_around[range.parent] || (parent != kNone && all_.flops_of_call[parent] > 0);
    }
    if (of_ranges_[index] == kNone) return;
    OperatorSum& sum = sums_[of_ranges_[index]];
    ++sum.calls;
    sum.flops += all_.FlopsOfRange(index);
    sum.cpu_ns += range.DurationNs();
    sum.cpu_self_ns += range.DurationNs();
    const uint32_t around = range.parent < index ? OperatorAround(range.parent) : kNone;
    if (around != kNone) sums_[of_ranges_[around]].cpu_self_ns -= range.DurationNs();
  }

  void AddOperation(const Operation& op) {
    const uint32_t call = input_.shared().ops().CallOf(op);
    uint32_t range = OperatorAround(RangeOfWork(trace_, op, call));
    std::array<uint32_t, 32> seen;  // an operator within itself counts once
    std::size_t count = 0;
    for (bool is_self = true; range != kNone; is_self = false) {
      const uint32_t number = of_ranges_[range];
      OperatorSum& sum = sums_[number];
      if (is_self) sum.gpu_self_ns += op.duration_ns(), ++sum.kernels;
      const auto* end = seen.data() + count;
      if (std::find(static_cast<const uint32_t*>(seen.data()), end, number) == end) AddTime(op, &sum);
      if (count < seen.size()) seen[count++] = number;
      const uint32_t parent = trace_.ranges[range].parent;
      range = parent < range ? OperatorAround(parent) : kNone;
    }
  }

  void AddTime(const Operation& op, OperatorSum* sum) const {
    sum->gpu_ns += op.duration_ns();
    const uint32_t stream = op.stream();
    if (stream != kNone) sum->device = trace_.streams[stream].device;
    sum->has_tf32 = sum->has_tf32 || Contains(trace_.Text(op.shared().name), "tf32");
  }

  const AnalysisInput& input_;
  const Trace& trace_;
  Operators& all_;
  std::vector<uint32_t>& of_ranges_;
  std::vector<OperatorSum>& sums_;
  std::map<std::tuple<std::string_view, std::string_view, std::string_view, std::string_view>, uint32_t> numbers_;
};

}  // namespace

OperatorName ReadOperatorName(std::string_view range_name, std::string_view domain) {
  const std::size_t end =
      std::min({range_name.find(", op_id = "), range_name.find(", seq = "), range_name.find(", sizes = ")});
  const bool is_emitted = end != std::string_view::npos;
  const std::string_view name = range_name.substr(0, end);
  if (!is_emitted && domain != "cpu_op" && domain != "PyTorch" && !HasNamespace(name)) return {};
  if (!is_emitted) return {name};
  OperatorName op{name, FactOf(range_name, ", sizes = "), FactOf(range_name, ", types = "),
                  FactOf(range_name, ", inputs = ")};
  return op;
}

std::string TeraflopsText(int64_t flops, int64_t gpu_ns) {
  if (flops == 0 || gpu_ns <= 0) return {};
  const std::string text = std::to_string(static_cast<double>(flops) / static_cast<double>(gpu_ns) / 1e3);
  return text.substr(0, text.find('.') + 3);
}

MathType OperatorSum::math() const {
  constexpr std::pair<std::string_view, MathType> kTypes[] = {
      {"BFloat16", MathType::kBf16}, {"Half", MathType::kFp16},  {"Float8", MathType::kFp8},
      {"double", MathType::kFp64},   {"float", MathType::kFp32}, {"signed char", MathType::kInt8}};
  // The first type that is none of these is of a number, a list or an index; a matrix comes before any other tensor.
  const std::string_view first = std::string_view(types).substr(0, types.find(','));
  for (const auto& [text, type] : kTypes) {
    if (!Contains(first, text)) continue;
    return type == MathType::kFp32 && has_tf32 ? MathType::kTf32 : type;
  }
  return MathType::kOther;
}

double OperatorSum::LeastNs(const Trace& trace, int64_t operations) const {
  const double peak = device == kNone ? 0 : PeakOperationsPerSecond(trace.devices[device], math());
  return peak > 0 ? 1e9 * static_cast<double>(operations) / peak : 0;
}

Operators::Operators(const AnalysisInput& input) {
  OperatorSums(input, this).Run();
  if (!sums.empty()) AddMemory(input.trace(), this);
}

uint32_t Operators::OperatorAround(const Trace& trace, uint32_t range) const {
  for (std::size_t n = 0; range != kNone && n < kMostDeep; ++n) {
    if (of_ranges[range] != kNone) return range;
    range = RangeAround(trace, range);
  }
  return kNone;
}

}  // namespace gprof

#include "analysis/ranges/operators.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <tuple>
#include <utility>

#include "analysis/facts/operations.h"
#include "analysis/facts/shared_facts.h"

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

using Shape = std::vector<int64_t>;

// "[[64, 32], [], [8]]"
std::vector<Shape> ReadSizes(std::string_view text) {
  std::vector<Shape> shapes;
  int depth = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '[' && ++depth == 2) shapes.emplace_back();
    if (text[at] == ']' && --depth == 0) break;
    if (text[at] < '0' || text[at] > '9' || depth != 2) continue;
    int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), number);
    shapes.back().push_back(error == std::errc() ? number : 0);
    at = static_cast<std::size_t>(end - text.data()) - 1;
  }
  return shapes;
}

// [m, k] by [k, n].
int64_t MatrixFlops(const Shape& a, const Shape& b) {
  return a.size() == 2 && b.size() == 2 && a[1] == b[0] ? 2 * a[0] * a[1] * b[1] : 0;
}
// The same of batches.
int64_t BatchFlops(const Shape& a, const Shape& b) {
  return a.size() == 3 && b.size() == 3 && a[0] == b[0] && a[2] == b[1] ? 2 * a[0] * a[1] * a[2] * b[2] : 0;
}
// Query, key and value of [batch, heads, length, width]: scores, and what they weigh.
int64_t AttentionFlops(const Shape& q, const Shape& k, const Shape& v, int64_t of_scores, int64_t of_values) {
  if (q.size() != 4 || k.size() != 4 || v.size() != 4) return 0;
  const int64_t pairs = 2 * q[0] * q[1] * q[2] * k[2];
  return pairs * (of_scores * q[3] + of_values * v[3]);
}

struct Formula {
  std::string_view name;
  std::size_t first;  // input that the formula begins with
  enum Kind : uint8_t { kMatrix, kBatch, kAttention, kAttentionBackward } kind;
};
constexpr Formula kFormulas[] = {
    {"aten::mm", 0, Formula::kMatrix},
    {"aten::addmm", 1, Formula::kMatrix},
    {"aten::_scaled_mm", 0, Formula::kMatrix},
    {"aten::bmm", 0, Formula::kBatch},
    {"aten::baddbmm", 1, Formula::kBatch},
    {"aten::_scaled_dot_product_flash_attention", 0, Formula::kAttention},
    {"aten::_scaled_dot_product_efficient_attention", 0, Formula::kAttention},
    {"aten::_scaled_dot_product_cudnn_attention", 0, Formula::kAttention},
    {"aten::_scaled_dot_product_flash_attention_backward", 1, Formula::kAttentionBackward},
    {"aten::_scaled_dot_product_efficient_attention_backward", 1, Formula::kAttentionBackward},
    {"aten::_scaled_dot_product_cudnn_attention_backward", 1, Formula::kAttentionBackward},
};

class OperatorSums {
 public:
  explicit OperatorSums(const AnalysisInput& input)
      : input_(input), trace_(input.trace()), of_ranges_(trace_.ranges.size(), kNone) {}

  std::vector<OperatorSum> Take() {
    for (uint32_t i = 0; i < trace_.ranges.size(); ++i) Classify(i);
    if (sums_.empty()) return {};
    for (uint32_t i = 0; i < trace_.ranges.size(); ++i) AddHostTime(i);
    for (const Operation op : OperationsOf(trace_)) AddOperation(op);
    for (OperatorSum& sum : sums_) {
      sum.flops = FlopsOf({sum.name, sum.sizes}) * sum.calls;
      sum.cpu_self_ns = std::max<int64_t>(sum.cpu_self_ns, 0);
    }
    std::sort(sums_.begin(), sums_.end(), [](const OperatorSum& a, const OperatorSum& b) {
      return std::tie(b.gpu_self_ns, b.cpu_self_ns, a.name, a.sizes) <
             std::tie(a.gpu_self_ns, a.cpu_self_ns, b.name, b.sizes);
    });
    return std::move(sums_);
  }

 private:
  void Classify(uint32_t index) {
    const NvtxRange range = trace_.ranges[index];
    if (!range.is_push_pop) return;
    const std::string_view domain =
        range.domain == kNone ? std::string_view() : trace_.Text(trace_.domains[range.domain].name);
    const OperatorName op = ReadOperatorName(trace_.Text(range.name), domain);
    if (op.name.empty()) return;
    const auto [at, is_new] = numbers_.try_emplace(std::pair(op.name, op.sizes), static_cast<uint32_t>(sums_.size()));
    if (is_new) sums_.push_back({std::string(op.name), std::string(op.sizes)});
    of_ranges_[index] = at->second;
  }

  // The innermost operator among a range and those around it.
  uint32_t OperatorAround(uint32_t range) const {
    for (std::size_t n = 0; range != kNone && n < kMostDeep; ++n) {
      if (of_ranges_[range] != kNone) return range;
      const uint32_t parent = trace_.ranges[range].parent;
      range = parent < range ? parent : kNone;
    }
    return kNone;
  }

  void AddHostTime(uint32_t index) {
    if (of_ranges_[index] == kNone) return;
    const NvtxRange range = trace_.ranges[index];
    OperatorSum& sum = sums_[of_ranges_[index]];
    ++sum.calls;
    sum.cpu_ns += range.DurationNs();
    sum.cpu_self_ns += range.DurationNs();
    const uint32_t around = range.parent < index ? OperatorAround(range.parent) : kNone;
    if (around != kNone) sums_[of_ranges_[around]].cpu_self_ns -= range.DurationNs();
  }

  void AddOperation(const Operation& op) {
    const uint32_t call = input_.shared().ops().CallOf(op);
    uint32_t range = call == kNone ? kNone : OperatorAround(Call(trace_.api_calls, call).range());
    std::array<uint32_t, 32> seen;  // an operator within itself counts once
    std::size_t count = 0;
    for (bool is_self = true; range != kNone; is_self = false) {
      const uint32_t number = of_ranges_[range];
      OperatorSum& sum = sums_[number];
      if (is_self) sum.gpu_self_ns += op.duration_ns(), ++sum.kernels;
      const auto* end = seen.data() + count;
      if (std::find(static_cast<const uint32_t*>(seen.data()), end, number) == end) sum.gpu_ns += op.duration_ns();
      if (count < seen.size()) seen[count++] = number;
      const uint32_t parent = trace_.ranges[range].parent;
      range = parent < range ? OperatorAround(parent) : kNone;
    }
  }

  const AnalysisInput& input_;
  const Trace& trace_;
  std::vector<uint32_t> of_ranges_;  // index into sums_
  std::map<std::pair<std::string_view, std::string_view>, uint32_t> numbers_;
  std::vector<OperatorSum> sums_;
};

}  // namespace

OperatorName ReadOperatorName(std::string_view range_name, std::string_view domain) {
  const std::size_t end =
      std::min({range_name.find(", op_id = "), range_name.find(", seq = "), range_name.find(", sizes = ")});
  const bool is_emitted = end != std::string_view::npos;
  const std::string_view name = range_name.substr(0, end);
  if (!is_emitted && domain != "cpu_op" && !HasNamespace(name)) return {};
  if (!is_emitted) return {name, {}};
  constexpr std::string_view kSizes = ", sizes = ";
  const std::size_t sizes = range_name.find(kSizes);
  if (sizes == std::string_view::npos) return {name, {}};
  const std::string_view rest = range_name.substr(sizes + kSizes.size());
  const std::size_t close = rest.find("]]");
  return {name,
          close == std::string_view::npos ? rest.substr(0, rest.find(", input_op_ids")) : rest.substr(0, close + 2)};
}

int64_t FlopsOf(const OperatorName& op) {
  const auto* formula =
      std::find_if(std::begin(kFormulas), std::end(kFormulas), [&](const Formula& f) { return f.name == op.name; });
  if (formula == std::end(kFormulas) || op.sizes.empty()) return 0;
  const std::vector<Shape> inputs = ReadSizes(op.sizes);
  const std::size_t at = formula->first;
  if (inputs.size() < at + 2) return 0;
  if (formula->kind == Formula::kMatrix) return MatrixFlops(inputs[at], inputs[at + 1]);
  if (formula->kind == Formula::kBatch) return BatchFlops(inputs[at], inputs[at + 1]);
  if (inputs.size() < at + 3) return 0;
  // Backward: the scores again, gradients of query, key and scores, and of the values.
  const bool is_backward = formula->kind == Formula::kAttentionBackward;
  return AttentionFlops(inputs[at], inputs[at + 1], inputs[at + 2], is_backward ? 3 : 1, is_backward ? 2 : 1);
}

std::vector<OperatorSum> SumOperators(const AnalysisInput& input) { return OperatorSums(input).Take(); }

}  // namespace gprof

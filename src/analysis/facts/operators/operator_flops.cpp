#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/facts/operators/operators.h"

namespace gprof {
namespace {

// [m, k] by [k, n].
int64_t MatrixFlops(const Dimensions& a, const Dimensions& b) {
  return a.size() == 2 && b.size() == 2 && a[1] == b[0] ? 2 * a[0] * a[1] * b[1] : 0;
}
// The same of batches.
int64_t BatchFlops(const Dimensions& a, const Dimensions& b) {
  return a.size() == 3 && b.size() == 3 && a[0] == b[0] && a[2] == b[1] ? 2 * a[0] * a[1] * a[2] * b[2] : 0;
}
// Query, key and value of [batch, heads, length, width]: scores, and what they weigh.
int64_t AttentionFlops(const Dimensions& q, const Dimensions& k, const Dimensions& v, int64_t of_scores,
                       int64_t of_values) {
  if (q.size() != 4 || k.size() != 4 || v.size() != 4) return 0;
  const int64_t pairs = 2 * q[0] * q[1] * q[2] * k[2];
  return pairs * (of_scores * q[3] + of_values * v[3]);
}

int64_t Product(const Dimensions& shape, std::size_t from) {
  int64_t product = 1;
  for (std::size_t i = from; i < shape.size(); ++i) product *= shape[i];
  return product;
}

// The arguments of a call, as text: "[, , [2, 2], False]" has four.
std::vector<std::string_view> ReadInputs(std::string_view text) {
  std::vector<std::string_view> inputs;
  int depth = 0;
  std::size_t begin = 1;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '[') ++depth;
    if (text[at] == ']') --depth;
    if (depth > 1 || (depth == 1 && text[at] != ',')) continue;
    if (at >= begin) inputs.push_back(text.substr(begin, at - begin));
    begin = at + 2;
  }
  return inputs;
}

// "[2, 2]", or "[2]" for every dimension.
int64_t NumberAt(std::string_view list, std::size_t index) {
  const std::vector<Dimensions> shapes = ReadSizes("[" + std::string(list) + "]");
  if (shapes.empty() || shapes[0].empty()) return 0;
  return shapes[0][std::min(index, shapes[0].size() - 1)];
}

// Inputs: input, weight, bias, stride, padding, dilation, transposed.
int64_t ConvolutionFlops(const std::vector<Dimensions>& sizes, const std::vector<std::string_view>& inputs) {
  if (sizes.size() < 2 || inputs.size() < 7) return 0;
  const Dimensions &x = sizes[0], &w = sizes[1];
  if (x.size() != w.size() || x.size() < 3) return 0;
  int64_t points = 1;
  for (std::size_t i = 2; i < x.size(); ++i) {
    const int64_t stride = NumberAt(inputs[3], i - 2);
    if (stride <= 0) return 0;
    const int64_t reach = NumberAt(inputs[5], i - 2) * (w[i] - 1) + 1;
    points *= inputs[6] == "True" ? x[i] : (x[i] + 2 * NumberAt(inputs[4], i - 2) - reach) / stride + 1;
  }
  return 2 * x[0] * points * Product(w, 0);
}

// Inputs: gradient of the output, input, weight, sizes of the bias, stride, padding, dilation, transposed, padding of
// the output, groups, which gradients are asked for.
int64_t ConvolutionBackwardFlops(const std::vector<Dimensions>& sizes, const std::vector<std::string_view>& inputs) {
  if (sizes.size() < 3 || inputs.size() < 11) return 0;
  const Dimensions &g = sizes[0], &x = sizes[1], &w = sizes[2];
  if (g.size() != w.size() || x.size() != w.size() || w.size() < 3) return 0;
  const int64_t points = Product(inputs[7] == "True" ? x : g, 2);
  const std::string_view asked = inputs[10];
  int64_t flops = 0;
  if (asked.starts_with("[True")) flops += 2 * g[0] * points * Product(w, 0);
  if (asked.substr(std::min(asked.find(','), asked.size())).starts_with(", True")) {
    flops += 2 * Product(w, 2) * points * g[0] * g[1] * x[1];
  }
  return flops;
}

struct Formula {
  std::string_view name;
  std::size_t first;  // input that the formula begins with
  enum Kind : uint8_t { kMatrix, kBatch, kAttention, kAttentionBackward, kConvolution, kConvolutionBackward } kind;
  // Of attention: the input that says where sequences of a batch begin, which makes their lengths unknown.
  std::size_t offsets = 0;
  bool is_length_first = false;  // inputs of attention are of [batch, length, heads, width]
};
constexpr Formula kFormulas[] = {
    {"aten::mm", 0, Formula::kMatrix},
    {"aten::addmm", 1, Formula::kMatrix},
    {"aten::_scaled_mm", 0, Formula::kMatrix},
    {"aten::bmm", 0, Formula::kBatch},
    {"aten::baddbmm", 1, Formula::kBatch},
    {"aten::convolution", 0, Formula::kConvolution},
    {"aten::_convolution", 0, Formula::kConvolution},
    {"aten::convolution_backward", 0, Formula::kConvolutionBackward},
    {"aten::_scaled_dot_product_flash_attention_for_cpu", 0, Formula::kAttention},
    {"aten::_scaled_dot_product_flash_attention_for_cpu_backward", 1, Formula::kAttentionBackward},
    {"aten::_scaled_dot_product_flash_attention", 0, Formula::kAttention},
    {"aten::_scaled_dot_product_efficient_attention", 0, Formula::kAttention},
    {"aten::_scaled_dot_product_cudnn_attention", 0, Formula::kAttention},
    {"aten::_scaled_dot_product_flash_attention_backward", 1, Formula::kAttentionBackward},
    {"aten::_scaled_dot_product_efficient_attention_backward", 1, Formula::kAttentionBackward},
    {"aten::_scaled_dot_product_cudnn_attention_backward", 1, Formula::kAttentionBackward},
    {"aten::_cudnn_attention_forward", 0, Formula::kAttention, 4},
    {"aten::_flash_attention_forward", 0, Formula::kAttention, 3, true},
    {"aten::_flash_attention_backward", 1, Formula::kAttentionBackward, 6, true},
    {"aten::_efficient_attention_forward", 0, Formula::kAttention, 4, true},
    {"aten::_efficient_attention_backward", 1, Formula::kAttentionBackward, 6, true},
};

// Backward: the scores again, gradients of query, key and scores, and of the values.
int64_t AttentionFlopsOf(const Formula& formula, std::vector<Dimensions> inputs) {
  const std::size_t at = formula.first;
  if (inputs.size() < std::max(at + 3, formula.offsets + 1)) return 0;
  if (formula.offsets > 0 && !inputs[formula.offsets].empty()) return 0;
  for (std::size_t i = at; formula.is_length_first && i < at + 3; ++i) {
    if (inputs[i].size() == 4) std::swap(inputs[i][1], inputs[i][2]);
  }
  const bool is_backward = formula.kind == Formula::kAttentionBackward;
  return AttentionFlops(inputs[at], inputs[at + 1], inputs[at + 2], is_backward ? 3 : 1, is_backward ? 2 : 1);
}

constexpr int64_t kMostElements = int64_t{1} << 42;  // of a tensor: what has more is damage

// The name of a type ends with it: "c10::BFloat16", "float".
int64_t ElementBytes(std::string_view type) {
  constexpr std::pair<std::string_view, int64_t> kTypes[] = {
      {"complex<double>", 16}, {"complex<float>", 8}, {"double", 8}, {"float", 4}, {"BFloat16", 2}, {"Half", 2}};
  for (const auto& [name, bytes] : kTypes) {
    if (type.ends_with(name)) return bytes;
  }
  return 0;
}

}  // namespace

int64_t FlopsOf(const OperatorName& op) {
  const auto* formula = std::ranges::find_if(kFormulas, [&](const Formula& f) { return f.name == op.name; });
  if (formula == std::end(kFormulas) || op.sizes.empty()) return 0;
  const std::vector<Dimensions> inputs = ReadSizes(op.sizes);
  if (formula->kind == Formula::kConvolution) return ConvolutionFlops(inputs, ReadInputs(op.inputs));
  if (formula->kind == Formula::kConvolutionBackward) return ConvolutionBackwardFlops(inputs, ReadInputs(op.inputs));
  const std::size_t at = formula->first;
  if (inputs.size() < at + 2) return 0;
  if (formula->kind == Formula::kMatrix) return MatrixFlops(inputs[at], inputs[at + 1]);
  if (formula->kind == Formula::kBatch) return BatchFlops(inputs[at], inputs[at + 1]);
  return AttentionFlopsOf(*formula, inputs);
}

std::vector<Dimensions> ReadSizes(std::string_view text) {
  std::vector<Dimensions> shapes;
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

int64_t FirstInputBytes(const OperatorName& op) {
  const std::vector<Dimensions> sizes = ReadSizes(op.sizes);
  if (sizes.empty() || op.types.size() < 2) return 0;
  const std::string_view types = op.types.substr(1);
  int64_t elements = 1;
  for (const int64_t size : sizes[0]) {
    if (size <= 0 || elements > kMostElements / size) return 0;
    elements *= size;
  }
  return elements * ElementBytes(types.substr(0, types.find_first_of(",]")));
}

}  // namespace gprof

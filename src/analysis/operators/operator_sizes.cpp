#include "analysis/operators/operator_sizes.h"

#include <charconv>
#include <utility>

namespace gprof {
namespace {

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

int64_t FirstInputBytes(const OperatorName& op) {
  const std::vector<Shape> sizes = ReadSizes(op.sizes);
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

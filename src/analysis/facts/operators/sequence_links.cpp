#include "analysis/facts/operators/sequence_links.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

#include "base/text.h"

namespace gprof {
namespace {

constexpr std::string_view kEngine = "autograd::engine::evaluate_function: ";

std::optional<uint64_t> NumberInName(std::string_view name) {
  constexpr std::string_view kKey = ", seq = ";
  const std::size_t at = name.find(kKey);
  if (at == std::string_view::npos) return std::nullopt;
  uint64_t number = 0;
  const char* const begin = name.data() + at + kKey.size();
  const auto [end, error] = std::from_chars(begin, name.data() + name.size(), number);
  return error == std::errc() && end != begin ? std::optional(number) : std::nullopt;
}

bool IsInteger(trace::PayloadType type) {
  return type == trace::PayloadType::kUnsigned64 || type == trace::PayloadType::kSigned64;
}

struct Numbered {
  uint32_t process = 0;
  uint64_t number = 0;
  int64_t start_ns = 0;
  uint32_t range = kNone;
};

auto OrderOf(const Numbered& a) { return std::tuple(a.process, a.number, a.start_ns, a.range); }

// "addmm" of "aten::addmm, seq = 4" and "AddmmBackward0, seq = 4": small letters and digits.
std::string Essence(std::string_view name) {
  name = name.substr(0, name.find(','));
  if (const std::size_t colon = name.rfind(':'); colon != std::string_view::npos) name.remove_prefix(colon + 1);
  std::string essence;
  for (const char c : name) {
    if (c >= 'A' && c <= 'Z') essence += static_cast<char>(c - 'A' + 'a');
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) essence += c;
  }
  return essence;
}

// The essence of the operator that a function of the backward pass is named after.
std::string EssenceOfForward(std::string_view gradient) {
  constexpr std::string_view kBackward = "backward";
  std::string name = Essence(gradient);
  name.resize(name.find_last_not_of("0123456789") + 1);
  if (name.ends_with(kBackward)) name.resize(name.size() - kBackward.size());
  return name;
}

class Linker {
 public:
  explicit Linker(const Trace& trace) : trace_(trace) {}

  std::vector<uint32_t> Link() {
    for (uint32_t i = 0; i < trace_.ranges.size(); ++i) Note(i);
    if (backward_.empty()) return {};
    std::ranges::sort(forward_, [](const Numbered& a, const Numbered& b) { return OrderOf(a) < OrderOf(b); });
    std::vector<uint32_t> links(trace_.ranges.size(), kNone);
    for (const Numbered& range : backward_) links[range.range] = LastBefore(range);
    return links;
  }

 private:
  void Note(uint32_t index) {
    const NvtxRange range = trace_.ranges[index];
    if (!range.is_push_pop) return;
    const std::string_view name = trace_.Text(range.name);
    const std::optional<uint64_t> number = SequenceNumber(trace_, range);
    if (!number) return;
    auto& list = IsOfBackward(name) ? backward_ : forward_;
    list.push_back({trace_.threads[range.thread].process, *number, range.start_ns, index});
  }

  // Operators that make no node of the graph have the number of the next one that does: the last of them is that one.
  // Each thread counts on its own: of those with the number, the one that the gradient is named after comes first.
  uint32_t LastBefore(const Numbered& range) const {
    const auto after = std::upper_bound(forward_.begin(), forward_.end(), range,
                                        [](const Numbered& a, const Numbered& b) { return OrderOf(a) < OrderOf(b); });
    const std::string wanted = EssenceOfForward(trace_.Text(trace_.ranges[range.range].name));
    uint32_t last = kNone;
    for (auto it = after; it != forward_.begin();) {
      --it;
      if (it->process != range.process || it->number != range.number) break;
      if (last == kNone) last = it->range;
      if (Essence(trace_.Text(trace_.ranges[it->range].name)) == wanted) return it->range;
    }
    return last;
  }

  const Trace& trace_;
  std::vector<Numbered> forward_, backward_;
};

}  // namespace

bool IsOfEngine(std::string_view name) { return name.starts_with(kEngine); }

bool IsOfBackward(std::string_view name) {
  if (IsOfEngine(name)) return true;
  const std::string_view first = name.substr(0, name.find(','));
  const std::size_t end = first.find_last_not_of("0123456789");
  return end != std::string_view::npos && first.substr(0, end + 1).ends_with("Backward");
}

std::optional<uint64_t> SequenceNumber(const Trace& trace, const NvtxRange& range) {
  const std::string_view domain =
      range.domain == kNone ? std::string_view() : trace.Text(trace.domains[range.domain].name);
  const bool has_payload = IsInteger(range.payload_type) && (domain == "cpu_op" || domain == "PyTorch");
  return has_payload ? std::optional(range.payload) : NumberInName(trace.Text(range.name));
}

std::vector<uint32_t> LinkBackward(const Trace& trace) { return Linker(trace).Link(); }

}  // namespace gprof

#include "export/timeline/chrome_operators.h"

#include <nlohmann/json.hpp>
#include <string_view>

#include "analysis/facts/operators/operators.h"
#include "analysis/facts/operators/sequence_links.h"
#include "base/text.h"
#include "export/output/json_text.h"

namespace gprof {
namespace {

constexpr std::string_view kMore = "…";  // at the end of a list that was too long to be recorded

// "[[64, 32], [], …]"; empty where the name was cut within.
std::string SizesAsJson(std::string_view list) {
  std::string json(list);
  if (const std::size_t at = json.find(kMore); at != std::string::npos) {
    json.insert(at + kMore.size(), "\"").insert(at, "\"");
  }
  return json.starts_with('[') && nlohmann::json::accept(json) ? json : std::string();
}

std::string_view Trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(' ');
  return first == std::string_view::npos ? std::string_view()
                                         : text.substr(first, text.find_last_not_of(' ') + 1 - first);
}

// "[float, , [2, 2]]" as ["float","","[2, 2]"]
std::string TextsAsJson(std::string_view list) {
  if (list.size() < 2 || list.front() != '[' || list.back() != ']') return {};
  std::string json = "[";
  int depth = 0;
  std::size_t begin = 1;
  for (std::size_t i = 1; i < list.size(); ++i) {
    depth += list[i] == '[' ? 1 : list[i] == ']' ? -1 : 0;
    const bool is_last = i + 1 == list.size();
    if (!is_last && (list[i] != ',' || depth != 0)) continue;
    AppendJsonString(Utf8(Trimmed(list.substr(begin, i - begin))), &json);
    json += is_last ? ']' : ',';
    begin = i + 1;
  }
  return depth == -1 ? json : std::string();
}

// A name that was cut within a list is kept as it is.
ChromeOperator OperatorOf(std::string_view range_name, std::string_view domain, Labels* labels) {
  const OperatorName name = ReadOperatorName(range_name, domain);
  if (name.name.empty()) return {};
  ChromeOperator op{kNone, SizesAsJson(name.sizes), TextsAsJson(name.types), TextsAsJson(name.inputs)};
  const bool is_whole = op.sizes.empty() == name.sizes.empty() && op.types.empty() == name.types.empty() &&
                        op.inputs.empty() == name.inputs.empty();
  if (!is_whole) return {labels->Of(range_name)};
  op.label = labels->Of(name.name);
  return op;
}

}  // namespace

ChromeOperators::ChromeOperators(const Trace& trace, Labels* labels) : trace_(trace) {
  for (uint32_t i = 0; i < trace.ranges.TraitsCount(); ++i) {
    const PackedRanges::Traits& traits = trace.ranges.TraitsAt(i);
    const std::string_view domain =
        traits.domain == kNone ? std::string_view() : trace.Text(trace.domains[traits.domain].name);
    of_traits_.push_back(OperatorOf(trace.Text(traits.name), domain, labels));
  }
}

const ChromeOperator* ChromeOperators::Of(uint32_t range) const {
  const PackedRanges::Item& item = trace_.ranges.items()[range];
  const ChromeOperator& op = of_traits_[item.traits];
  return item.is_push_pop && op.label != kNone ? &op : nullptr;
}

void ChromeOperators::AddArgs(uint32_t range, const ChromeOperator& op, ChromeArgs& sink) {
  if (const auto number = SequenceNumber(trace_, trace_.ranges[range])) sink.Uint("Sequence number", *number);
  if (!op.types.empty()) sink.Json("Input type", op.types);
  if (!op.sizes.empty()) sink.Json("Input Dims", op.sizes);
  if (!op.inputs.empty()) sink.Json("Concrete Inputs", op.inputs);
  sink.Uint("Ev Idx", count_++);
}

}  // namespace gprof

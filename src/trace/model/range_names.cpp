#include "trace/model/range_names.h"

#include <algorithm>
#include <cctype>

namespace gprof {
namespace {

// What emit_nvtx() appends to the name of an operator.
constexpr std::string_view kOperatorFacts[] = {", op_id = ", ", seq = ", ", sizes = ", ", input_op_ids = "};

// What is counted, in lower case. The end of a word counts as well: "ProfilerStep", "train_iter".
constexpr std::string_view kCounted[] = {"step",  "iter",    "iteration", "epoch", "batch",
                                         "frame", "request", "token",     "loop",  "generation"};

constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kSeparators = " _#:=-";

std::string_view WithoutOperatorFacts(std::string_view name) {
  std::size_t end = name.size();
  for (const std::string_view fact : kOperatorFacts) end = std::min(end, name.find(fact));
  return name.substr(0, end);
}

bool EndsWithCounted(std::string_view text) {
  return std::any_of(std::begin(kCounted), std::end(kCounted), [&](std::string_view word) {
    return text.size() >= word.size() &&
           std::equal(word.begin(), word.end(), text.end() - static_cast<std::ptrdiff_t>(word.size()),
                      [](char a, char b) { return a == std::tolower(static_cast<unsigned char>(b)); });
  });
}

// Where the number at the end begins, if it counts instances; npos if there is none.
std::size_t CounterAt(std::string_view name) {
  const std::size_t last = name.find_last_not_of(kDigits);
  if (last == std::string_view::npos || last + 1 == name.size()) return std::string_view::npos;
  const std::string_view before = name.substr(0, last + 1);
  const std::size_t word_end = before.find_last_not_of(kSeparators);
  if (word_end == std::string_view::npos) return std::string_view::npos;
  const bool is_counter = before.back() == '#' || EndsWithCounted(before.substr(0, word_end + 1));
  return is_counter ? last + 1 : std::string_view::npos;
}

}  // namespace

std::string NameOfAllInstances(std::string_view name) {
  name = WithoutOperatorFacts(name);
  const std::size_t counter = CounterAt(name);
  return counter == std::string_view::npos ? std::string(name) : std::string(name.substr(0, counter)) + "*";
}

}  // namespace gprof

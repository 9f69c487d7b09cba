#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "analysis/facts/operations/operations.h"
#include "analysis/facts/shared_facts.h"
#include "analysis/facts/time/search_near.h"
#include "analysis/topics/streams/stream_findings.h"

namespace gprof {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// The number behind the word "stream": 3 of "Stream 3", "stream_3: copy in", "my stream #3".
std::optional<uint32_t> StreamNumberIn(std::string_view name) {
  constexpr std::string_view kWord = "stream", kBetween = " _-#:";
  constexpr uint32_t kMost = 1'000'000;  // more is a handle or an address, which is no name
  const auto is_same = [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; };
  const auto at = std::search(name.begin(), name.end(), kWord.begin(), kWord.end(), is_same);
  if (at == name.end()) return std::nullopt;
  std::string_view rest = name.substr(static_cast<size_t>(at - name.begin()) + kWord.size());
  if (!rest.empty() && kBetween.find(rest.front()) != std::string_view::npos) rest.remove_prefix(1);
  if (rest.starts_with('#')) rest.remove_prefix(1);
  if (rest.empty() || !IsDigit(rest.front())) return std::nullopt;
  uint32_t number = 0;
  for (; !rest.empty() && IsDigit(rest.front()) && number < kMost; rest.remove_prefix(1)) {
    number = 10 * number + static_cast<uint32_t>(rest.front() - '0');
  }
  return number < kMost ? std::optional(number) : std::nullopt;
}

// By the traits of ranges, the number that their name has in it; empty where none has one.
std::vector<std::optional<uint32_t>> NumbersOfRanges(const Trace& trace) {
  std::vector<std::optional<uint32_t>> numbers(trace.ranges.TraitsCount());
  bool has_any = false;
  for (uint32_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = StreamNumberIn(trace.Text(trace.ranges.TraitsAt(i).name));
    has_any |= numbers[i].has_value();
  }
  if (!has_any) numbers.clear();
  return numbers;
}

struct OfProcess {
  std::map<uint32_t, NameId> names;  // by number, the first range with it that launched something
  uint32_t stream = kNone;
  bool has_several = false;
  int64_t operations = 0;
};

}  // namespace

NamedInRanges NamedInRangesOf(const AnalysisInput& input) {
  const Trace& trace = input.trace();
  const std::vector<std::optional<uint32_t>> numbers = NumbersOfRanges(trace);
  if (numbers.empty()) return {};
  const PackedRanges::Item* const ranges = trace.ranges.items().data();
  std::map<uint32_t, OfProcess> processes;
  for (const Operation op : OperationsOf(trace)) {
    const uint32_t call = input.shared().ops().CallOf(op);
    uint32_t range = call == kNone ? kNone : Call(trace.api_calls, call).range();
    while (range != kNone && !numbers[ranges[range].traits]) range = RangeAround(trace, range);
    if (range == kNone || op.shared().stream == kNone) continue;
    OfProcess& process = processes[op.shared().process];
    process.names.emplace(*numbers[ranges[range].traits], trace.ranges.TraitsOf(ranges[range]).name);
    process.has_several |= process.operations > 0 && process.stream != op.shared().stream;
    process.stream = op.shared().stream;
    ++process.operations;
  }
  NamedInRanges most;
  for (const auto& [number, process] : processes) {
    const auto names = static_cast<int64_t>(process.names.size());
    if (process.has_several || names < 2 || names <= most.names) continue;
    most = {names, std::string(trace.Text(process.names.begin()->second)),
            std::string(trace.Text(process.names.rbegin()->second)), process.stream, process.operations};
  }
  return most;
}

}  // namespace gprof

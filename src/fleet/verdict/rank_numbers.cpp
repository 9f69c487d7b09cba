#include "fleet/verdict/rank_numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <optional>
#include <set>

#include "base/text.h"

namespace gprof {
namespace {

bool IsDigit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

// A name is text and numbers in turn.
struct Name {
  std::vector<std::string> texts{""};
  std::vector<int64_t> numbers;
};

Name Parsed(std::string_view text) {
  Name name;
  for (size_t at = 0; at < text.size();) {
    if (!IsDigit(text[at])) {
      name.texts.back() += static_cast<char>(std::tolower(static_cast<unsigned char>(text[at++])));
      continue;
    }
    int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), number);
    name.numbers.push_back(error == std::errc() ? number : -1);
    name.texts.emplace_back();
    at = static_cast<size_t>(end - text.data());
  }
  return name;
}

bool AreDistinct(const std::vector<int64_t>& numbers) {
  return std::set<int64_t>(numbers.begin(), numbers.end()).size() == numbers.size() &&
         *std::ranges::min_element(numbers) >= 0;
}

// "rank_12", "rank-12", "rank12".
std::optional<int64_t> AfterWordRank(const Name& name) {
  for (size_t i = 0; i < name.numbers.size(); ++i) {
    std::string_view before = name.texts[i];
    while (!before.empty() && Contains("_-. =", before.substr(before.size() - 1))) before.remove_suffix(1);
    if (before.ends_with("rank")) return name.numbers[i];
  }
  return std::nullopt;
}

// Of the numbers at one place of all names, those that count from 0 or 1, else those that are the only ones to differ.
std::vector<int64_t> NumbersThatDiffer(const std::vector<Name>& names) {
  std::vector<std::vector<int64_t>> differing;
  for (const Name& name : names) {
    if (name.texts != names.front().texts) return {};
  }
  for (size_t i = 0; i < names.front().numbers.size(); ++i) {
    std::vector<int64_t> column;
    for (const Name& name : names) column.push_back(name.numbers[i]);
    if (!AreDistinct(column)) continue;
    const int64_t most = *std::ranges::max_element(column);
    if (most <= static_cast<int64_t>(column.size())) return column;
    differing.push_back(std::move(column));
  }
  constexpr int64_t kMostRanks = 1'000'000;  // what is larger is a time or the number of a process
  if (differing.size() != 1) return {};
  return *std::ranges::max_element(differing[0]) < kMostRanks ? differing[0] : std::vector<int64_t>();
}

std::vector<int64_t> NumbersInNames(const std::vector<Name>& names) {
  std::vector<int64_t> numbers;
  for (const Name& name : names) {
    if (const std::optional<int64_t> number = AfterWordRank(name)) numbers.push_back(*number);
  }
  return numbers.size() == names.size() && AreDistinct(numbers) ? numbers : NumbersThatDiffer(names);
}

// The same process in two files is one rank.
std::string ProcessOf(const RankSummary& rank) {
  return rank.host.empty() ? rank.source : fmt::format("{} {} {}", rank.host, rank.pid, rank.start_ns);
}

// Communicators of a part of the ranks number those of each part from 0.
void ForgetWrongNumbers(std::vector<RankSummary>* ranks) {
  std::map<int64_t, std::set<std::string>> processes;  // by number of NCCL's
  for (const RankSummary& rank : *ranks) {
    if (rank.rank_source == kNumberedByNccl) processes[rank.rank].insert(ProcessOf(rank));
  }
  const bool are_wrong = std::ranges::any_of(processes, [](const auto& number) { return number.second.size() > 1; });
  for (RankSummary& rank : *ranks) {
    if (are_wrong && rank.rank_source == kNumberedByNccl) rank.rank = -1, rank.world_size = 0;
  }
}

}  // namespace

bool IsBeforeByNumbers(std::string_view a, std::string_view b) {
  const Name of_a = Parsed(a), of_b = Parsed(b);
  for (size_t i = 0; i < std::min(of_a.texts.size(), of_b.texts.size()); ++i) {
    if (of_a.texts[i] != of_b.texts[i]) return of_a.texts[i] < of_b.texts[i];
    if (i == of_a.numbers.size() || i == of_b.numbers.size()) break;
    if (of_a.numbers[i] != of_b.numbers[i]) return of_a.numbers[i] < of_b.numbers[i];
  }
  return of_a.texts.size() != of_b.texts.size() ? of_a.texts.size() < of_b.texts.size() : a < b;
}

void NumberRanks(std::vector<RankSummary>* ranks) {
  ForgetWrongNumbers(ranks);
  std::map<std::string, std::vector<RankSummary*>> processes;
  for (RankSummary& rank : *ranks) {
    if (!rank.unreadable.empty()) continue;
    if (rank.rank >= 0) return;
    processes[ProcessOf(rank)].push_back(&rank);
  }
  if (processes.size() < 2) return;
  std::vector<std::vector<RankSummary*>> order;
  for (const auto& [key, of_process] : processes) order.push_back(of_process);
  std::ranges::stable_sort(
      order, [](const auto& a, const auto& b) { return IsBeforeByNumbers(a.front()->source, b.front()->source); });
  std::vector<Name> names;
  for (const auto& of_process : order) names.push_back(Parsed(of_process.front()->source));
  const std::vector<int64_t> numbers = NumbersInNames(names);
  for (size_t i = 0; i < order.size(); ++i) {
    for (RankSummary* rank : order[i]) {
      rank->rank = numbers.empty() ? static_cast<int64_t>(i) : numbers[i];
      rank->rank_source = numbers.empty() ? kByOrderOfFiles : kByFileNames;
    }
  }
}

}  // namespace gprof

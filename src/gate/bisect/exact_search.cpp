#include "gate/bisect/exact_search.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace gprof {
namespace {

// A second run of the good version shows whether the figure is exact at all.
constexpr std::size_t kRunsOfGood = 2;

std::map<uint32_t, double> ValuesByVersion(const std::vector<SearchRun>& runs) {
  std::map<uint32_t, double> values;
  for (const SearchRun& run : runs) values.emplace(run.version, run.value);
  return values;
}

bool AreVarying(const std::vector<SearchRun>& runs) {
  const std::map<uint32_t, double> values = ValuesByVersion(runs);
  return std::any_of(runs.begin(), runs.end(),
                     [&](const SearchRun& run) { return values.at(run.version) != run.value; });
}

double RelativeChange(double before, double after) {
  return before == 0 ? after - before : (after - before) / std::fabs(before);
}

}  // namespace

std::optional<uint32_t> ExactBisection::Next(std::span<const double>) const {
  if (versions_.size() < 2 || AreVarying(runs_)) return std::nullopt;
  const std::map<uint32_t, double> values = ValuesByVersion(runs_);
  const uint32_t good = versions_.front(), bad = versions_.back();
  const auto runs_of_good = std::count_if(runs_.begin(), runs_.end(), [&](const auto& r) { return r.version == good; });
  if (static_cast<std::size_t>(runs_of_good) < kRunsOfGood) return good;
  if (!values.contains(bad)) return bad;
  for (auto left = values.begin(), right = std::next(left); right != values.end(); ++left, ++right) {
    if (left->second == right->second) continue;
    const auto from = std::upper_bound(versions_.begin(), versions_.end(), left->first);
    const auto to = std::lower_bound(versions_.begin(), versions_.end(), right->first);
    if (from < to) return *(from + (to - from) / 2);
  }
  return std::nullopt;
}

SearchResult ExactBisection::Result() const {
  SearchResult result;
  result.is_varying = AreVarying(runs_);
  const std::map<uint32_t, double> values = ValuesByVersion(runs_);
  result.is_known = !result.is_varying && versions_.size() > 1 && !Next();
  if (values.size() < 2 || result.is_varying) return result;
  double widest = 1;
  for (auto left = values.begin(), right = std::next(left); right != values.end(); ++left, ++right) {
    if (left->second == right->second) continue;
    const double effect = RelativeChange(left->second, right->second);
    result.changes.push_back({left->first, right->first, 1, effect, effect, effect});
    widest = std::max<double>(widest, right->first - left->first);
  }
  result.likely = result.changes;
  result.no_change_probability = result.changes.empty() ? 1 : 0;
  result.probability = result.is_known ? 1 : 0;
  result.runs_left = result.is_known ? 0 : static_cast<uint32_t>(std::ceil(std::log(widest) / std::log(2.0)));
  return result;
}

}  // namespace gprof

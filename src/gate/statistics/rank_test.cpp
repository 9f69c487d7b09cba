#include "gate/statistics/rank_test.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace gprof {
namespace {

// Up to here the numbers of arrangements, at most C(50, 25) and 2^50, are exact in a double.
constexpr std::size_t kMostExact = 50;
// The distribution under ties has to be counted anew for each pattern of ties, which takes long for two large sets.
constexpr std::size_t kMostExactWithTies = 10;

// Twice the midranks of `values`, whole numbers whatever the ties.
struct Ranks {
  std::vector<std::size_t> doubled;
  double ties = 0;  // sum of t³ - t over the groups of equal values
};

Ranks RankAll(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  Ranks ranks{std::vector<std::size_t>(values.size()), 0};
  for (std::size_t first = 0; first < order.size();) {
    std::size_t end = first + 1;
    while (end < order.size() && values[order[end]] == values[order[first]]) ++end;
    for (std::size_t i = first; i < end; ++i) ranks.doubled[order[i]] = first + end + 1;
    const double size = static_cast<double>(end - first);
    ranks.ties += size * size * size - size;
    first = end;
  }
  return ranks;
}

double NormalDeviation(double distance, double variance) {
  if (variance <= 0) return 0;
  return std::max(0.0, distance - 0.5) / std::sqrt(variance);  // half a step: what is counted is whole
}

// How many ways of drawing two sets give each U from 0 to m·n: the Gaussian binomial coefficient, factor by factor.
std::vector<double> RankSumCounts(std::size_t m, std::size_t n) {
  std::vector<double> counts(m * n + 1, 0.0);
  counts[0] = 1;
  double* const count = counts.data();
  for (std::size_t i = 1; i <= m; ++i) {
    const std::size_t top = i * n, factor = n + i;
    for (std::size_t u = top; u >= factor; --u) count[u] -= count[u - factor];
    for (std::size_t u = i; u <= top; ++u) count[u] += count[u - i];
  }
  return counts;
}

// The same weights from the normal distribution, for sets too large to count.
std::vector<double> NormalWeights(std::size_t last, double variance) {
  const double mean = static_cast<double>(last) / 2, deviation = std::sqrt(variance);
  std::vector<double> weights(last + 1);
  double before = 0;
  for (std::size_t u = 0; u <= last; ++u) {
    const double until = NormalTail(-(static_cast<double>(u) + 0.5 - mean) / deviation);
    weights[u] = until - before;
    before = until;
  }
  return weights;
}

// How many subsets of the ranks have each sum, of `size` elements.
std::vector<double> SumsOfSubsets(std::span<const std::size_t> ranks, std::size_t size) {
  const std::size_t most = std::accumulate(ranks.begin(), ranks.end(), std::size_t{0});
  std::vector<std::vector<double>> counts(size + 1, std::vector<double>(most + 1, 0.0));
  counts[0][0] = 1;
  std::size_t reached = 0;
  for (std::size_t taken = 0; taken < ranks.size(); ++taken) {
    const std::size_t rank = ranks[taken];
    reached = std::min(most, reached + rank);
    for (std::size_t k = std::min(size, taken + 1); k > 0; --k) {
      double* const to = counts[k].data();
      const double* const from = counts[k - 1].data();
      for (std::size_t sum = rank; sum <= reached; ++sum) to[sum] += from[sum - rank];
    }
  }
  return std::move(counts[size]);
}

// How many subsets of any size have each sum.
std::vector<double> SumsOfSubsets(std::span<const std::size_t> ranks) {
  std::vector<double> counts(std::accumulate(ranks.begin(), ranks.end(), std::size_t{0}) + 1, 0.0);
  counts[0] = 1;
  std::size_t reached = 0;
  for (const std::size_t rank : ranks) {
    reached += rank;
    for (std::size_t sum = reached; sum >= rank; --sum) counts[sum] += counts[sum - rank];
  }
  return counts;
}

// Share of the weights that lie at least as far from the middle as `seen`; twice the middle may be odd.
double TwoSided(std::span<const double> weights, std::size_t seen, std::size_t doubled_middle) {
  const auto distance = [&](std::size_t at) {
    return 2 * at > doubled_middle ? 2 * at - doubled_middle : doubled_middle - 2 * at;
  };
  double all = 0, far = 0;
  for (std::size_t at = 0; at < weights.size(); ++at) {
    all += weights[at];
    if (distance(at) >= distance(seen)) far += weights[at];
  }
  return far / all;
}

double RankSumP(const Ranks& ranks, std::size_t base_count, std::size_t now_count, std::size_t doubled_sum,
                bool* is_exact) {
  const std::size_t all = base_count + now_count;
  if (ranks.ties <= 0 && all <= kMostExact) {
    const std::size_t u = (doubled_sum - now_count * (now_count + 1)) / 2;
    return TwoSided(RankSumCounts(base_count, now_count), u, base_count * now_count);
  }
  const std::size_t smaller = std::min(base_count, now_count);
  if (smaller <= kMostExactWithTies && all <= kMostExact) {
    const std::size_t sum = smaller == now_count ? doubled_sum : all * (all + 1) - doubled_sum;
    return TwoSided(SumsOfSubsets(ranks.doubled, smaller), sum, 2 * smaller * (all + 1));
  }
  *is_exact = false;
  const double m = static_cast<double>(base_count), n = static_cast<double>(now_count), total = m + n;
  const double distance = std::fabs(static_cast<double>(doubled_sum) / 2 - n * (total + 1) / 2);
  const double variance = m * n / 12 * (total + 1 - ranks.ties / (total * (total - 1)));
  return std::min(1.0, 2 * NormalTail(NormalDeviation(distance, variance)));
}

double VarianceOfSignedRanks(std::size_t count) {
  const double n = static_cast<double>(count);
  return n * (n + 1) * (2 * n + 1) / 24;
}

}  // namespace

double NormalTail(double z) { return 0.5 * std::erfc(z / std::sqrt(2.0)); }

double NormalTailPoint(double p) {
  double low = -40, high = 40;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (NormalTail(middle) > p ? low : high) = middle;
  }
  return low;
}

double MedianOf(std::span<const double> values) {
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  const std::size_t half = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[half] : sorted[half - 1] + (sorted[half] - sorted[half - 1]) / 2;
}

double Roughness(std::span<const double> series) {
  const Ranks ranks = RankAll(series);
  const double middle = static_cast<double>(series.size() + 1);
  double steps = 0, spread = 0;
  for (std::size_t i = 0; i < series.size(); ++i) {
    const double rank = static_cast<double>(ranks.doubled[i]);
    if (i > 0) steps += std::pow(rank - static_cast<double>(ranks.doubled[i - 1]), 2);
    spread += std::pow(rank - middle, 2);
  }
  return spread > 0 ? steps / spread : 2;
}

RankTest RankSumTest(std::span<const double> base, std::span<const double> now) {
  if (base.empty() || now.empty()) return {};
  std::vector<double> values(base.begin(), base.end());
  values.insert(values.end(), now.begin(), now.end());
  const Ranks ranks = RankAll(values);
  std::size_t doubled_sum = 0;
  for (std::size_t i = base.size(); i < values.size(); ++i) doubled_sum += ranks.doubled[i];
  RankTest test;
  test.p_value = RankSumP(ranks, base.size(), now.size(), doubled_sum, &test.is_exact);
  const double doubled_u = static_cast<double>(doubled_sum) - static_cast<double>(now.size() * (now.size() + 1));
  test.effect = doubled_u / (2 * static_cast<double>(base.size() * now.size()));
  const auto [base_low, base_high] = std::minmax_element(base.begin(), base.end());
  const auto [now_low, now_high] = std::minmax_element(now.begin(), now.end());
  test.is_separated = *base_high < *now_low || *now_high < *base_low;
  return test;
}

RankTest SignedRankTest(std::span<const double> differences) {
  std::vector<double> sizes;
  for (const double difference : differences) sizes.push_back(std::fabs(difference));
  const Ranks ranks = RankAll(sizes);
  std::vector<std::size_t> counted;
  std::size_t positive_sum = 0, larger = 0;
  for (std::size_t i = 0; i < differences.size(); ++i) {
    if (differences[i] == 0) continue;
    counted.push_back(ranks.doubled[i]);
    if (differences[i] > 0) {
      positive_sum += ranks.doubled[i];
      ++larger;
    }
  }
  if (counted.empty()) return {};
  const std::size_t all = std::accumulate(counted.begin(), counted.end(), std::size_t{0});
  RankTest test;
  const double zeros = static_cast<double>(differences.size() - counted.size());
  test.effect = (static_cast<double>(larger) + zeros / 2) / static_cast<double>(differences.size());
  test.is_separated = zeros == 0 && (larger == 0 || larger == counted.size());
  test.is_exact = counted.size() <= kMostExact;
  if (test.is_exact) {
    test.p_value = TwoSided(SumsOfSubsets(counted), positive_sum, all);
  } else {
    double variance = 0;
    for (const std::size_t rank : counted) variance += static_cast<double>(rank * rank) / 16;
    const double distance = std::fabs(static_cast<double>(positive_sum) - static_cast<double>(all) / 2) / 2;
    test.p_value = std::min(1.0, 2 * NormalTail(NormalDeviation(distance, variance)));
  }
  return test;
}

Shift::Shift(std::vector<double> candidates, std::vector<double> null_weights)
    : candidates_(std::move(candidates)), below_(std::move(null_weights)) {
  std::sort(candidates_.begin(), candidates_.end());
  const double all = std::accumulate(below_.begin(), below_.end(), 0.0);
  double sum = 0;
  for (double& weight : below_) weight = (sum += weight) / all;
}

Shift Shift::OfSets(std::span<const double> base, std::span<const double> now) {
  std::vector<double> differences;
  differences.reserve(base.size() * now.size());
  for (const double before : base) {
    for (const double after : now) differences.push_back(after - before);
  }
  const double m = static_cast<double>(base.size()), n = static_cast<double>(now.size());
  return base.size() + now.size() <= kMostExact
             ? Shift(std::move(differences), RankSumCounts(base.size(), now.size()))
             : Shift(std::move(differences), NormalWeights(base.size() * now.size(), m * n * (m + n + 1) / 12));
}

Shift Shift::OfPairs(std::span<const double> differences) {
  std::vector<double> means;
  for (std::size_t i = 0; i < differences.size(); ++i) {
    for (std::size_t j = i; j < differences.size(); ++j) means.push_back((differences[i] + differences[j]) / 2);
  }
  const std::size_t last = means.size();
  if (differences.size() > kMostExact) {
    return Shift(std::move(means), NormalWeights(last, VarianceOfSignedRanks(differences.size())));
  }
  std::vector<std::size_t> ranks(differences.size());
  std::iota(ranks.begin(), ranks.end(), std::size_t{1});
  return Shift(std::move(means), SumsOfSubsets(ranks));
}

double Shift::Estimate() const {
  const std::size_t half = candidates_.size() / 2;
  return candidates_.size() % 2 == 1 ? candidates_[half] : (candidates_[half - 1] + candidates_[half]) / 2;
}

ShiftInterval Shift::IntervalAt(double risk) const {
  std::size_t cut = 0;
  while (2 * (cut + 1) < candidates_.size() && below_[cut + 1] <= risk) ++cut;
  return {candidates_[cut], candidates_[candidates_.size() - 1 - cut], below_[cut]};
}

}  // namespace gprof

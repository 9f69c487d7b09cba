#include "analysis/facts/statistics.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>
#include <type_traits>

#include "base/vectors.h"

namespace gprof {
namespace {

// ---- loops over all samples ----

template <class T>
struct Extent {
  T min = std::numeric_limits<T>::max(), max = std::numeric_limits<T>::min();
  uint64_t total = 0;  // which may wrap: damaged traces have times of centuries

  void Add(T sample) {
    total += static_cast<uint64_t>(sample);
    min = std::min(min, sample);
    max = std::max(max, sample);
  }
};

// Some of the samples, by what they are.
template <class T>
struct Bracket {
  T first, last;  // both are in it
  bool Has(T sample) const { return first <= sample && sample <= last; }
};

// How many are below a bracket and in it.
struct Split {
  size_t below = 0, within = 0;
};

// Whether one is in it is not to be foreseen, so that nothing here branches on it.
template <class T>
Split CountSome(std::span<const T> samples, const Bracket<T>& bracket) {
  Split split;
  for (const T sample : samples) {
    split.within += bracket.Has(sample);
    split.below += sample < bracket.first;
  }
  return split;
}

// Moves those of [first, size) that are in the bracket to `kept` on, which is no later. Returns where they end.
template <class T>
size_t KeepSome(std::span<T> samples, size_t first, const Bracket<T>& bracket, size_t kept) {
  for (size_t i = first; i < samples.size(); ++i) {
    const T sample = samples[i];
    samples[kept] = sample;
    kept += bracket.Has(sample);
  }
  return kept;
}

#ifdef GPROF_HAS_VECTORS

// The same for eight of 32 bits at a time, where the processor can. What is left of less than eight is not looked at.
constexpr size_t kLanes = 8;

GPROF_VECTORS inline __m256i LanesAt(const uint32_t* samples) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(samples));
}

GPROF_VECTORS void AddLanes(std::span<const uint32_t> samples, Extent<uint32_t>* extent) {
  __m256i min = _mm256_set1_epi32(-1), max = _mm256_setzero_si256(), even = max, odd = max;
  const __m256i low_half = _mm256_set1_epi64x(UINT32_MAX);
  const uint32_t *at = samples.data(), *const end = at + samples.size() / kLanes * kLanes;
  for (; at != end; at += kLanes) {
    const __m256i lanes = LanesAt(at);
    min = _mm256_min_epu32(min, lanes);
    max = _mm256_max_epu32(max, lanes);
    even = _mm256_add_epi64(even, _mm256_and_si256(lanes, low_half));
    odd = _mm256_add_epi64(odd, _mm256_srli_epi64(lanes, 32));
  }
  alignas(32) std::array<uint32_t, kLanes> mins, maxes;
  alignas(32) std::array<uint64_t, kLanes / 2> totals;
  _mm256_store_si256(reinterpret_cast<__m256i*>(mins.data()), min);
  _mm256_store_si256(reinterpret_cast<__m256i*>(maxes.data()), max);
  _mm256_store_si256(reinterpret_cast<__m256i*>(totals.data()), _mm256_add_epi64(even, odd));
  extent->min = std::min(extent->min, *std::min_element(mins.begin(), mins.end()));
  extent->max = std::max(extent->max, *std::max_element(maxes.begin(), maxes.end()));
  for (const uint64_t total : totals) extent->total += total;
}

// By which of eight are kept: the places of those, one a byte, the first one in the lowest.
constexpr std::array<uint64_t, 1 << kLanes> kPlacesOfKept = [] {
  std::array<uint64_t, 1 << kLanes> places{};
  for (size_t kept = 0; kept < places.size(); ++kept) {
    int shift = 0;
    for (uint64_t lane = 0; lane < kLanes; ++lane) {
      if ((kept >> lane & 1) == 0) continue;
      places[kept] |= lane << shift;
      shift += 8;
    }
  }
  return places;
}();

GPROF_VECTORS Split CountLanes(std::span<const uint32_t> samples, const Bracket<uint32_t>& bracket) {
  const __m256i first = _mm256_set1_epi32(static_cast<int>(bracket.first));
  const __m256i last = _mm256_set1_epi32(static_cast<int>(bracket.last));
  __m256i minus_reached = _mm256_setzero_si256(), minus_not_over = minus_reached;
  const uint32_t *at = samples.data(), *const end = at + samples.size() / kLanes * kLanes;
  for (; at != end; at += kLanes) {
    const __m256i lanes = LanesAt(at);
    minus_reached = _mm256_add_epi32(minus_reached, _mm256_cmpeq_epi32(_mm256_max_epu32(lanes, first), lanes));
    minus_not_over = _mm256_add_epi32(minus_not_over, _mm256_cmpeq_epi32(_mm256_min_epu32(lanes, last), lanes));
  }
  alignas(32) std::array<uint32_t, kLanes> reached, not_over;
  _mm256_store_si256(reinterpret_cast<__m256i*>(reached.data()), minus_reached);
  _mm256_store_si256(reinterpret_cast<__m256i*>(not_over.data()), minus_not_over);
  const size_t count = samples.size() / kLanes * kLanes;
  Split split{count, 0};
  for (const uint32_t minus_count : not_over) split.within += uint32_t{0} - minus_count;
  for (const uint32_t minus_count : reached) split.below -= uint32_t{0} - minus_count;
  split.within -= split.below;
  return split;
}

// What is written beyond those that are kept has been read before.
GPROF_VECTORS size_t KeepLanes(std::span<uint32_t> samples, const Bracket<uint32_t>& bracket) {
  const __m256i first = _mm256_set1_epi32(static_cast<int>(bracket.first));
  const __m256i last = _mm256_set1_epi32(static_cast<int>(bracket.last));
  uint32_t *at = samples.data(), *kept_end = at, *const end = at + samples.size() / kLanes * kLanes;
  for (; at != end; at += kLanes) {
    const __m256i lanes = LanesAt(at);
    const __m256i reached = _mm256_cmpeq_epi32(_mm256_max_epu32(lanes, first), lanes);
    const __m256i not_over = _mm256_cmpeq_epi32(_mm256_min_epu32(lanes, last), lanes);
    const auto within =
        static_cast<uint32_t>(_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_and_si256(reached, not_over))));
    const __m256i places =
        _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(&kPlacesOfKept[within])));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(kept_end), _mm256_permutevar8x32_epi32(lanes, places));
    kept_end += static_cast<size_t>(__builtin_popcount(within));
  }
  return static_cast<size_t>(kept_end - samples.data());
}

// Sums of numbers depend on the order of their terms, so it is that of the samples.
GPROF_VECTORS double SquaresOfLanes(std::span<const uint32_t> samples, double mean) {
  // A number of 52 bits behind the exponent of 2^52 is 2^52 and that number.
  const __m256d shift = _mm256_set1_pd(0x1p52), means = _mm256_set1_pd(mean);
  double squares = 0;
  const uint32_t *at = samples.data(), *const end = at + samples.size() / kLanes * kLanes;
  for (; at != end; at += kLanes / 2) {
    const __m256i lanes = _mm256_cvtepu32_epi64(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at)));
    const __m256d shifted = _mm256_or_pd(_mm256_castsi256_pd(lanes), shift);
    const __m256d off = _mm256_sub_pd(_mm256_sub_pd(shifted, shift), means), square = _mm256_mul_pd(off, off);
    const __m128d low = _mm256_castpd256_pd128(square), high = _mm256_extractf128_pd(square, 1);
    squares += _mm_cvtsd_f64(low);
    squares += _mm_cvtsd_f64(_mm_unpackhi_pd(low, low));
    squares += _mm_cvtsd_f64(high);
    squares += _mm_cvtsd_f64(_mm_unpackhi_pd(high, high));
  }
  return squares;
}

#endif

template <class T>
Extent<T> ExtentOf(std::span<const T> samples) {
  Extent<T> extent;
#ifdef GPROF_HAS_VECTORS
  if constexpr (sizeof(T) == sizeof(uint32_t)) {
    if (CanUseVectors()) AddLanes(samples, &extent), samples = samples.last(samples.size() % kLanes);
  }
#endif
  for (const T sample : samples) extent.Add(sample);
  return extent;
}

template <class T>
Split CountOf(std::span<const T> samples, const Bracket<T>& bracket) {
#ifdef GPROF_HAS_VECTORS
  if constexpr (sizeof(T) == sizeof(uint32_t)) {
    if (CanUseVectors()) {
      const Split split = CountLanes(samples, bracket);
      const Split rest = CountSome(samples.last(samples.size() % kLanes), bracket);
      return {split.below + rest.below, split.within + rest.within};
    }
  }
#endif
  return CountSome(samples, bracket);
}

// Moves those in the bracket to the front; the others are lost.
template <class T>
std::span<T> Keep(std::span<T> samples, const Bracket<T>& bracket) {
  size_t first = 0, kept = 0;
#ifdef GPROF_HAS_VECTORS
  if constexpr (sizeof(T) == sizeof(uint32_t)) {
    if (CanUseVectors()) kept = KeepLanes(samples, bracket), first = samples.size() / kLanes * kLanes;
  }
#endif
  return samples.first(KeepSome(samples, first, bracket, kept));
}

template <class T>
double SquaresOf(std::span<const T> samples, double mean) {
  double squares = 0;
#ifdef GPROF_HAS_VECTORS
  if constexpr (sizeof(T) == sizeof(uint32_t)) {
    if (CanUseVectors()) squares = SquaresOfLanes(samples, mean), samples = samples.last(samples.size() % kLanes);
  }
#endif
  for (const T sample : samples) squares += (static_cast<double>(sample) - mean) * (static_cast<double>(sample) - mean);
  return squares;
}

// ---- the median ----

// The two in the middle, which are one and the same of an odd number: their places if the samples were in order.
struct Middle {
  size_t lower, upper;
  static Middle Of(size_t count) { return {(count - 1) / 2, count / 2}; }
  bool IsWithin(const Split& split) const { return split.below <= lower && upper < split.below + split.within; }
};

template <class T>
double MeanOf(T lower, T upper) {
  const int64_t between = static_cast<int64_t>(upper) - static_cast<int64_t>(lower);
  return static_cast<double>(lower) + static_cast<double>(between) / 2;
}

template <class T>
double SelectMiddle(std::span<T> samples, const Middle& middle) {
  const auto upper = samples.begin() + static_cast<std::ptrdiff_t>(middle.upper);
  std::nth_element(samples.begin(), upper, samples.end());
  if (middle.lower == middle.upper) return static_cast<double>(*upper);
  return MeanOf(*std::max_element(samples.begin(), upper), *upper);
}

// Where few of the samples are, most likely with the middle among them: between two of some that are taken from all
// over the place, two standard deviations of the place of the middle among these on either side.
template <class T>
Bracket<T> GuessBracket(std::span<const T> samples, const Middle& middle) {
  constexpr size_t kMostLookedAt = 1024, kOfWhich = 8;
  std::array<T, kMostLookedAt> some;
  const size_t count = std::min(samples.size() / kOfWhich, kMostLookedAt);
  uint32_t place = 0;
  for (size_t i = 0; i < count; ++i) {
    place += 0x9E3779B9u;  // the golden ratio: places are spread evenly and in step with nothing
    some[i] = samples[samples.size() * place >> 32];
  }
  const auto room = static_cast<size_t>(std::sqrt(static_cast<double>(count))) + 1;
  const size_t at = count * middle.lower / samples.size();
  const auto begin = some.begin(), end = begin + static_cast<std::ptrdiff_t>(count);
  const auto first = begin + static_cast<std::ptrdiff_t>(at - std::min(at, room));
  const auto last = begin + static_cast<std::ptrdiff_t>(std::min(at + room, count - 1));
  std::nth_element(begin, first, end);
  std::nth_element(first, last, end);
  const Bracket<T> bracket{*first, *last};
  const auto within = std::count_if(begin, end, [&](T sample) { return bracket.Has(sample); });
  if (2 * static_cast<size_t>(within) <= count) return bracket;
  // Few are different, so that most are in any bracket of several: the most likely one alone.
  const auto likely = begin + static_cast<std::ptrdiff_t>(at);
  std::nth_element(first, likely, last);
  return {*likely, *likely};
}

// All but a few are told to be below or above by loops without branches, and so on among those few. Uses up the
// samples, so that no room is needed besides.
template <class T>
double FindMiddle(std::span<T> samples, const Middle& middle, size_t failures = 0) {
  constexpr size_t kWorthABracket = 256, kMostFailures = 3;
  const bool is_worth_it = samples.size() >= kWorthABracket && samples.size() <= UINT32_MAX;
  if (!is_worth_it || failures > kMostFailures) return SelectMiddle(samples, middle);
  Bracket<T> bracket = GuessBracket<T>(samples, middle);
  Split split = CountOf<T>(samples, bracket);
  while (!middle.IsWithin(split)) {
    const size_t above = split.below + split.within;
    if (split.below > middle.lower) {
      if (split.below > middle.upper) bracket.last = static_cast<T>(bracket.first - 1);
      bracket.first = std::numeric_limits<T>::min();
    } else {
      if (above <= middle.lower) bracket.first = static_cast<T>(bracket.last + 1);
      bracket.last = std::numeric_limits<T>::max();
    }
    split = CountOf<T>(samples, bracket);
  }
  if (bracket.first == bracket.last) return static_cast<double>(bracket.first);
  const std::span<T> kept = Keep(samples, bracket);
  const Middle among{middle.lower - split.below, middle.upper - split.below};
  // Those that are alike may be too many for a bracket to tell apart: then nearly all are left. As a rule the next one
  // does, where the middle is at another place among them.
  return FindMiddle(kept, among, failures + (8 * kept.size() >= 7 * samples.size()));
}

template <class T>
double MedianOf(std::span<T> samples) {
  return samples.empty() ? 0 : FindMiddle(samples, Middle::Of(samples.size()));
}

template <class T>
Statistics AllButTheMedian(std::span<const T> samples, Spread spread) {
  if (samples.empty()) return {};
  const Extent<T> extent = ExtentOf<T>(samples);
  Statistics result{static_cast<int64_t>(samples.size()), static_cast<int64_t>(extent.total), extent.min, extent.max};
  result.mean = static_cast<double>(result.total) / static_cast<double>(result.count);
  if (spread == Spread::kAsked && result.count > 1) {
    result.stddev = std::sqrt(SquaresOf<T>(samples, result.mean) / static_cast<double>(result.count - 1));
  }
  return result;
}

template <class T>
Statistics StatisticsOf(std::span<T> samples, Spread spread) {
  Statistics result = AllButTheMedian<T>(samples, spread);
  result.median = MedianOf(samples);
  return result;
}

}  // namespace

Statistics Summarize(std::span<int64_t> samples) {
  Statistics result = AllButTheMedian<int64_t>(samples, Spread::kAsked);
  result.median = Median(samples);
  return result;
}

double Median(std::span<int64_t> samples) {
  return samples.empty() ? 0 : SelectMiddle(samples, Middle::Of(samples.size()));
}

void Samples::SetLong(size_t at, int64_t sample) {
  if (long_.empty()) {
    long_.assign(short_.begin(), short_.end());
    short_ = {};
    short_below_ = 0;
  }
  long_[at] = sample;
}

Statistics Samples::Some::Summary(Spread spread) const {
  return all_->long_.empty() ? StatisticsOf(std::span(all_->short_).subspan(first_, count_), spread)
                             : StatisticsOf(std::span(all_->long_).subspan(first_, count_), spread);
}

double Samples::Some::Median() const {
  return all_->long_.empty() ? MedianOf(std::span(all_->short_).subspan(first_, count_))
                             : MedianOf(std::span(all_->long_).subspan(first_, count_));
}

void Groups::Seal() {
  for (size_t i = 1; i < ends_.size(); ++i) ends_[i] += ends_[i - 1];
  samples_ = Samples(ends_.back());
}

Samples::Some Groups::Of(size_t group) {
  const size_t first = group == 0 ? 0 : ends_[group - 1];
  return {&samples_, first, ends_[group] - first};
}

std::vector<Column> TimeColumns() {
  return {{"percent", "Time", Unit::kPercent, false}, {"total_ns", "Total", Unit::kNs, false},
          {"count", "Count", Unit::kCount, false},    {"mean_ns", "Mean", Unit::kNs, false},
          {"median_ns", "Median", Unit::kNs, false},  {"min_ns", "Min", Unit::kNs, true},
          {"max_ns", "Max", Unit::kNs, false},        {"stddev_ns", "StdDev", Unit::kNs, true}};
}

std::vector<Cell> TimeCells(const Statistics& statistics, int64_t total_of_all) {
  return {PercentOf(statistics.total, total_of_all),
          statistics.total,
          statistics.count,
          statistics.mean,
          statistics.median,
          statistics.min,
          statistics.max,
          statistics.stddev};
}

double PercentOf(int64_t part, int64_t whole) {
  return whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace gprof

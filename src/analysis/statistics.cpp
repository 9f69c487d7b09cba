#include "analysis/statistics.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <type_traits>

namespace gprof {
namespace {

template <class T>
double SelectMedian(std::span<T> samples) {
  const size_t middle = samples.size() / 2;
  const auto at = samples.begin() + static_cast<std::ptrdiff_t>(middle);
  std::nth_element(samples.begin(), at, samples.end());
  if (samples.size() % 2 == 1) return static_cast<double>(*at);
  const int64_t above = *at, below = *std::max_element(samples.begin(), at);
  return static_cast<double>(below) + static_cast<double>(above - below) / 2;
}

// Buckets of about 3 %: those of numbers whose exponents and first five bits after the point are the same. A sample has
// to be a number to be summed up in any case, and zero has a bucket of its own.
constexpr int kBucketBits = 5, kMantissaBits = 52;
constexpr int64_t kMostExact = int64_t{1} << (kMantissaBits + 1);
constexpr uint64_t kFirstExponent = std::bit_cast<uint64_t>(1.0) >> kMantissaBits;
constexpr size_t kBuckets = ((kMantissaBits + 2) << kBucketBits) + 1;
size_t BucketOf(int64_t sample, double number) {
  const uint64_t bits = std::bit_cast<uint64_t>(number) >> (kMantissaBits - kBucketBits);
  return sample == 0 ? 0 : bits - (kFirstExponent << kBucketBits) + 1;
}

// The samples of one bucket: [first, first + width).
struct Bucket {
  int64_t first;
  uint64_t width;
};
Bucket BoundsOf(size_t bucket) {
  if (bucket == 0) return {0, 1};
  const uint64_t bits = (bucket - 1 + (kFirstExponent << kBucketBits)) << (kMantissaBits - kBucketBits);
  const int exponent = static_cast<int>((bucket - 1) >> kBucketBits);
  const auto first = static_cast<int64_t>(std::bit_cast<double>(bits));
  return {first, uint64_t{1} << std::max(exponent - kBucketBits, 0)};
}

// Counts samples by bucket. Two tables, as most neighbours fall on one bucket and would wait for each other.
class BucketCounts {
 public:
  // `number`: the sample as one.
  template <size_t kTable>
  void Add(int64_t sample, double number) {
    ++counts_[kTable][BucketOf(sample, number)];
  }
  size_t Of(size_t bucket) const { return size_t{counts_[0][bucket]} + counts_[1][bucket]; }

 private:
  std::array<std::array<uint32_t, kBuckets>, 2> counts_{};
};

// Calls seen(number) for all of them, in order.
template <class T, class F>
BucketCounts CountInBuckets(std::span<const T> samples, F&& seen) {
  BucketCounts counts;
  const auto add = [&]<size_t kTable>(std::integral_constant<size_t, kTable>, T sample) {
    const auto number = static_cast<double>(sample);
    seen(number);
    counts.Add<kTable>(sample, number);
  };
  size_t i = 0;
  for (; i + 1 < samples.size(); i += 2) {
    add(std::integral_constant<size_t, 0>(), samples[i]);
    add(std::integral_constant<size_t, 1>(), samples[i + 1]);
  }
  if (i < samples.size()) add(std::integral_constant<size_t, 0>(), samples[i]);
  return counts;
}

template <class T>
int64_t LargestBelow(std::span<const T> samples, int64_t limit) {
  int64_t largest = 0;
  for (const int64_t sample : samples) largest = std::max(largest, sample < limit ? sample : 0);
  return largest;
}

// Looks closely at the samples of the bucket in the middle alone. Whether one is in it is not to be foreseen, so that
// nothing here branches on it.
template <class T>
double MedianWithin(std::span<const T> samples, const BucketCounts& counts) {
  size_t below = 0, number = 0;
  for (; below + counts.Of(number) <= samples.size() / 2; ++number) below += counts.Of(number);
  const Bucket bucket = BoundsOf(number);
  std::vector<int64_t> middle(counts.Of(number) + 1);  // one place more for what is written and not kept
  size_t kept = 0;
  for (const int64_t sample : samples) {
    middle[kept] = sample;
    kept += static_cast<uint64_t>(sample - bucket.first) < bucket.width;
  }
  const auto at = middle.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2 - below);
  const auto end = middle.begin() + static_cast<std::ptrdiff_t>(kept);
  if (bucket.width > 1) std::nth_element(middle.begin(), at, end);
  if (samples.size() % 2 == 1) return static_cast<double>(*at);
  const int64_t before =
      at == middle.begin() ? LargestBelow(samples, bucket.first) : *std::max_element(middle.begin(), at);
  return static_cast<double>(before) + static_cast<double>(*at - before) / 2;
}

// Counting them in buckets pays, and can be done.
bool AreManyFrom(size_t count, int64_t min, int64_t max) {
  constexpr size_t kWorthBuckets = 2000;
  return count >= kWorthBuckets && count < UINT32_MAX && min >= 0 && max <= kMostExact;
}

template <class T>
Statistics StatisticsOf(std::span<T> samples) {
  if (samples.empty()) return {};
  T min = samples[0], max = samples[0];
  uint64_t total = 0;  // which may wrap: damaged traces have times of centuries
  for (const T sample : samples) {
    total += static_cast<uint64_t>(sample);
    min = std::min(min, sample);
    max = std::max(max, sample);
  }
  Statistics result{static_cast<int64_t>(samples.size()), static_cast<int64_t>(total), min, max};
  const double mean = static_cast<double>(result.total) / static_cast<double>(result.count);
  double squares = 0;
  const auto add_square = [&](double sample) { squares += (sample - mean) * (sample - mean); };
  if (AreManyFrom(samples.size(), min, max)) {
    result.median = MedianWithin<T>(samples, CountInBuckets<T>(samples, add_square));
  } else {
    for (const int64_t sample : samples) add_square(static_cast<double>(sample));
    result.median = SelectMedian(samples);
  }
  result.mean = mean;
  if (result.count > 1) result.stddev = std::sqrt(squares / static_cast<double>(result.count - 1));
  return result;
}

template <class T>
double MedianOf(std::span<T> samples) {
  if (samples.empty()) return 0;
  const auto [min, max] = std::minmax_element(samples.begin(), samples.end());
  if (!AreManyFrom(samples.size(), *min, *max)) return SelectMedian(samples);
  return MedianWithin<T>(samples, CountInBuckets<T>(samples, [](double) {}));
}

}  // namespace

Statistics Summarize(std::span<int64_t> samples) { return StatisticsOf(samples); }
double Median(std::span<int64_t> samples) { return MedianOf(samples); }

void Samples::SetLong(size_t at, int64_t sample) {
  if (long_.empty()) {
    long_.assign(short_.begin(), short_.end());
    short_ = {};
    short_below_ = 0;
  }
  long_[at] = sample;
}

Statistics Samples::Some::Summary() const {
  return all_->long_.empty() ? StatisticsOf(std::span(all_->short_).subspan(first_, count_))
                             : StatisticsOf(std::span(all_->long_).subspan(first_, count_));
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
  return {PercentOf(statistics.total, total_of_all), statistics.total, statistics.count, statistics.mean,
          statistics.median, statistics.min, statistics.max, statistics.stddev};
}

double PercentOf(int64_t part, int64_t whole) {
  return whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace gprof

#include "analysis/statistics.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

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

// Buckets of about 3 %: five bits after the first one tell values apart.
constexpr int kBucketBits = 5;
constexpr size_t kBuckets = size_t{64 - kBucketBits} << kBucketBits;
size_t BucketOf(int64_t sample) {
  const auto bits = static_cast<uint64_t>(sample);
  const int shift = std::max(0, static_cast<int>(std::bit_width(bits)) - kBucketBits - 1);
  return (static_cast<size_t>(shift) << kBucketBits) + (bits >> shift);
}

// The samples of one bucket: [first, first + width).
struct Bucket {
  int64_t first;
  uint64_t width;
};
Bucket BoundsOf(size_t bucket) {
  if (bucket < size_t{2} << kBucketBits) return {static_cast<int64_t>(bucket), 1};
  const size_t shift = (bucket >> kBucketBits) - 1;
  return {static_cast<int64_t>((bucket - (shift << kBucketBits)) << shift), uint64_t{1} << shift};
}

// Counts samples by bucket. Two tables, as most neighbours fall on one bucket and would wait for each other.
class BucketCounts {
 public:
  void Add(int64_t sample, size_t number) { ++counts_[number % 2][BucketOf(sample)]; }
  size_t Of(size_t bucket) const { return size_t{counts_[0][bucket]} + counts_[1][bucket]; }

 private:
  std::array<std::array<uint32_t, kBuckets>, 2> counts_{};
};

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
bool AreManyFrom(size_t count, int64_t min) {
  constexpr size_t kWorthBuckets = 2000;
  return count >= kWorthBuckets && count < UINT32_MAX && min >= 0;
}

template <class T>
Statistics StatisticsOf(std::span<T> samples) {
  Statistics result;
  if (samples.empty()) return result;
  result.count = static_cast<int64_t>(samples.size());
  result.min = result.max = samples[0];
  uint64_t total = 0;  // which may wrap: damaged traces have times of centuries
  for (const int64_t sample : samples) {
    total += static_cast<uint64_t>(sample);
    result.min = std::min(result.min, sample);
    result.max = std::max(result.max, sample);
  }
  result.total = static_cast<int64_t>(total);
  result.mean = static_cast<double>(result.total) / static_cast<double>(result.count);
  const bool is_many = AreManyFrom(samples.size(), result.min);
  double squares = 0;
  if (is_many) {
    BucketCounts counts;
    for (size_t i = 0; i < samples.size(); ++i) {
      const double distance = static_cast<double>(samples[i]) - result.mean;
      squares += distance * distance;
      counts.Add(samples[i], i);
    }
    result.median = MedianWithin<T>(samples, counts);
  } else {
    for (const int64_t sample : samples) {
      const double distance = static_cast<double>(sample) - result.mean;
      squares += distance * distance;
    }
    result.median = SelectMedian(samples);
  }
  if (result.count > 1) result.stddev = std::sqrt(squares / static_cast<double>(result.count - 1));
  return result;
}

template <class T>
double MedianOf(std::span<T> samples) {
  if (samples.empty()) return 0;
  if (!AreManyFrom(samples.size(), *std::min_element(samples.begin(), samples.end()))) return SelectMedian(samples);
  BucketCounts counts;
  for (size_t i = 0; i < samples.size(); ++i) counts.Add(samples[i], i);
  return MedianWithin<T>(samples, counts);
}

}  // namespace

Statistics Summarize(std::span<int64_t> samples) { return StatisticsOf(samples); }
double Median(std::span<int64_t> samples) { return MedianOf(samples); }

void Samples::SetLong(size_t at, int64_t sample) {
  if (long_.empty()) {
    long_.assign(short_.begin(), short_.end());
    short_ = {};
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

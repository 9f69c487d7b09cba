#include "analysis/statistics.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace gprof {
namespace {

double SelectMedian(std::span<int64_t> samples) {
  const size_t middle = samples.size() / 2;
  const auto at = samples.begin() + static_cast<std::ptrdiff_t>(middle);
  std::nth_element(samples.begin(), at, samples.end());
  if (samples.size() % 2 == 1) return static_cast<double>(*at);
  const int64_t below = *std::max_element(samples.begin(), at);
  return static_cast<double>(below) + static_cast<double>(*at - below) / 2;
}

// Buckets of about 3 %: five bits after the first one tell values apart.
constexpr int kBucketBits = 5;
constexpr size_t kBuckets = size_t{64 - kBucketBits} << kBucketBits;
size_t BucketOf(int64_t sample) {
  const auto bits = static_cast<uint64_t>(sample);
  const int shift = std::max(0, static_cast<int>(std::bit_width(bits)) - kBucketBits - 1);
  return (static_cast<size_t>(shift) << kBucketBits) + (bits >> shift);
}

// The same for many samples, none below 0: counts them by bucket, and looks closely at the bucket in the middle alone.
double BucketMedian(std::span<const int64_t> samples) {
  std::array<uint32_t, kBuckets> counts{};
  for (const int64_t sample : samples) ++counts[BucketOf(sample)];
  size_t below = 0, bucket = 0;
  for (; below + counts[bucket] <= samples.size() / 2; ++bucket) below += counts[bucket];
  std::vector<int64_t> middle;
  middle.reserve(counts[bucket] + 1);
  int64_t largest_below = 0;
  for (const int64_t sample : samples) {
    const size_t of_sample = BucketOf(sample);
    if (of_sample == bucket) middle.push_back(sample);
    if (of_sample < bucket) largest_below = std::max(largest_below, sample);
  }
  const auto at = middle.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2 - below);
  std::nth_element(middle.begin(), at, middle.end());
  if (samples.size() % 2 == 1) return static_cast<double>(*at);
  if (at != middle.begin()) largest_below = *std::max_element(middle.begin(), at);
  return static_cast<double>(largest_below) + static_cast<double>(*at - largest_below) / 2;
}

}  // namespace

Statistics Summarize(std::span<int64_t> samples) {
  Statistics result;
  if (samples.empty()) return result;
  result.count = static_cast<int64_t>(samples.size());
  result.min = result.max = samples[0];
  for (int64_t sample : samples) {
    result.total += sample;
    result.min = std::min(result.min, sample);
    result.max = std::max(result.max, sample);
  }
  result.mean = static_cast<double>(result.total) / static_cast<double>(result.count);
  double squares = 0;
  for (int64_t sample : samples) {
    const double distance = static_cast<double>(sample) - result.mean;
    squares += distance * distance;
  }
  if (result.count > 1) result.stddev = std::sqrt(squares / static_cast<double>(result.count - 1));
  constexpr size_t kWorthBuckets = 2000;
  const bool is_many = samples.size() >= kWorthBuckets && samples.size() < UINT32_MAX && result.min >= 0;
  result.median = is_many ? BucketMedian(samples) : SelectMedian(samples);
  return result;
}

void Groups::Seal() {
  for (size_t i = 1; i < ends_.size(); ++i) ends_[i] += ends_[i - 1];
  samples_.resize(ends_.back());
}

std::span<int64_t> Groups::Of(size_t group) {
  const size_t first = group == 0 ? 0 : ends_[group - 1];
  return std::span<int64_t>(samples_).subspan(first, ends_[group] - first);
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

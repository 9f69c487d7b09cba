// Durations and sizes in buckets of one relative width, so that histograms of many ranks add up.
#pragma once

#include <bit>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

namespace gprof {

// Up to 64 ns each duration has its bucket. Beyond, there are 64 in each doubling: the middle of a bucket is at most
// 1/128, 0.8 %, away from what is in it.
inline constexpr int64_t kBucketsOfADoubling = 64;
inline constexpr double kBucketErrorPercent = 0.8;

inline int64_t BucketOf(int64_t ns) {
  if (ns < kBucketsOfADoubling) return ns < 0 ? 0 : ns;
  const auto shift = static_cast<int>(std::bit_width(static_cast<uint64_t>(ns))) - 7;
  return (shift + 1) * kBucketsOfADoubling + ((ns >> shift) - kBucketsOfADoubling);
}

inline int64_t MiddleOf(int64_t bucket) {
  if (bucket < kBucketsOfADoubling) return bucket;
  const int64_t shift = bucket / kBucketsOfADoubling - 1;
  const int64_t start_ns = (kBucketsOfADoubling + bucket % kBucketsOfADoubling) << shift;
  return start_ns + ((int64_t{1} << shift) - 1) / 2;
}

inline constexpr int64_t kBuckets = 58 * kBucketsOfADoubling;  // of durations below 2^62 ns

using Histogram = std::map<int64_t, int64_t>;  // how many are in a bucket

// In a few bytes a bucket: "320 1:4 7", the distance to the bucket before, and how many are in it unless one is.
std::string HistogramText(std::span<const int64_t> samples);
std::string HistogramText(std::span<const uint32_t> samples);
// False, and nothing is added, where the text is none.
bool AddHistogram(std::string_view text, Histogram* sum);
// Nothing where there is none; of an even number it is between two, which may be far apart.
int64_t MedianOf(const Histogram& histogram);

}  // namespace gprof

#include "analysis/result/histogram.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>
#include <vector>

#include "base/saturate.h"

namespace gprof {
namespace {

template <class T>
std::string TextOf(std::span<const T> samples) {
  std::vector<uint32_t> counts(static_cast<size_t>(kBuckets));
  for (const T sample : samples) ++counts[static_cast<size_t>(std::min(BucketOf(sample), kBuckets - 1))];
  std::string text;
  size_t last = 0;
  for (size_t bucket = 0; bucket < counts.size(); ++bucket) {
    if (counts[bucket] == 0) continue;
    text += (text.empty() ? "" : " ") + std::to_string(bucket - last);
    if (counts[bucket] > 1) text += ":" + std::to_string(counts[bucket]);
    last = bucket;
  }
  return text;
}

bool ReadNumber(std::string_view* text, int64_t* number) {
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), *number);
  if (error != std::errc() || *number < 0) return false;
  text->remove_prefix(static_cast<size_t>(end - text->data()));
  return true;
}

}  // namespace

std::string HistogramText(std::span<const int64_t> samples) { return TextOf(samples); }
std::string HistogramText(std::span<const uint32_t> samples) { return TextOf(samples); }

bool AddHistogram(std::string_view text, Histogram* sum) {
  std::vector<std::pair<int64_t, int64_t>> read;
  for (int64_t bucket = 0; !text.empty();) {
    int64_t distance = 0, count = 1;
    if (!ReadNumber(&text, &distance) || distance >= kBuckets || (bucket += distance) >= kBuckets) return false;
    if (text.starts_with(":")) {
      text.remove_prefix(1);
      if (!ReadNumber(&text, &count)) return false;
    }
    read.emplace_back(bucket, count);
    if (text.empty()) break;
    if (!text.starts_with(" ") || text.size() == 1) return false;
    text.remove_prefix(1);
  }
  for (const auto& [bucket, count] : read) {
    SaturatingSum all;
    all += (*sum)[bucket], all += count;
    (*sum)[bucket] = all;
  }
  return true;
}

int64_t MedianOf(const Histogram& histogram) {
  SaturatingSum all, seen;
  for (const auto& [bucket, count] : histogram) all += count;
  const int64_t half = int64_t{all} / 2;
  std::optional<int64_t> lower;
  for (const auto& [bucket, count] : histogram) {
    seen += count;
    if (!lower && seen >= int64_t{all} - half) lower = MiddleOf(bucket);
    if (seen > half) return (*lower + MiddleOf(bucket)) / 2;
  }
  return 0;
}

}  // namespace gprof

#include "analysis/result/statistics.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <vector>

#include "analysis/result/histogram.h"

namespace gprof {
namespace {

// The samples that are about as long as the one of that rank and the one before it, and how many are shorter. They are
// counted by length: that has no branches, of which nth_element() foresees every second one.
template <class T>
std::vector<T> SamplesAround(std::span<const T> samples, size_t rank, size_t* shorter) {
  constexpr int kBits = 11;
  const auto [min, max] = std::ranges::minmax_element(samples);
  const uint64_t least = static_cast<uint64_t>(*min), range = static_cast<uint64_t>(*max) - least;
  const int shift = std::max(static_cast<int>(std::bit_width(range)) - kBits, 0);
  const auto length_of = [&](T sample) { return (static_cast<uint64_t>(sample) - least) >> shift; };
  std::array<size_t, size_t{1} << kBits> counts{};
  for (const T sample : samples) ++counts[length_of(sample)];
  size_t first = 0, before = 0;
  while (before + counts[first] < rank) before += counts[first++];
  size_t last = first, count = counts[first];
  while (before + count <= rank) count += counts[++last];
  *shorter = before;
  std::vector<T> around(count + 1);  // the last one is written to by those that are not of them
  size_t next = 0;
  for (const T sample : samples) {
    around[next] = sample;
    next += length_of(sample) - first <= last - first;
  }
  around.pop_back();
  return around;
}

template <class T>
double MedianOf(std::span<T> samples) {
  if (samples.empty()) return 0;
  constexpr size_t kFew = 4096;
  std::vector<T> around;
  size_t rank = samples.size() / 2, shorter = 0;
  const bool is_odd = samples.size() % 2 != 0;
  if (samples.size() > kFew) {
    around = SamplesAround(std::span<const T>(samples), rank, &shorter);
    samples = around, rank -= shorter;
  }
  const auto upper = samples.begin() + static_cast<std::ptrdiff_t>(rank);
  std::nth_element(samples.begin(), upper, samples.end());
  if (is_odd) return static_cast<double>(*upper);
  const T lower = *std::max_element(samples.begin(), upper);
  return static_cast<double>(lower) +
         static_cast<double>(static_cast<int64_t>(*upper) - static_cast<int64_t>(lower)) / 2;
}

// The total may wrap: damaged traces have times of centuries.
template <class T>
Statistics StatisticsOf(std::span<T> samples, Spread spread) {
  if (samples.empty()) return {};
  T least = samples.front(), most = least;
  uint64_t total = 0;
  for (const T sample : samples) {
    total += static_cast<uint64_t>(sample);
    least = std::min(least, sample);
    most = std::max(most, sample);
  }
  Statistics result;
  result.count = static_cast<int64_t>(samples.size());
  result.total = static_cast<int64_t>(total);
  result.min = least;
  result.max = most;
  result.mean = static_cast<double>(result.total) / static_cast<double>(result.count);
  if (spread != Spread::kNotAsked && result.count > 1) {
    double squares = 0;
    for (const T sample : samples) {
      const double off = static_cast<double>(sample) - result.mean;
      squares += off * off;
    }
    result.stddev = std::sqrt(squares / static_cast<double>(result.count - 1));
  }
  result.median = MedianOf(samples);
  if (spread == Spread::kHistogram) result.histogram = HistogramText(std::span<const T>(samples));
  return result;
}

}  // namespace

Spread SpreadFor(const AnalysisOptions& options) {
  return options.has_histograms ? Spread::kHistogram : Spread::kAsked;
}

Statistics Summarize(std::span<int64_t> samples, Spread spread) { return StatisticsOf(samples, spread); }

double Median(std::span<int64_t> samples) { return MedianOf(samples); }

void Samples::SetLong(size_t at, int64_t sample) {
  if (long_.empty()) {
    long_.assign(short_.begin(), short_.end());
    short_ = {};
    short_below_ = 0;
  }
  long_[at] = sample;
}

Statistics Samples::Slice::Summary(Spread spread) const {
  return all_->long_.empty() ? StatisticsOf(std::span(all_->short_).subspan(first_, count_), spread)
                             : StatisticsOf(std::span(all_->long_).subspan(first_, count_), spread);
}

double Samples::Slice::Median() const {
  return all_->long_.empty() ? MedianOf(std::span(all_->short_).subspan(first_, count_))
                             : MedianOf(std::span(all_->long_).subspan(first_, count_));
}

void Groups::Seal() {
  for (size_t i = 1; i < ends_.size(); ++i) ends_[i] += ends_[i - 1];
  samples_ = Samples(ends_.back());
}

Samples::Slice Groups::Of(size_t group) {
  const size_t first = group == 0 ? 0 : ends_[group - 1];
  return {&samples_, first, ends_[group] - first};
}

std::vector<Column> TimeColumns() {
  return {{"percent", "Time (%)", Unit::kPercent, false},
          {"total_ns", "Total", Unit::kNs, false},
          {"count", "Count", Unit::kCount, false},
          {"mean_ns", "Mean", Unit::kNs, false, ColumnRole::kMean},
          {"median_ns", "Median", Unit::kNs, false, ColumnRole::kMedian},
          {"min_ns", "Min", Unit::kNs, true, ColumnRole::kLeast},
          {"max_ns", "Max", Unit::kNs, false, ColumnRole::kMost},
          {"stddev_ns", "StdDev", Unit::kNs, true, ColumnRole::kDeviation}};
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

void AddHistogramColumn(const AnalysisOptions& options, const char* median, Table* table) {
  if (!options.has_histograms) return;
  table->columns.push_back(
      {median + std::string(".histogram"), "", Unit::kText, true, ColumnRole::kHistogram, "", median});
}

void AddHistogramCell(const AnalysisOptions& options, const Statistics& statistics, std::vector<Cell>* row) {
  if (options.has_histograms) row->emplace_back(statistics.histogram);
}

double PercentOf(int64_t part, int64_t whole) {
  return whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace gprof

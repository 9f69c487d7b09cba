// Exact statistics of integer samples: no sketches, no rounding before the end.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gprof/analysis.h"
#include "gprof/packed_list.h"

namespace gprof {

struct Statistics {
  int64_t count = 0, total = 0, min = 0, max = 0;
  double mean = 0;
  double median = 0;      // of an even number: the middle of the two in the middle
  double stddev = 0;      // of a sample (n - 1), 0 for one value
  std::string histogram;  // histogram.h, where it is asked for
};

// Whether the standard deviation is wanted, which takes longer than all other figures, and a histogram, which as many
// ranks have a median by.
enum class Spread : uint8_t { kAsked, kNotAsked, kHistogram };
Spread SpreadFor(const AnalysisOptions& options);

// Changes the order of the samples.
Statistics Summarize(std::span<int64_t> samples, Spread spread = Spread::kAsked);

// Their median alone. Changes the order of the samples.
double Median(std::span<int64_t> samples);

// Samples of a number that is known, all of which are to be set: 4 bytes each as long as all of them fit.
class Samples {
 public:
  explicit Samples(size_t count) : short_(count) {}

  void Set(size_t at, int64_t sample) {
    if (static_cast<uint64_t>(sample) >= short_below_) return SetLong(at, sample);
    short_[at] = static_cast<uint32_t>(sample);
  }

  // All samples as long as each fits into 4 bytes, null from then on: for loops that know what they add.
  uint32_t* if_short() { return short_below_ == 0 ? nullptr : short_.data(); }

  // Some in a row.
  class Slice {
   public:
    Slice(Samples* all, size_t first, size_t count) : all_(all), first_(first), count_(count) {}
    size_t size() const { return count_; }
    bool empty() const { return count_ == 0; }
    // Both use up the samples: ask for one of them, and once.
    Statistics Summary(Spread spread = Spread::kAsked) const;
    double Median() const;

   private:
    Samples* all_;
    size_t first_, count_;
  };

 private:
  void SetLong(size_t at, int64_t sample);

  std::vector<uint32_t, packed_detail::Unwritten<uint32_t>> short_;
  std::vector<int64_t> long_;                        // once there is one that is negative or does not fit: all of them
  uint64_t short_below_ = uint64_t{UINT32_MAX} + 1;  // 0 from then on
};

// Adds how long each item of a list took, for which group_of(item) is not kNone, to `samples`: those of a group from
// next[group] on. group_of() may be asked twice for the same item.
template <class List, class F>
void AddDurationsTo(const List& list, F&& group_of, size_t* next, Samples* samples) {
  const typename List::Item *item = list.items().data(), *const end = item + list.size();
  for (; item != end; ++item) {
    if (uint32_t* const all_short = samples->if_short(); all_short != nullptr) {
      for (; item != end; ++item) {
        PrefetchForReading(item);
        const uint32_t group = group_of(*item);
        if (group == kNone) continue;
        if (item->duration_high != 0) break;
        all_short[next[group]++] = item->duration;
      }
      if (item == end) return;
    }
    if (const uint32_t group = group_of(*item); group != kNone) {
      samples->Set(next[group]++, list.EndNs(*item) - item->start_ns());
    }
  }
}

// Samples by group, all in one vector: call Count for all samples, Seal once, then Add for each sample.
class Groups {
 public:
  explicit Groups(size_t group_count) : ends_(group_count + 1, 0), samples_(0) {}
  void Count(size_t group, size_t samples = 1) { ends_[group + 1] += samples; }
  void Seal();
  void Add(size_t group, int64_t sample) { samples_.Set(ends_[group]++, sample); }
  size_t size() const { return ends_.size() - 1; }
  Samples::Slice Of(size_t group);

 private:
  std::vector<size_t> ends_;  // of each group once it is full; before that, where its next sample goes
  Samples samples_;
};

// Columns percent, total, count, mean, median, min, max, stddev for a table of times, and their cells.
std::vector<Column> TimeColumns();
inline constexpr size_t kTotalNsColumn = 1, kTimeColumnCount = 8;
std::vector<Cell> TimeCells(const Statistics& statistics, int64_t total_of_all);

// Where options ask for histograms: a column at the end of a table for those that a median is of, and its cell at the
// end of a row.
void AddHistogramColumn(const AnalysisOptions& options, const char* median, Table* table);
void AddHistogramCell(const AnalysisOptions& options, const Statistics& statistics, std::vector<Cell>* row);

// 100 * part / whole, 0 where there is no whole.
double PercentOf(int64_t part, int64_t whole);

}  // namespace gprof

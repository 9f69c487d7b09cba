// Sorting for what nearly is sorted: chunks are in order inside, and mostly among each other.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "base/machine/parallel.h"
#include "gprof/lists.h"
#include "gprof/trace.h"
#include "trace/load/huge_pages.h"

namespace gprof {

namespace order_detail {

// Extends [first, ...) to a run that is sorted, at least `kMinRun` long where there is that much.
template <class It, class Less>
It MakeRun(It first, It last, Less less) {
  constexpr std::ptrdiff_t kMinRun = 32;
  It end = first + 1;
  while (end != last && !less(*end, *(end - 1))) ++end;
  const It wanted = last - first < kMinRun ? last : first + kMinRun;
  for (; end < wanted; ++end) {
    auto value = std::move(*end);
    It hole = end;
    for (; hole != first && less(value, *(hole - 1)); --hole) *hole = std::move(*(hole - 1));
    *hole = std::move(value);
  }
  while (end != last && !less(*end, *(end - 1))) ++end;
  return end;
}

// The end of those at the beginning of a sorted run for which is_before answers true: some at a time, then one by one.
template <class It, class IsBefore>
It SkipFromBegin(It first, It last, IsBefore is_before) {
  constexpr std::ptrdiff_t kSome = 8;
  while (last - first >= kSome && is_before(first[kSome - 1])) first += kSome;
  while (first != last && is_before(*first)) ++first;
  return first;
}
// The same from the end.
template <class It, class IsAfter>
It SkipFromEnd(It first, It last, IsAfter is_after) {
  constexpr std::ptrdiff_t kSome = 8;
  while (last - first >= kSome && is_after(last[-kSome])) last -= kSome;
  while (first != last && is_after(last[-1])) --last;
  return last;
}

// Merges two neighbouring runs that overlap, the shorter one out of a copy. Some elements of one of them follow each
// other as a rule: those are moved at once.
template <class It, class Less>
void MergeForward(It first, It middle, It last, Less less) {
  const std::vector<std::iter_value_t<It>> copy(first, middle);
  auto left = copy.begin();
  for (It right = middle, to = first; left != copy.end();) {
    const It right_end = SkipFromBegin(right, last, [&](const auto& element) { return less(element, *left); });
    to = std::copy(right, right_end, to);
    right = right_end;
    const auto is_before = [&](const auto& element) { return right == last || !less(*right, element); };
    const auto left_end = SkipFromBegin(left, copy.end(), is_before);
    to = std::copy(left, left_end, to);
    left = left_end;
  }
}

template <class It, class Less>
void MergeBackward(It first, It middle, It last, Less less) {
  const std::vector<std::iter_value_t<It>> copy(middle, last);
  auto right = copy.end();
  for (It left = middle, to = last; right != copy.begin();) {
    const It left_begin = SkipFromEnd(first, left, [&](const auto& element) { return less(right[-1], element); });
    to = std::copy_backward(left_begin, left, to);
    left = left_begin;
    const auto is_after = [&](const auto& element) { return left == first || !less(element, left[-1]); };
    const auto right_begin = SkipFromEnd(copy.begin(), right, is_after);
    to = std::copy_backward(right_begin, right, to);
    right = right_begin;
  }
}

// Merges two neighbouring runs; only where they overlap is anything moved.
template <class It, class Less>
void MergeRuns(It first, It middle, It last, Less less) {
  if (!less(*middle, *(middle - 1))) return;
  first = std::upper_bound(first, middle, *middle, less);
  last = std::lower_bound(middle, last, *(middle - 1), less);
  if (middle - first <= last - middle) {
    MergeForward(first, middle, last, less);
  } else {
    MergeBackward(first, middle, last, less);
  }
}

}  // namespace order_detail

// Merges neighbouring runs, given by where each begins and where the last one ends. An element is moved by each merge
// that it takes part in, so short runs are merged with each other before they are merged with long ones.
template <class It, class Less>
void MergeSortedRuns(const std::vector<It>& runs, Less less) {
  std::vector<It> begins;  // of runs that wait for others, each more than twice as long as the next one
  const auto merge = [&](std::size_t at, It end) {
    order_detail::MergeRuns(begins[at - 1], begins[at], end, less);
    begins.erase(begins.begin() + static_cast<std::ptrdiff_t>(at));
  };
  for (std::size_t i = 0; i + 1 < runs.size(); ++i) {
    const It end = runs[i + 1];
    begins.push_back(runs[i]);
    while (begins.size() > 1) {
      const std::size_t last = begins.size() - 1;
      if (begins[last] - begins[last - 1] > 2 * (end - begins[last])) break;
      const bool is_shorter_before = last > 1 && begins[last - 1] - begins[last - 2] < end - begins[last];
      is_shorter_before ? merge(last - 1, begins[last]) : merge(last, end);
    }
  }
  while (begins.size() > 1) merge(begins.size() - 1, runs.back());
}

// The same on several cores: some neighbours each, then what came of them.
template <class It, class Less>
void MergeSortedRuns(std::vector<It> runs, Less less, std::size_t cores) {
  constexpr std::size_t kNeighbours = 8;
  while (cores > 1 && runs.size() > 2 * kNeighbours) {
    const std::size_t groups = (runs.size() - 2) / kNeighbours + 1;  // the last element ends the last run
    std::vector<It> merged(groups + 1, runs.back());
    ForEachSideBySide(groups, cores, [&](std::size_t group) {
      const auto first = runs.begin() + static_cast<std::ptrdiff_t>(group * kNeighbours);
      const auto last =
          runs.end() - first > static_cast<std::ptrdiff_t>(kNeighbours) ? first + kNeighbours + 1 : runs.end();
      merged[group] = *first;
      MergeSortedRuns(std::vector<It>(first, last), less);
    });
    runs.swap(merged);
  }
  MergeSortedRuns(runs, less);
}

// A stable sort that costs one comparison an element when there is nothing to do, and moves only what overlaps.
template <class It, class Less>
void SortNearlySorted(It first, It last, Less less) {
  if (first == last) return;
  std::vector<It> runs{first};
  while (runs.back() != last) runs.push_back(order_detail::MakeRun(runs.back(), last, less));
  MergeSortedRuns(runs, less);
}

// The same for one slice of a list in which `run_starts` says where sorted runs begin. Without any it has to look.
template <class Items, class Less>
void SortSlice(Items& items, Trace::Slice slice, const std::vector<uint32_t>& run_starts, Less less,
               std::size_t cores = 1) {
  const auto begin = items.begin();
  if (run_starts.empty()) return SortNearlySorted(begin + slice.first, begin + slice.last, less);
  std::vector<typename Items::iterator> runs;
  for (auto at = std::lower_bound(run_starts.begin(), run_starts.end(), slice.first);
       at != run_starts.end() && *at < slice.last; ++at) {
    const auto run = begin + *at;
    if (runs.empty() || less(*run, *(run - 1))) runs.push_back(run);
  }
  runs.push_back(begin + slice.last);
  MergeSortedRuns(std::move(runs), less, cores);
}

// Brings elements of a group together, groups in order, elements of a group in the order they had. group(element) must
// be below `groups`.
template <class Vector, class Group>
std::vector<Trace::Slice> GroupBy(Vector& elements, std::size_t groups, Group group) {
  std::vector<Trace::Slice> slices(groups);
  if (groups == 1) {
    slices[0].last = static_cast<uint32_t>(elements.size());
    return slices;
  }
  bool is_grouped = true;
  uint32_t before = 0;
  for (const auto& e : elements) {
    const uint32_t g = group(e);
    ++slices[g].last;
    is_grouped = is_grouped && before <= g;
    before = g;
  }
  uint32_t first = 0;
  for (Trace::Slice& s : slices) {
    s.first = std::exchange(first, first + s.last);
    s.last = is_grouped ? first : s.first;
  }
  if (is_grouped) return slices;
  // Into a second array: within one, nearly every element would be moved twice, to places far apart.
  Vector grouped;
  ReserveHuge(grouped, elements.capacity());
  grouped.resize(elements.size());
  for (const auto& e : elements) grouped[slices[group(e)].last++] = e;
  elements.swap(grouped);
  return slices;
}

// The lists that are sorted by time.
inline void SortListsByTime(Trace& trace) {
  ForEachList([&]<class T>(const ListOf<T>& list) {
    if (!list.is_by_time) return;
    std::vector<T>& elements = trace.*list.list;
    SortNearlySorted(elements.begin(), elements.end(), [](const T& a, const T& b) { return WhenOf(a) < WhenOf(b); });
  });
}

// Operations by their start, then their end.
class OpComesBefore {
 public:
  explicit OpComesBefore(const PackedOps& ops) : ops_(&ops) {}
  bool operator()(const PackedOps::Item& a, const PackedOps::Item& b) const {
    return a.start_ns() != b.start_ns() ? a.start_ns() < b.start_ns() : ops_->EndNs(a) < ops_->EndNs(b);
  }

 private:
  const PackedOps* ops_;
};

// Outer calls before the calls that they made. Their records come the other way round: a record is written at return.
class CallComesBefore {
 public:
  explicit CallComesBefore(const PackedCalls& calls) : calls_(&calls) {}
  bool operator()(const PackedCalls::Item& a, const PackedCalls::Item& b) const {
    if (a.start_ns() != b.start_ns()) return a.start_ns() < b.start_ns();
    const int64_t a_end_ns = calls_->EndNs(a), b_end_ns = calls_->EndNs(b);
    if (a_end_ns != b_end_ns) return a_end_ns > b_end_ns;
    return calls_->TraitsOf(a).domain < calls_->TraitsOf(b).domain;
  }

 private:
  const PackedCalls* calls_;
};

// Operations of each device in order.
inline void SortOps(PackedOps& ops, const std::vector<Trace::Slice>& of_devices,
                    const std::vector<uint32_t>& run_starts = {}, std::size_t cores = 1) {
  for (const Trace::Slice slice : of_devices) SortSlice(ops.items(), slice, run_starts, OpComesBefore(ops), cores);
}

// The same, of operations that are not grouped by their device yet.
inline std::vector<Trace::Slice> GroupAndSortOps(PackedOps& ops, std::size_t devices) {
  std::vector<Trace::Slice> of_devices =
      GroupBy(ops.items(), devices, [&](const PackedOps::Item& op) { return ops.TraitsOf(op).device; });
  SortOps(ops, of_devices);
  return of_devices;
}

}  // namespace gprof

// --range-filter of ncu: which of the ranges that match, by their numbers.
#pragma once

#include <string>
#include <string_view>

namespace gprof::cli {

// "yes:1|3:[2-5]". Numbers begin with 1; empty: all.
struct RangeFilter {
  bool is_within = false;      // NVTX ranges are counted anew after each cudaProfilerStart
  std::string profiler, nvtx;  // regular expressions for whole numbers
};

// Throws Error for what is none. An empty text is a filter that all ranges pass.
RangeFilter ReadRangeFilter(std::string_view text);

// Lines of gprof/trace/counter_request.h.
std::string RangeFilterLines(const RangeFilter& filter);

}  // namespace gprof::cli

// --nvtx-include and --nvtx-exclude: which launches are measured by the NVTX ranges that are open.
#pragma once

#include <regex.h>

#include <cstdint>

#include "tracer/store/open_ranges.h"

namespace gprof::tracer {

// A range by its name, or what may lie between two ranges of a stack.
struct NvtxPart {
  enum class Kind : uint8_t { kRange, kOne, kAny };  // kAny: any number of ranges
  Kind kind = Kind::kRange;
  const char* text = "";
};

// As the launcher puts it (include/gprof/trace/counter_request.h).
struct NvtxFilter {
  static constexpr uint32_t kMostParts = 16;
  bool excludes = false;
  bool is_stack = false;         // of pushed ranges; else every part is a range that is open somehow
  bool has_expressions = false;  // names and domain are regular expressions
  bool is_from_bottom = false, is_to_top = false;
  const char* domain = "";  // empty: the default one
  NvtxPart parts[kMostParts];
  uint32_t part_count = 0;
};

// What is open where a launch is.
struct NvtxState {
  const OpenRange* pushed = nullptr;  // the outermost first
  uint32_t pushed_count = 0;
  const OpenRange* started = nullptr;
  uint32_t started_count = 0;
};

// Of the calling thread, until the next call. [one thread at a time]
NvtxState NvtxStateNow();
// "train/step" of what is pushed, and "domain@step" of a domain that is not the default one; empty where nothing is
// open.
trace::StringId PathOf(const NvtxState& state);

class NvtxFilters {
 public:
  static constexpr uint32_t kMost = 16;

  bool HasAny() const { return count_ > 0; }
  // Null: there are too many.
  NvtxFilter* Add(bool excludes);
  // That was added last; null: none was.
  NvtxFilter* Last() { return count_ == 0 ? nullptr : &filters_[count_ - 1]; }
  // Once, before anything is asked. False: an expression is none, which `bad` is then.
  bool Prepare(const char** bad);
  // In one of those that are included, if there are any, and in none of those that are excluded.
  bool Takes(const NvtxState& state) const;

 private:
  NvtxFilter filters_[kMost];
  regex_t* expressions_[kMost] = {};  // of the domain, and then of each part
  uint32_t count_ = 0;
};

}  // namespace gprof::tracer

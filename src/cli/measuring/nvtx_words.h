// --nvtx-include and --nvtx-exclude of ncu: a place in the NVTX ranges of a program, as the tracer wants it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gprof::cli {

inline constexpr std::string_view kRegex = "regex:";  // before an expression where names are expected

// "DOMAIN@OUTER/*/INNER]".
struct NvtxPlace {
  struct Part {
    enum class Kind { kRange, kOne, kAny };
    Kind kind = Kind::kRange;
    std::string name;
  };
  bool is_stack = false;         // of pushed ranges, one in the other; else all of the ranges are open somehow
  bool has_expressions = false;  // "regex:" stood before it
  bool is_from_bottom = false, is_to_top = false;
  std::string domain;  // empty: the default one
  std::vector<Part> parts;
};

// `option` is for the Error that is thrown for a text that says no range.
NvtxPlace ReadNvtxPlace(std::string_view option, std::string_view text);

// Lines of gprof/trace/counter_request.h.
std::string NvtxFilterLines(const NvtxPlace& place, bool excludes);

}  // namespace gprof::cli

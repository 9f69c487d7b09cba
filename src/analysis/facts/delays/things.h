// What can be delayed, and how much of it a program does.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/facts/delays/program_progress.h"
#include "gprof/analysis.h"

namespace gprof {

enum class ThingKind : uint8_t { kLaunches, kSync, kCopies, kApi, kRange, kKernel, kLine };

// Their names begin with it; what follows is the kernel's.
inline constexpr std::string_view kKernelThing = "kernel:";
inline bool IsKernelThing(std::string_view name) { return name.starts_with(kKernelThing); }

// Lines of Python are ranges of a name like "line:train.py:42" (src/launch/hooks/gprof_lines.py), and called that. Of
// other lines, what is delayed are the calls that they make.
inline constexpr std::string_view kRangeThing = "range:", kLineThing = "line:";
inline std::string_view ShownThing(std::string_view name) {
  const bool is_line = name.starts_with(kRangeThing) && name.substr(kRangeThing.size()).starts_with(kLineThing);
  return is_line ? name.substr(kRangeThing.size()) : name;
}

struct ThingUse {
  ThingKind kind{};
  std::string name;  // "launches", "range:load", "kernel:" and its whole name
  int64_t instances = 0, time_ns = 0;
  std::vector<std::string> symbols;  // of a kernel: as the driver knows it
  std::vector<uint64_t> frames;      // of a line: hashes (gprof/trace/delay_request.h)
};

// Of the process that makes the progress, as far as it began in one of these times, which are in order and apart. The
// step itself and what encloses it are left out. `lines`: "line:FILE:N", FILE a path or its end.
std::vector<ThingUse> UsesIn(const AnalysisInput& input, const ProgramProgress& progress,
                             const std::vector<Interval>& times, const std::vector<std::string>& lines = {});

// Null where there is none of that name.
const ThingUse* FindUse(const std::vector<ThingUse>& uses, const std::string& name);

}  // namespace gprof

#include "analysis/calls/compiler_ranges.h"

#include <algorithm>
#include <tuple>

namespace gprof {

CompilerRanges::CompilerRanges(const Trace& trace) {
  std::vector<bool> is_of_compiler(trace.ranges.TraitsCount());
  for (uint32_t i = 0; i < is_of_compiler.size(); ++i) {
    const PackedRanges::Traits& traits = trace.ranges.TraitsAt(i);
    is_of_compiler[i] = traits.thread != kNone && trace.Text(traits.name).starts_with("XlaCompile");
  }
  if (std::none_of(is_of_compiler.begin(), is_of_compiler.end(), [](bool is_it) { return is_it; })) return;
  std::vector<Compile> all;
  for (const PackedRanges::Item& range : trace.ranges.items()) {
    if (!is_of_compiler[range.traits]) continue;
    const uint32_t process = trace.threads[trace.ranges.TraitsOf(range).thread].process;
    all.push_back({process, {range.start_ns(), trace.ranges.EndNs(range)}});
  }
  std::sort(all.begin(), all.end(), [](const Compile& a, const Compile& b) {
    return std::tie(a.process, a.time.start_ns) < std::tie(b.process, b.time.start_ns);
  });
  for (const Compile& one : all) {
    const bool is_more = !compiles_.empty() && compiles_.back().process == one.process &&
                         one.time.start_ns <= compiles_.back().time.end_ns;
    if (!is_more) compiles_.push_back(one);
    compiles_.back().time.end_ns = std::max(compiles_.back().time.end_ns, one.time.end_ns);
  }
}

int64_t CompilerRanges::DoneNs(uint32_t process, const Interval& time) const {
  int64_t compiled_ns = 0, done_ns = time.start_ns;
  auto compile = std::partition_point(compiles_.begin(), compiles_.end(), [&](const Compile& c) {
    return std::tie(c.process, c.time.end_ns) < std::tie(process, time.start_ns);
  });
  for (; compile != compiles_.end() && compile->process == process && compile->time.start_ns < time.end_ns; ++compile) {
    done_ns = std::min(compile->time.end_ns, time.end_ns);
    compiled_ns += done_ns - std::max(compile->time.start_ns, time.start_ns);
  }
  return 2 * compiled_ns < done_ns - time.start_ns ? time.start_ns : done_ns;
}

}  // namespace gprof

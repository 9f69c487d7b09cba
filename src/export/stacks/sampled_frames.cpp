#include "export/stacks/sampled_frames.h"

#include <algorithm>
#include <span>

#include "analysis/facts/places/running_samples.h"
#include "analysis/facts/places/stack_lines.h"
#include "analysis/facts/places/stack_names.h"
#include "analysis/facts/recording/unknown_facts.h"
#include "base/demangle.h"
#include "base/text.h"
#include "export/exporters.h"
#include "gprof/error.h"

namespace gprof {

std::vector<FrameLine> LinesOf(const Trace& trace, uint32_t index) {
  std::vector<FrameLine> lines;
  for (const Symbol& symbol : trace.SymbolsOf(index)) {
    const std::string_view name = trace.Text(symbol.name);
    lines.push_back({Utf8(Demangle(name)), Utf8(name), Utf8(trace.Text(symbol.file)), symbol.line, 0});
  }
  if (!lines.empty()) return lines;
  FrameLine line;
  line.name = line.system_name = FrameName(trace, index);
  const uint32_t module = trace.frames[index].module;
  if (module != kNone && trace.modules[module].module_kind == trace::ModuleKind::kPythonCode) {
    const Module& code = trace.modules[module];
    line.name = line.system_name = Utf8(trace.Text(code.name));
    line.file = Utf8(trace.Text(code.path));
    line.line = LineOfFrame(trace, index);
    line.first_line = code.first_line;
  }
  return {line};
}

std::vector<uint32_t> FramesOf(const Trace& trace, uint32_t stack) {
  std::vector<uint32_t> frames;
  for (; stack != kNone; stack = trace.stacks[stack].parent) {
    if (trace.stacks[stack].frame != kNone) frames.push_back(trace.stacks[stack].frame);
  }
  return frames;
}

bool HaveTime(const Trace& trace) {
  return std::any_of(trace.cpu_samples.begin(), trace.cpu_samples.end(),
                     [](const CpuSample& sample) { return sample.weight_ns > 0; });
}

void RefuseWithoutSamples(const Trace& trace) {
  const RunningSamples counted(trace);
  if (std::ranges::any_of(trace.cpu_samples, [&](const CpuSample& sample) { return counted.Has(sample); })) return;
  const bool is_unknown = UnknownFacts(trace).Has(Fact::kCpuSamples);
  throw Error(ExitCode::kUsage, "there are no CPU samples to export",
              is_unknown ? WhyUnknown(trace, Fact::kCpuSamples)
                         : "none was taken of a running thread; gprof-cli doctor says whether they can be");
}

// It has GPU time by stack as well.
void RefuseWithoutStacks(const Trace& trace) {
  if (trace.ops.empty()) RefuseWithoutSamples(trace);
}

}  // namespace gprof

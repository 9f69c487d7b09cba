// What a trace is about and what is wrong with it, in words: the parts that `report` and `info` share.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/terminal.h"
#include "gprof/analysis.h"
#include "gprof/trace.h"

namespace gprof::cli {

// A defect of the trace that is there (count > 0).
struct Defect {
  std::string key;               // JSON name, as in TraceHealth
  uint64_t count = 0;
  std::string text;              // "2 chunks are damaged"
  bool makes_incomplete = true;  // false: the data are all there, only odd
};

std::vector<Defect> DefectsOf(const Trace& trace);

std::string ReasonText(trace::LossReason reason);
std::string LevelText(trace::NoticeLevel level);

// "12.4" for 12040, as CUDA writes versions; empty for 0.
std::string CudaVersion(uint32_t version);

// Why there is no GPU work in the trace, one sentence each; empty when there is.
std::vector<std::string> WhyNoGpuWork(const Trace& trace);

std::string FormatCell(const Cell& cell, Unit unit);

// "Label     text", the text wrapped beside its label.
std::string LabeledLine(const std::string& label, const std::string& text, const Terminal& terminal);

}  // namespace gprof::cli

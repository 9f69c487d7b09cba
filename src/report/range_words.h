// What ranges are called in the report of a capture that has no NVTX.
#pragma once

#include <vector>

#include "gprof/trace.h"
#include "report/report.h"

namespace gprof {

// Ranges of torch.profiler and the like are operators, Python functions and annotations: tables say `Range` instead of
// `NVTX range`, and findings `operator aten::mm` instead of the path that filters take, `cpu_op/aten::mm`.
void NameRanges(const Trace& trace, std::vector<Section>* sections);

}  // namespace gprof

// A timeline as pages carry it: a description in JSON, and the columns of all events in one run of bytes.
#pragma once

#include <cstdint>
#include <string>

#include "base/json_style.h"
#include "gprof/analysis.h"

namespace gprof {

struct EncodedTimeline {
  Json description;  // Timeline of src/web/shared/data.ts
  std::string blob;  // not deflated yet
};

// `budget`: events at most; beyond it, short neighbours are drawn together. `step` as in AnalysisOptions.
EncodedTimeline EncodeTimeline(const AnalysisInput& input, const std::string& label, uint64_t budget,
                               const std::string& step = {});

}  // namespace gprof

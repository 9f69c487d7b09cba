// A timeline as pages carry it: a description in JSON, and the columns of all events in one run of bytes.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "gprof/analysis.h"

namespace gprof {

struct EncodedTimeline {
  nlohmann::ordered_json description;  // Timeline of src/web/shared/data.ts
  std::string blob;                    // not deflated yet
};

// `budget`: events at most; beyond it, short neighbours are drawn together. `step` as in AnalysisOptions.
EncodedTimeline EncodeTimeline(const AnalysisInput& input, const std::string& label, uint64_t budget,
                               const std::string& step = {});

}  // namespace gprof

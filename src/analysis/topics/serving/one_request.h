// One request token by token: what each of them waited for.
#pragma once

#include <cstdint>
#include <string>

#include "gprof/analysis.h"

namespace gprof {

// Nothing where no request has the name. Of several of one name the first.
AnalysisResult ExplainRequest(const AnalysisInput& input, const std::string& name, uint32_t max_rows);

}  // namespace gprof

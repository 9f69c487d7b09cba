// Tables with the columns of nsys, of samples by what stands in the text columns.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "gprof/analysis.h"

namespace gprof {

// "Avg (ns)". `counted` is what nsys calls the number of rows behind a figure; sizes have no share of a total.
std::vector<Column> NsysColumns(const std::string& counted, Unit unit);

using SamplesByName = std::map<std::vector<std::string>, std::vector<int64_t>>;
Table TableOfSamples(SamplesByName&& samples, const std::string& counted, Unit unit,
                     const std::vector<std::string>& text_columns, const AnalysisOptions& options = {});

// Nsight Systems writes "domain:name", and ":name" in the default domain.
std::string NsysRangeName(const Trace& trace, const NvtxRange& range);

}  // namespace gprof

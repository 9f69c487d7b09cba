// Reports as HTML, for notebooks and browsers.
#pragma once

#include <cstdint>
#include <string>

#include "fleet/read_input.h"
#include "gprof/analysis.h"

namespace gprof::python {

// What `gprof-cli report --format json` prints.
std::string ReportOf(const Input& input, const AnalysisOptions& options);

// What a notebook shows below a cell.
std::string Card(const Input& input);

// What `gprof-cli report --format html` writes. Throws Error in a build without the page.
std::string Page(const Input& input, uint64_t event_budget);

// Returns whether a browser took it.
bool OpenFile(const std::string& path);

// "328.22 ms, 888 GPU operations on NVIDIA H200; incomplete"
std::string Summary(const Input& input);

}  // namespace gprof::python

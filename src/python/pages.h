// Reports as HTML, for notebooks and browsers.
#pragma once

#include <cstdint>
#include <string>

#include "gprof/trace.h"

namespace gprof::python {

// What a notebook shows below a cell.
std::string Card(const Trace& trace);

// What `gprof-cli report --format html` writes. Throws Error in a build without the page.
std::string Page(const Trace& trace, uint64_t event_budget);

// Returns whether a browser took it.
bool OpenFile(const std::string& path);

// "328.22 ms, 888 GPU operations on NVIDIA H200; incomplete"
std::string Summary(const Trace& trace);

}  // namespace gprof::python

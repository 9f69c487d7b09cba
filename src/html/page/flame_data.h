// What the flame graphs of the page show, each as one tree.
#pragma once

#include <string>

#include "report/report.h"

namespace gprof {

// JSON: [{"measure": "GPU time", "by": "Python stack", "unit": "ns" or "samples", "names": […],
// "nodes": [[parent, name, value], …]}, …]. What is around others comes before them; the parent of the outermost is -1.
// Empty where there is nothing to show.
std::string FlamesJson(const Report& report);

}  // namespace gprof

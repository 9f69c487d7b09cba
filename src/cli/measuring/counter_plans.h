// What kernel counters there are and what they take, as text and JSON.
#pragma once

#include <string>
#include <vector>

#include "counters/counter_plan.h"
#include "counters/host_library.h"

namespace gprof::cli {

std::string CounterSetsText();
std::string CounterSectionsText();
// A line for each base metric of the chip.
std::string ChipMetricsText(const counters::Chip& chip);

std::string CounterPlansText(const counters::HostLibrary& library, const std::vector<counters::Plan>& plans);
std::string CounterPlansJson(const counters::HostLibrary& library, const std::vector<counters::Plan>& plans);

}  // namespace gprof::cli

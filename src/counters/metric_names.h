// The words of --metrics, as names of a chip.
#pragma once

#include <string>
#include <vector>

#include "counters/host_library.h"

namespace gprof::counters {

// Each metric by its names on different chips, in order.
using Metrics = std::vector<std::vector<std::string>>;

// Metrics that one word of --metrics asks for: "regex:EXPRESSION" and base names with their usual rollups,
// "group:SECTION", "breakdown:THROUGHPUT", or a full name. One that the chip lacks stays as it is. Throws Error for a
// bad expression, an unknown section, and a breakdown of what is no throughput.
Metrics MetricsOfWord(const Chip& chip, const std::string& word);

// The same for whatever chip it will be: base names with every rollup that any chip may have, of which those count that
// it has. Throws Error for words that need a chip, too.
Metrics MetricsOfWord(const std::string& word);
// The metric of the chip that `metric`, which it lacks, is most probably a slip of. Empty when none is near.
std::string NearestMetric(const Chip& chip, const std::string& metric);
// Throws Error for a word that no chip has a metric for, with what was probably meant: the name of a section, or the
// beginning of the name of a metric.
void RequireMetricName(const std::string& word);
// What it stands for, only a chip can tell.
bool NeedsChip(const std::string& word);
// Of a section, by our name or ncu's.
Metrics MetricsOfSection(const std::string& name);

}  // namespace gprof::counters

// What a throughput is the maximum of, as libnvperf_host tells it. CUPTI itself does not.
#pragma once

#include <string>
#include <vector>

namespace gprof::counters {

// Counters by their base names, each once. Empty: the chip has no such throughput, or the library does not tell. A
// HostLibrary has to be there, which opens it.
std::vector<std::string> ThroughputParts(const std::string& chip, const std::string& throughput);

}  // namespace gprof::counters

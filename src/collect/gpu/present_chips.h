// The chips of the GPUs that a program would see.
#pragma once

#include <string>
#include <vector>

namespace gprof::pm {

// Each once. Asked in a process of its own, because it starts the driver. Empty, and `why` says so: there is none.
// `cupti`: the file of libcupti, or empty to look for it.
std::vector<std::string> PresentChips(const std::string& cupti, std::string* why);

}  // namespace gprof::pm

// Who may have the performance monitors of GPUs, of which there is one owner at a time.
#pragma once

#include <string>

namespace gprof {

// "dcgm-exporter (123), ncu (456)": programs that are known to take them, as far as they run here.
std::string KnownMonitorOwners();

}  // namespace gprof

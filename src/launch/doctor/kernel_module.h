// The half of the NVIDIA driver that runs in the kernel.
#pragma once

#include <string>

namespace gprof {

// What /proc/driver/nvidia/version says of it, "580.159"; empty where `text` has no number of that form.
std::string KernelModuleVersion(const std::string& text);

}  // namespace gprof

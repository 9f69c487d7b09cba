#include "collect/gpu/monitor_owners.h"

#include <fstream>
#include <string_view>

#include "collect/run/open_proc_file.h"

namespace gprof {

std::string KnownMonitorOwners() {
  constexpr std::string_view kNames[] = {"nv-hostengine", "dcgm-exporter", "nsys", "ncu", "dcgmproftester"};
  std::string found;
  ForEachEntry("/proc", [&](std::string_view entry) {
    std::ifstream file("/proc/" + std::string(entry) + "/comm");
    std::string name;
    if (!std::getline(file, name)) return;
    for (const std::string_view known : kNames) {
      if (name.starts_with(known)) found += (found.empty() ? "" : ", ") + name + " (" + std::string(entry) + ")";
    }
  });
  return found;
}

}  // namespace gprof

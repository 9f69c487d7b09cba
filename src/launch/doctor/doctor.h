// What `gprof-cli doctor` looks at: whether recording works on this machine, and what to do about what does not.
#pragma once

#include <string>
#include <vector>

#include "launch/doctor/machine.h"

namespace gprof {

enum class CheckState { kGood, kWarning, kBad, kNotHere };

struct MachineCheck {
  std::string id;     // stable, for scripts
  std::string title;  // what was looked at
  CheckState state = CheckState::kGood;
  std::string detail;  // what was found
  std::string advice;  // what to do; empty where there is nothing to do
};

// Of the driver, its devices and libcupti.
std::vector<MachineCheck> CheckGpu(const MachineView& machine);
// Of memory, limits and what else is in the way.
std::vector<MachineCheck> CheckHost(const MachineView& machine);
// All, in the order in which they are shown.
std::vector<MachineCheck> Examine(const MachineView& machine);

}  // namespace gprof

// What recording costs on a machine, as it is kept between runs: a file for each machine and model of GPU. Another
// driver makes it void.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gprof/trace/record.h"

namespace gprof {

// What an operation takes longer than without recording, in nanoseconds.
struct OperationCost {
  trace::RecordedOperation operation = trace::RecordedOperation::kUnknown;
  uint32_t threads = 1;  // that do it at the same time
  uint32_t call_ns = 0, cold_call_ns = 0, gpu_ns = 0;
};

struct MachineCalibration {
  std::string machine, gpu, driver;  // driver: version of the kernel module; empty where it does not tell
  int64_t measured_unix_s = 0;
  std::vector<OperationCost> costs;
};

// As lines of gprof/trace/calibration_file.h, and back. What makes no sense is left out.
std::string ToText(const MachineCalibration& calibration);
MachineCalibration ParseCalibration(const std::string& text);
// `operation threads call cold gpu`: one cost.
std::string CostLine(const OperationCost& cost);

// Where calibrations are kept: $XDG_STATE_HOME/gprof-cli/calibration. Empty where there is no home folder either.
std::string CalibrationFolder();
// Writes the file for its machine and GPU, and returns its path. Throws Error.
std::string SaveCalibration(const MachineCalibration& calibration);
// Absolute path of the newest one for this host, its GPUs and their driver, or of the file that GPROF_CALIBRATION
// names; empty: none. `proc`: where the driver tells its version and the models of the GPUs.
std::string FindCalibration(const std::string& proc = "/proc");

// The host name.
std::string ThisHost();
// As above; empty where the driver does not tell, as in some containers.
std::string ThisDriver(const std::string& proc = "/proc");

}  // namespace gprof

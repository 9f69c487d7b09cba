// What `doctor --calibrate` measured on a machine, as a file that the launcher finds and GPROF_CALIBRATION names. Each
// line is one of these words, a space and a value; lines that a reader does not know are left out.
#pragma once

#include <cstddef>
#include <string_view>

#include "gprof/trace/record.h"

namespace gprof::trace {

namespace calibration_file {
inline constexpr char kMachine[] = "machine";    // host name
inline constexpr char kGpu[] = "gpu";            // model
inline constexpr char kDriver[] = "driver";      // version of the kernel module
inline constexpr char kMeasured[] = "measured";  // seconds since 1970
// operation, threads, call_ns, cold_call_ns and gpu_ns of a CalibrationRecord, separated by spaces
inline constexpr char kCost[] = "cost";
inline constexpr std::size_t kMostBytes = 4096;  // of a file; more is not read
}  // namespace calibration_file

inline constexpr std::size_t kRecordedOperations = static_cast<std::size_t>(RecordedOperation::kRange) + 1;
// By RecordedOperation.
inline constexpr std::string_view kRecordedOperationNames[kRecordedOperations] = {
    "not_known", "launch", "copy", "fill", "wait", "allocation", "graph_launch", "graph_node", "call", "range"};

}  // namespace gprof::trace

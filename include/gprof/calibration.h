// What recording was measured to cost on the machine of a run (doctor --calibrate).
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "gprof/events.h"
#include "gprof/fields.h"
#include "gprof/trace/calibration_file.h"
#include "gprof/trace/record.h"

namespace gprof {

constexpr std::array<std::string_view, trace::kRecordedOperations> WordsOf(trace::RecordedOperation) {
  return std::to_array(trace::kRecordedOperationNames);
}

// Of one operation; all figures are what it takes longer than without recording.
struct Calibration {
  uint32_t process = kNone;
  trace::RecordedOperation operation = trace::RecordedOperation::kUnknown;
  uint32_t threads = 0;                               // that did it at the same time
  int64_t call_ns = 0, cold_call_ns = 0, gpu_ns = 0;  // for the thread, warm and cold, and on the GPU
  int64_t measured_unix_s = 0;
  template <class M, class V>
  static constexpr void Fields(M& m, V&& v) {
    v(FieldOf{"process", Role::kProcess}, m.process);
    v(FieldOf{"operation"}, m.operation);
    v(FieldOf{"threads"}, m.threads);
    v(FieldOf{"call_ns"}, m.call_ns);
    v(FieldOf{"cold_call_ns"}, m.cold_call_ns);
    v(FieldOf{"gpu_ns"}, m.gpu_ns);
    v(FieldOf{"measured_unix_s"}, m.measured_unix_s);
  }
};

}  // namespace gprof

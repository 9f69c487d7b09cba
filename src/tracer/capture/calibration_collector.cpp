#include "tracer/capture/calibration_collector.h"

#include <stdlib.h>

#include <cstring>

#include "gprof/trace/calibration_file.h"
#include "tracer/core/config.h"
#include "tracer/store/chunk_output.h"
#include "tracer/store/memory/arena.h"
#include "tracer/system/proc_file.h"

namespace gprof::tracer {
namespace {

namespace file = trace::calibration_file;

constinit bool is_told GPROF_IN_ARENA = false;

// What follows the word on the line; null where the line begins with another word.
const char* ValueOf(const char* line, const char* word) {
  const std::size_t n = std::strlen(word);
  return std::strncmp(line, word, n) == 0 && line[n] == ' ' ? line + n + 1 : nullptr;
}

trace::RecordedOperation OperationOf(const char* name) {
  for (std::size_t i = 1; i < trace::kRecordedOperations; ++i) {
    const std::string_view known = trace::kRecordedOperationNames[i];
    if (std::strncmp(name, known.data(), known.size()) == 0 && name[known.size()] == ' ')
      return static_cast<trace::RecordedOperation>(i);
  }
  return trace::RecordedOperation::kUnknown;
}

void AddCost(const char* value, uint64_t measured_unix_s) {
  trace::CalibrationRecord record;
  record.operation = static_cast<uint8_t>(OperationOf(value));
  char* at = const_cast<char*>(std::strchr(value, ' '));
  if (record.operation == 0 || at == nullptr) return;
  for (uint32_t* number : {&record.threads, &record.call_ns, &record.cold_call_ns, &record.gpu_ns})
    *number = static_cast<uint32_t>(strtoul(at, &at, 10));
  record.measured_unix_s = measured_unix_s;
  if (record.threads != 0) Output().Add(record);
}

}  // namespace

void TellCalibration(DrainRound* round) {
  if (is_told || round->depth == Depth::kReady) return;
  is_told = true;
  static char text[file::kMostBytes];
  if (Config().calibration[0] == 0 || ReadProcFile(Config().calibration, text, sizeof text) <= 0) return;
  uint64_t measured_unix_s = 0;
  for (const char* line = text; line != nullptr; line = std::strchr(line, '\n')) {
    if (*line == '\n') ++line;
    if (const char* value = ValueOf(line, file::kMeasured); value != nullptr)
      measured_unix_s = strtoull(value, nullptr, 10);
    if (const char* value = ValueOf(line, file::kCost); value != nullptr) AddCost(value, measured_unix_s);
  }
}

void RetellCalibration() { is_told = false; }

}  // namespace gprof::tracer

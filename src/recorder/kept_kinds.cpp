#include "recorder/kept_kinds.h"

#include "gprof/trace/record.h"

namespace gprof {

bool IsForgettable(uint16_t kind) {
  using trace::RecordKind;
  switch (static_cast<RecordKind>(kind)) {
    case RecordKind::kString:
    case RecordKind::kKernelShape:
    case RecordKind::kProcess:
    case RecordKind::kThread:
    case RecordKind::kDevice:
    case RecordKind::kContext:
    case RecordKind::kStream:
    case RecordKind::kNvtxDomain:
    case RecordKind::kNvtxCategory:
    case RecordKind::kNvtxName:
    case RecordKind::kNvtxSchema:
    case RecordKind::kNvtxSchemaEntry:
    case RecordKind::kNvtxEnum:
    case RecordKind::kGraphNode:
    case RecordKind::kGeneratedLines:
    case RecordKind::kMemoryPool:
    case RecordKind::kModule:
    case RecordKind::kFrame:
    case RecordKind::kStack:
    case RecordKind::kSymbol:
    case RecordKind::kMetricSource:
    case RecordKind::kCounterPlan:
    case RecordKind::kCalibration:
    case RecordKind::kInstruction:
    case RecordKind::kInProgress:  // CUPTI tells once of what has not ended
    case RecordKind::kNotice:
    case RecordKind::kEnd:
      return false;
    default:
      return true;
  }
}

}  // namespace gprof

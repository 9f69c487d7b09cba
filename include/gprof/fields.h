// What the fields of the model's structs are, as record.h says it of records.
//
// Each struct describes itself once, by a `Fields()` list in the order of its members. What goes over all of a trace
// derives from it: merging, selecting, the arrays of the Python module, tables of csv and jsonl, and tests. A field is
// known by its name and by the role of its value; the type of a NameId says itself what it is.
#pragma once

#include <cstdint>

namespace gprof {

enum class Role : uint8_t {
  kPlain,      // a number that means the same in every trace
  kKnown,      // the same, 0 where it is not known or there is none
  kOrNone,     // the same, kNone where it is not known
  kBytes,      // a NameId of bytes that are no text
  kTime,       // when it was
  kStart,      // a time with an end
  kEnd,        // that end
  kKnownTime,  // a time, 0 where it is not known
  // Indexes into the lists of Trace, kNone for nothing.
  kProcess,
  kThread,
  kDevice,
  kStream,
  kCall,
  kRange,
  kMark,
  kDomain,
  kGraphNode,
  kShape,
  kModule,
  kFrame,
  kStack,
  kMetricSource,
  kCounterPlan,
  kCounterRange,
  kPayloadValue,  // one end of some of payload_values, and never kNone
};

inline constexpr int kRoles = static_cast<int>(Role::kPayloadValue) + 1;

struct FieldOf {
  const char* name;
  Role role = Role::kPlain;
};

}  // namespace gprof

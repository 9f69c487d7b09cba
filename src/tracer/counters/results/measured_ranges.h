// What was measured and is not in the trace yet: a ring in memory that outlives the process, filled where launches end
// and emptied by the writer thread.
#pragma once

#include <atomic>
#include <cstdint>

#include "gprof/trace/record.h"

namespace gprof::tracer {

struct MeasuredValue {
  trace::StringId metric, unit;
  double value = 0;  // not a number: none
};

struct MeasuredRange {
  std::atomic<uint32_t> is_full{0};
  uint32_t taken = 0;  // how far the writer is: the record of the range first, then its values
  uint32_t value_count = 0;
  uint32_t unused = 0;
  trace::CounterRangeRecord record;
  MeasuredValue values[1];
};

// Room for ranges of so many values, once. False: there is no memory. [one thread at a time]
bool MakeRoomForRanges(uint32_t values);
// One to fill, when there is one: the writer thread is waited for, a second at most. Null: none. [one thread at a time]
MeasuredRange* NextRange();
uint32_t MaxValues();
void Publish(MeasuredRange* range);

// [writer thread, or salvage]
void TakeMeasuredRanges();
void ForgetRangesAfterFork();

}  // namespace gprof::tracer

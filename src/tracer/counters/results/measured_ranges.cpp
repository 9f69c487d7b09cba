#include "tracer/counters/results/measured_ranges.h"

#include <stdio.h>
#include <stdlib.h>

#include <cmath>

#include "tracer/store/chunk_output.h"
#include "tracer/store/memory/arena.h"
#include "tracer/system/system_calls.h"
#include "tracer/writing/writer_thread.h"

namespace gprof::tracer {
namespace {

constexpr uint32_t kRanges = 32;

struct Ring {
  char* ranges = nullptr;
  uint32_t range_bytes = 0, values = 0;
  uint32_t head = 0;  // next to fill
  uint32_t tail = 0;  // next to take
};
constinit Ring ring GPROF_IN_ARENA;
constinit std::atomic<uint32_t> taken_rounds{0};  // counted up when ranges became free

MeasuredRange* At(uint32_t i) {
  return reinterpret_cast<MeasuredRange*>(ring.ranges + static_cast<std::size_t>(i % kRanges) * ring.range_bytes);
}

// A number as decimal digits and a power of ten: as many digits as a double has, and not one that is made up.
void SetNumber(double number, trace::CounterValuesRecord* record) {
  constexpr double kExact = 9007199254740992.0;
  if (number == static_cast<double>(static_cast<int64_t>(number)) && number > -kExact && number < kExact) {
    record->value = static_cast<int64_t>(number);
    return;
  }
  char text[40];
  snprintf(text, sizeof text, "%.14e", number);
  int64_t digits = 0;
  const char* at = text;
  const bool is_negative = *at == '-';
  // Whatever the language of the program puts where the point is.
  for (; *at != 0 && *at != 'e'; ++at) {
    if (*at >= '0' && *at <= '9') digits = digits * 10 + (*at - '0');
  }
  int32_t scale = (*at == 'e' ? atoi(at + 1) : 0) - 14;
  for (; digits != 0 && digits % 10 == 0; ++scale) digits /= 10;
  record->value = is_negative ? -digits : digits;
  record->scale = scale;
}

void AddValue(MeasuredRange* range, uint32_t i) {
  const MeasuredValue& value = range->values[i];
  const Cursor cursor{&range->taken, i + 2};
  if (!std::isfinite(value.value)) {
    range->taken = i + 2;
    return;
  }
  trace::CounterValuesRecord record;
  record.range = range->record.id;
  record.metric = value.metric;
  record.unit = value.unit;
  SetNumber(value.value, &record);
  Output().Add(record, cursor);
}

void Take(MeasuredRange* range) {
  if (range->taken == 0) Output().Add(range->record, {&range->taken, 1});
  const uint32_t count = range->value_count < ring.values ? range->value_count : ring.values;
  while (range->taken <= count) AddValue(range, range->taken - 1);
}

}  // namespace

bool MakeRoomForRanges(uint32_t values) {
  if (ring.ranges != nullptr) return true;
  const auto bytes = static_cast<uint32_t>(sizeof(MeasuredRange) + values * sizeof(MeasuredValue));
  ring.ranges = static_cast<char*>(KeepMemory(static_cast<std::size_t>(bytes) * kRanges, Region::kRows));
  ring.values = values;
  ring.range_bytes = bytes;
  return ring.ranges != nullptr;
}

uint32_t MaxValues() { return ring.values; }

MeasuredRange* NextRange() {
  constexpr uint64_t kPatienceNs = 1'000'000'000;
  if (ring.ranges == nullptr) return nullptr;
  MeasuredRange* range = At(ring.head);
  const uint64_t deadline = MonotonicNs() + kPatienceNs;
  while (range->is_full.load(std::memory_order_acquire) != 0) {
    const uint32_t seen = taken_rounds.load(std::memory_order_acquire);
    WakeWriter();
    const uint64_t now = MonotonicNs();
    if (now >= deadline) return nullptr;
    if (range->is_full.load(std::memory_order_acquire) != 0) FutexWait(&taken_rounds, seen, deadline - now);
  }
  range->taken = range->value_count = 0;
  range->record = {};
  return range;
}

void Publish(MeasuredRange* range) {
  range->is_full.store(1, std::memory_order_release);
  ++ring.head;
}

void TakeMeasuredRanges() {
  const std::size_t bytes = static_cast<std::size_t>(ring.range_bytes) * kRanges;
  if (ring.ranges == nullptr || !IsKept(ring.ranges, bytes)) return;
  bool has_taken = false;
  for (MeasuredRange* range = At(ring.tail); range->is_full.load(std::memory_order_acquire) != 0;
       range = At(ring.tail)) {
    Take(range);
    // First the place, so that a range is not taken twice by whoever goes on for a process that dies here.
    ++ring.tail;
    range->is_full.store(0, std::memory_order_release);
    has_taken = true;
  }
  if (!has_taken) return;
  taken_rounds.fetch_add(1, std::memory_order_release);
  FutexWake(&taken_rounds);
}

void ForgetRangesAfterFork() { ring = {}; }

}  // namespace gprof::tracer

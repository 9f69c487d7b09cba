// The collector of constructs of OpenMP and OpenACC. [writer thread, or salvage, unless it is said]
#pragma once

#include <cstdint>

#include "tracer/core/collectors.h"
#include "tracer/store/log_rows.h"

namespace gprof::tracer {

void StartDirectives();          // [starting thread]
void SwitchDirectives(bool on);  // [any thread, one at a time]
void DrainDirectives(DrainRound* round);
void StopDirectives(StopReason why);
void ConvertDirectiveRow(const RowHeader* row, const RowSource& source);

inline constexpr Collector kDirectiveCollector = {
    .start = StartDirectives,
    .switch_capture = SwitchDirectives,
    .drain = DrainDirectives,
    .stop = StopDirectives,
    .row_types = SetOf(RowType::kDirective),
    .convert = ConvertDirectiveRow,
};

// What is known of a construct when the thread leaves it. Texts are copied.
struct DirectiveDetails {
  const char* model = nullptr;
  const char* construct = nullptr;
  const char* name = nullptr;
  const void* code = nullptr;
  uint64_t size_bytes = 0;
  uint32_t line = 0;
  int32_t device = -1;
  bool is_wait = false;
};

// What the calling thread knows of a construct that it is in.
struct OpenDirective {
  uint64_t start = 0;  // 0: nothing is recorded
  uint32_t region = 0, threads = 0;
};

// The calling thread enters a construct, and leaves the innermost one. An end without a begin counts for nothing.
// [the thread]
void EnterDirective(uint32_t region);
void LeaveDirective(const DirectiveDetails& details);
// The innermost one; null for none. [the thread]
OpenDirective* InnermostDirective();

}  // namespace gprof::tracer

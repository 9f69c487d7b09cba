// The events of a timeline, as the model has them and as a reader of an export finds them.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "export/export.h"
#include "gprof/trace.h"

namespace gprof::test {

struct TimelineEvent {
  std::string category, name;
  int64_t start_ns = 0, end_ns = 0;
  auto operator<=>(const TimelineEvent&) const = default;
};

struct Arrow {
  int64_t from_ns = 0, to_ns = 0;  // the starts of the call and of what it launched
  auto operator<=>(const Arrow&) const = default;
};

// Both sorted.
struct Timeline {
  std::vector<TimelineEvent> events;
  std::vector<Arrow> arrows;

  void Sort();
};

Timeline TimelineOf(const Trace& trace);

std::string Written(const Trace& trace, void (*write)(const Trace&, const ExportOptions&, OutputStream&));

// The traces in tests/data.
std::vector<std::string> RecordedTraces();

// Names that break formats: quotes, control characters, bytes that are no UTF-8, 10 kB.
Trace HostileTrace();

}  // namespace gprof::test

#include <cstring>

#include "gprof/trace/place_calls.h"
#include "gprof/trace/record.h"
#include "tracer/core/config.h"
#include "tracer/core/entry_points.h"
#include "tracer/core/tracer.h"
#include "tracer/places/place_collector.h"
#include "tracer/store/interned_names.h"
#include "tracer/store/open_ranges.h"
#include "tracer/system/system_calls.h"

namespace gprof::tracer {
namespace {

constexpr char kWithin[] = " / ";

// Null while nothing of the process is recorded at all. Between captures there is one: graphs are made long before they
// are launched.
ThreadLog* LogForPlaces() { return StartTracer() ? OwnLog() : nullptr; }

trace::StringId NameOf(const char* text) {
  return text == nullptr || *text == 0 ? trace::StringId{} : Names().Intern(text);
}

// "outer / inner"; cut where it is longer than names may be.
trace::StringId Joined(const RangeStack& stack) {
  char text[kMaxNameBytes];
  std::size_t used = 0;
  const auto add = [&](const char* part, std::size_t size) {
    const std::size_t bytes = size < sizeof text - used ? size : sizeof text - used;
    std::memcpy(text + used, part, bytes);
    used += bytes;
  };
  for (uint32_t i = 0; i < stack.count; ++i) {
    if (i != 0) add(kWithin, sizeof kWithin - 1);
    const trace::Text name = Names().TextOf(stack.ranges[i].name);
    add(name.data, name.size);
  }
  return Names().Intern(text, used);
}

}  // namespace

// Ranges that a graph is made in may be over long before it is launched in a capture, or be let go by a recorder.
void StartPlaces() {
  if (Config().wants_graph_nodes && Config().wants_nvtx) KeepOpenRanges();
}

trace::StringId PlaceOfThread(const ThreadLog& log) {
  if (log.place.value != 0) return log.place;
  return log.open_ranges == nullptr || log.open_ranges->count == 0 ? trace::StringId{} : Joined(*log.open_ranges);
}

void ConvertPlaceRow(const RowHeader* header, const RowSource& source) {
  const auto& row = *reinterpret_cast<const GeneratedLinesRow*>(header);
  trace::GeneratedLinesRecord r;
  r.file = row.file;
  r.first_line = row.first_line;
  r.last_line = row.last_line;
  r.source_file = row.source_file;
  r.source_line = row.source_line;
  r.function = row.function;
  r.place = row.place;
  source.output->Add(r, source.cursor);
}

}  // namespace gprof::tracer

GPROF_EXPORT void GprofTellPlace(const char* place) {
  using namespace gprof::tracer;
  ErrnoGuard errno_guard;
  ThreadLog* const log = LogForPlaces();
  if (log != nullptr) log->place = NameOf(place);
}

GPROF_EXPORT void GprofTellGeneratedLines(const gprof::trace::GeneratedLinesCall* call) {
  using namespace gprof::tracer;
  ErrnoGuard errno_guard;
  ThreadLog* const log = LogForPlaces();
  if (log == nullptr) return;
  Append(log, GeneratedLinesRow{RowHeaderOf<GeneratedLinesRow>(RowType::kGeneratedLines), NameOf(call->file),
                                static_cast<uint32_t>(call->first_line), static_cast<uint32_t>(call->last_line),
                                NameOf(call->source_file), static_cast<uint32_t>(call->source_line),
                                NameOf(call->function), NameOf(call->place)});
}

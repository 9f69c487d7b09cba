// What NVTX handlers wrote, as records: rows, names, layouts of payloads. [writer thread, or salvage]
#include "tracer/nvtx/nvtx_records.h"

#include <algorithm>
#include <cstring>

#include "tracer/capture/capture.h"
#include "tracer/capture/work_count.h"
#include "tracer/nvtx/given_names.h"
#include "tracer/nvtx/nvtx_row_layout.h"
#include "tracer/nvtx/payload_capture.h"
#include "tracer/nvtx/range_triggers.h"
#include "tracer/store/interned_names.h"
#include "tracer/store/memory/arena.h"
#include "tracer/store/thread_log.h"

namespace gprof::tracer {
namespace {

// How many of either are in the output.
constinit uint32_t names_told GPROF_IN_ARENA = 0, layouts_told GPROF_IN_ARENA = 0;

// What follows an NvtxRow. In salvage a row may say anything; what lies beyond its end reads as 0.
class PartReader {
 public:
  explicit PartReader(const NvtxRow* row)
      : at_(reinterpret_cast<const char*>(row + 1)), end_(reinterpret_cast<const char*>(row) + BytesOf(row->header)) {}
  template <class Part>
  Part Take() {
    Part part{};
    const char* from = Take(sizeof part);
    if (from != nullptr) std::memcpy(&part, from, sizeof part);
    return part;
  }
  // Null where it is not there.
  const char* Take(std::size_t bytes) {
    const std::size_t whole = (bytes + 7) & ~std::size_t{7};
    if (at_ > end_ || static_cast<std::size_t>(end_ - at_) < whole) return nullptr;
    at_ += whole;
    return at_ - whole;
  }

 private:
  const char* at_;
  const char* end_;
};

class NvtxConverter {
 public:
  explicit NvtxConverter(const RowSource& source) : source_(source) {}

  void Convert(const RowHeader* row) {
    switch (row->type) {
      case RowType::kNvtxPush:
        return Add(*reinterpret_cast<const NvtxWord*>(row), trace::NvtxEvent::kPush);
      case RowType::kNvtxPop:
        return Add(*reinterpret_cast<const NvtxWord*>(row), trace::NvtxEvent::kPop);
      case RowType::kNvtxMark:
        return Add(*reinterpret_cast<const NvtxWord*>(row), trace::NvtxEvent::kMark);
      case RowType::kNvtxPayload:
        return Add(reinterpret_cast<const NvtxPayloadRow*>(row));
      default:
        return Add(reinterpret_cast<const NvtxRow*>(row));
    }
  }

 private:
  // Two drains convert with two slopes, which may differ by a nanosecond at the seam.
  void AddEvent(uint64_t stamp, trace::NvtxRecord r) {
    r.time_ns = source_.log->nvtx.last_ns = std::max(source_.clock.ToNs(stamp), source_.log->nvtx.last_ns);
    r.tid = source_.log->tid;
    source_.output->Add(r, source_.cursor);
  }

  void Add(const NvtxWord& word, trace::NvtxEvent event) {
    trace::NvtxRecord r;
    r.event = static_cast<uint8_t>(event);
    r.domain = word.domain;
    r.message = {word.message};
    AddEvent(source_.log->nvtx.base + word.since, r);
  }

  void Add(const NvtxRow* row) {
    trace::NvtxRecord r;
    const uint8_t flags = row->header.flags;
    r.event = flags >> kNvtxEventShift;
    r.domain = row->domain;
    r.message = {(flags & kHasText) != 0 ? 0 : row->message};
    PartReader rest(row);
    if ((flags & kHasRange) != 0) r.range = rest.Take<uint64_t>();
    if ((flags & kHasLook) != 0) {
      const auto look = rest.Take<NvtxLook>();
      r.category = look.category;
      r.color = look.color;
    }
    if ((flags & kHasPayload) != 0) {
      const auto value = rest.Take<NvtxValue>();
      r.payload = value.payload;
      r.payload_type = static_cast<uint8_t>(value.payload_type);
    }
    if ((flags & kHasText) != 0) {
      if (const char* text = rest.Take(row->message); text != nullptr) r.message = Names().Intern(text, row->message);
    }
    if ((flags & kHasStamp) != 0) {
      source_.log->nvtx.base = rest.Take<uint64_t>();
      return AddEvent(source_.log->nvtx.base, r);
    }
    AddEvent(source_.log->nvtx.base + row->since, r);
  }

  void Add(const NvtxPayloadRow* row) {
    trace::NvtxPayloadRecord r;
    // Its event was converted just before; the two must have one time, though a drain may lie between them.
    constexpr uint64_t kSeamNs = 4;
    const uint64_t own_ns = source_.clock.ToNs(row->stamp);
    const uint64_t event_ns = source_.log->nvtx.last_ns;
    r.time_ns = own_ns > event_ns + kSeamNs ? own_ns : event_ns;
    r.tid = source_.log->tid;
    r.domain = row->domain;
    r.range = row->range;
    r.schema = row->schema;
    r.event = row->header.flags;
    r.data = {reinterpret_cast<const char*>(row + 1), row->data_bytes};
    source_.output->Add(r, source_.cursor);
  }

  const RowSource& source_;
};

void TellNames() {
  while (const GivenName* given = GivenNameAt(names_told)) {
    switch (given->type) {
      case GivenNameType::kDomain:
        Output().Add(trace::NvtxDomainRecord{given->domain, given->name});
        break;
      case GivenNameType::kCategory:
        Output().Add(trace::NvtxCategoryRecord{given->domain, static_cast<uint32_t>(given->number), given->name});
        break;
      case GivenNameType::kObject:
        Output().Add(trace::NvtxNameRecord{StampClock().ToNs(given->stamp), given->object, given->number, given->domain,
                                           given->name});
        break;
    }
    ++names_told;  // twice rather than never, should the process die here
  }
}

void TellLayouts() {
  while (const LayoutEntry* e = LayoutEntryAt(layouts_told)) {
    switch (e->kind) {
      case trace::RecordKind::kNvtxSchema:
        Output().Add(e->schema);
        break;
      case trace::RecordKind::kNvtxSchemaEntry:
        Output().Add(e->entry);
        break;
      default:
        Output().Add(e->value);
        break;
    }
    ++layouts_told;
  }
}

}  // namespace

void ConvertNvtxRow(const RowHeader* row, const RowSource& source) {
  ++row_count.ranges;
  NvtxConverter(source).Convert(row);
}

void StartNvtx() {
  SetUpRangeTriggers();
  ChooseNvtxPath(IsBaseRecorded());
}

void RetellNvtx() { names_told = layouts_told = 0; }

void DrainNvtx(DrainRound* round) {
  if (round->depth == Depth::kReady) return;
  TellNames();
  TellLayouts();
}

void ResetNvtxAfterFork() {
  ResetGivenNamesAfterFork();
  ResetLayoutsAfterFork();
  ResetRangeTriggersAfterFork();
  RetellNvtx();
}

}  // namespace gprof::tracer

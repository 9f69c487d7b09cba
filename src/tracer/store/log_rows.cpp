#include "tracer/store/log_rows.h"

#include <algorithm>
#include <cstring>

#include "tracer/cupti/callbacks.h"
#include "tracer/cupti/cupti_session.h"
#include "tracer/store/interned_names.h"

namespace gprof::tracer {
namespace {

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

class RowConverter {
 public:
  RowConverter(const RowSource& source, const ClockMap& clock, ChunkWriter* writer)
      : source_(source), clock_(clock), writer_(writer) {}

  void Convert(const RowHeader* row) {
    switch (row->type) {
      case RowType::kApi:
        return Add(*reinterpret_cast<const ApiRow*>(row));
      case RowType::kSync:
        return Add(*reinterpret_cast<const SyncRow*>(row));
      case RowType::kStream:
        return Add(*reinterpret_cast<const StreamRow*>(row));
      case RowType::kEventRecord:
        return Add(*reinterpret_cast<const EventRecordRow*>(row));
      case RowType::kGraphNode:
        return Add(*reinterpret_cast<const GraphNodeRow*>(row));
      case RowType::kNvtxPayload:
        return Add(reinterpret_cast<const NvtxPayloadRow*>(row));
      case RowType::kNvtx:
        return Add(reinterpret_cast<const NvtxRow*>(row));
      case RowType::kNvtxPush:
        return Add(*reinterpret_cast<const NvtxWord*>(row), trace::NvtxEvent::kPush);
      case RowType::kNvtxPop:
        return Add(*reinterpret_cast<const NvtxWord*>(row), trace::NvtxEvent::kPop);
      case RowType::kNvtxMark:
        return Add(*reinterpret_cast<const NvtxWord*>(row), trace::NvtxEvent::kMark);
      case RowType::kCapture:
        return Add(*reinterpret_cast<const CaptureRow*>(row));
    }
  }

 private:
  void Add(const ApiRow& row) {
    const uint64_t start_ns = clock_.ToNs(row.start);
    const uint64_t end_ns = clock_.ToNs(row.end);
    writer_->Add(trace::ApiRecord{start_ns, end_ns > start_ns ? end_ns - start_ns : 0, source_.tid, row.correlation,
                                  ApiName(row.domain, row.cbid), Domain(row.domain), row.result, row.is_unfinished},
                 source_.cursor);
  }

  void Add(const SyncRow& row) {
    trace::SyncRecord r;
    r.start_ns = clock_.ToNs(row.start);
    const uint64_t end_ns = clock_.ToNs(row.end);
    r.duration_ns = end_ns > r.start_ns ? end_ns - r.start_ns : 0;
    r.sync_kind = row.kind;
    r.tid = source_.tid;
    r.correlation = row.correlation;
    r.context = row.context;
    r.stream = row.has_stream ? StreamOfHandle(row.context, row.stream) : 0;
    r.event = row.event;
    writer_->Add(r, source_.cursor);
  }

  void Add(const StreamRow& row) {
    trace::StreamRecord r;
    r.created_ns = clock_.ToNs(row.stamp);
    r.context = row.context;
    r.stream = row.stream;
    r.handle = row.handle;
    writer_->Add(r, source_.cursor);
  }

  void Add(const EventRecordRow& row) {
    trace::EventRecordRecord r;
    r.time_ns = clock_.ToNs(row.stamp);
    r.tid = source_.tid;
    r.correlation = row.correlation;
    r.context = row.context;
    r.stream = StreamOfHandle(row.context, row.stream);
    r.event = row.event;
    writer_->Add(r, source_.cursor);
  }

  void Add(const GraphNodeRow& row) {
    trace::GraphNodeRecord r;
    r.time_ns = clock_.ToNs(row.stamp);
    r.tid = source_.tid;
    r.graph = row.graph;
    r.node = row.node;
    r.original = row.original;
    r.node_type = static_cast<uint8_t>(row.node_type);
    writer_->Add(r, source_.cursor);
  }

  void Add(const CaptureRow& row) {
    writer_->Add(trace::CaptureRecord{clock_.ToNs(row.stamp), row.event, row.trigger, row.number}, source_.cursor);
  }

  // Two drains convert with two slopes, which may differ by a nanosecond at the seam.
  void AddEvent(uint64_t stamp, trace::NvtxRecord r) {
    r.time_ns = source_.nvtx->last_ns = std::max(clock_.ToNs(stamp), source_.nvtx->last_ns);
    r.tid = source_.tid;
    writer_->Add(r, source_.cursor);
  }

  void Add(const NvtxWord& word, trace::NvtxEvent event) {
    trace::NvtxRecord r;
    r.event = static_cast<uint8_t>(event);
    r.domain = word.domain;
    r.message = {word.message};
    AddEvent(source_.nvtx->base + word.since, r);
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
      if (const char* text = rest.Take(row->message); text != nullptr) r.message = Strings().Intern(text, row->message);
    }
    if ((flags & kHasStamp) != 0) {
      source_.nvtx->base = rest.Take<uint64_t>();
      return AddEvent(source_.nvtx->base, r);
    }
    AddEvent(source_.nvtx->base + row->since, r);
  }

  void Add(const NvtxPayloadRow* row) {
    trace::NvtxPayloadRecord r;
    // Its event was converted just before; the two must have one time, though a drain may lie between them.
    constexpr uint64_t kSeamNs = 4;
    const uint64_t own_ns = clock_.ToNs(row->stamp);
    const uint64_t event_ns = source_.nvtx->last_ns;
    r.time_ns = own_ns > event_ns + kSeamNs ? own_ns : event_ns;
    r.tid = source_.tid;
    r.domain = row->domain;
    r.range = row->range;
    r.schema = row->schema;
    r.event = row->header.flags;
    r.data = {reinterpret_cast<const char*>(row + 1), row->data_bytes};
    writer_->Add(r, source_.cursor);
  }

  static uint8_t Domain(uint8_t domain) {
    return static_cast<uint8_t>(domain == CUPTI_CB_DOMAIN_RUNTIME_API ? trace::ApiDomain::kRuntime
                                                                      : trace::ApiDomain::kDriver);
  }

  const RowSource& source_;
  const ClockMap& clock_;
  ChunkWriter* writer_;
};

}  // namespace

void ConvertRow(const RowHeader* row, const RowSource& source, const ClockMap& clock, ChunkWriter* writer) {
  RowConverter(source, clock, writer).Convert(row);
}

}  // namespace gprof::tracer

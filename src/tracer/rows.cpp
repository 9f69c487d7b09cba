#include "rows.h"

#include <algorithm>

#include "callbacks.h"
#include "cupti_session.h"
#include "strings.h"

namespace gprof::tracer {
namespace {

class RowConverter {
 public:
  RowConverter(const RowSource& source, const ClockMap& clock, ChunkWriter* writer)
      : source_(source), clock_(clock), writer_(writer) {}

  void Convert(const RowHeader* row) {
    switch (row->type) {
      case RowType::kApi: return Add(*reinterpret_cast<const ApiRow*>(row));
      case RowType::kSync: return Add(*reinterpret_cast<const SyncRow*>(row));
      case RowType::kStream: return Add(*reinterpret_cast<const StreamRow*>(row));
      case RowType::kEventRecord: return Add(*reinterpret_cast<const EventRecordRow*>(row));
      case RowType::kGraphNode: return Add(*reinterpret_cast<const GraphNodeRow*>(row));
      case RowType::kNvtxPayload: return Add(reinterpret_cast<const NvtxPayloadRow*>(row));
      case RowType::kNvtx: return Add(reinterpret_cast<const NvtxShortRow*>(row));
      case RowType::kCapture: return Add(*reinterpret_cast<const CaptureRow*>(row));
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

  void Add(const NvtxShortRow* start) {
    trace::NvtxRecord r;
    // Two drains convert with two slopes, which may differ by a nanosecond at the seam.
    r.time_ns = *source_.last_nvtx_ns = std::max(clock_.ToNs(start->stamp), *source_.last_nvtx_ns);
    r.tid = source_.tid;
    r.event = start->header.flags >> kNvtxEventShift;
    r.domain = start->domain;
    if ((start->header.flags & kIsShort) == 0) AddRest(*reinterpret_cast<const NvtxRow*>(start), &r);
    writer_->Add(r, source_.cursor);
  }

  void Add(const NvtxPayloadRow* row) {
    trace::NvtxPayloadRecord r;
    // Its event was converted just before; the two must have one time, though a drain may lie between them.
    constexpr uint64_t kSeamNs = 4;
    const uint64_t own_ns = clock_.ToNs(row->stamp);
    const uint64_t event_ns = *source_.last_nvtx_ns;
    r.time_ns = own_ns > event_ns + kSeamNs ? own_ns : event_ns;
    r.tid = source_.tid;
    r.domain = row->domain;
    r.range = row->range;
    r.schema = row->schema;
    r.event = row->header.flags;
    r.data = {reinterpret_cast<const char*>(row + 1), row->data_bytes};
    writer_->Add(r, source_.cursor);
  }

  static void AddRest(const NvtxRow& row, trace::NvtxRecord* r) {
    r->message = {row.message};
    const auto* rest = reinterpret_cast<const unsigned char*>(&row + 1);
    if ((row.start.header.flags & kHasAttributes) != 0) {
      const auto* attributes = reinterpret_cast<const NvtxAttributes*>(rest);
      r->range = attributes->range;
      r->category = attributes->category;
      r->color = attributes->color;
      r->payload_type = static_cast<uint8_t>(attributes->payload_type);
      r->payload = attributes->payload;
      rest += sizeof(NvtxAttributes);
    }
    if ((row.start.header.flags & kHasText) != 0) {
      r->message = Strings().Intern(reinterpret_cast<const char*>(rest), row.text_bytes);
    }
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

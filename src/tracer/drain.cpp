#include "drain.h"

#include <algorithm>

#include "activity.h"
#include "callbacks.h"
#include "cupti_session.h"
#include "names.h"
#include "notice.h"
#include "process_facts.h"
#include "strings.h"
#include "thread_log.h"

namespace gprof::tracer {
namespace {

class RowConverter {
 public:
  RowConverter(ThreadLog* log, const ClockMap& clock, ChunkWriter* writer)
      : log_(log), tid_(log->tid), clock_(clock), writer_(writer) {}

  void Convert(const RowHeader* row) {
    switch (row->type) {
      case RowType::kApi: return Add(*reinterpret_cast<const ApiRow*>(row));
      case RowType::kSync: return Add(*reinterpret_cast<const SyncRow*>(row));
      case RowType::kStream: return Add(*reinterpret_cast<const StreamRow*>(row));
      case RowType::kNvtx: return Add(reinterpret_cast<const NvtxShortRow*>(row));
    }
  }

 private:
  void Add(const ApiRow& row) {
    const uint64_t start_ns = clock_.ToNs(row.start);
    const uint64_t end_ns = clock_.ToNs(row.end);
    writer_->Add(trace::ApiRecord{start_ns, end_ns > start_ns ? end_ns - start_ns : 0, tid_, row.correlation,
                                  ApiName(row.domain, row.cbid), Domain(row.domain), row.result, row.is_unfinished});
  }

  void Add(const SyncRow& row) {
    trace::SyncRecord r;
    r.start_ns = clock_.ToNs(row.start);
    const uint64_t end_ns = clock_.ToNs(row.end);
    r.duration_ns = end_ns > r.start_ns ? end_ns - r.start_ns : 0;
    r.sync_kind = row.kind;
    r.tid = tid_;
    r.correlation = row.correlation;
    r.context = row.context;
    r.stream = row.has_stream ? StreamOfHandle(row.context, row.stream) : 0;
    r.event = row.event;
    writer_->Add(r);
  }

  void Add(const StreamRow& row) {
    trace::StreamRecord r;
    r.created_ns = clock_.ToNs(row.stamp);
    r.context = row.context;
    r.stream = row.stream;
    r.handle = row.handle;
    writer_->Add(r);
  }

  void Add(const NvtxShortRow* start) {
    trace::NvtxRecord r;
    // Two drains convert with two slopes, which may differ by a nanosecond at the seam.
    r.time_ns = log_->last_nvtx_ns = std::max(clock_.ToNs(start->stamp), log_->last_nvtx_ns);
    r.tid = tid_;
    r.event = start->header.flags >> kNvtxEventShift;
    r.domain = start->domain;
    if ((start->header.flags & kIsShort) == 0) AddRest(*reinterpret_cast<const NvtxRow*>(start), &r);
    writer_->Add(r);
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

  ThreadLog* log_;
  uint32_t tid_;
  const ClockMap& clock_;
  ChunkWriter* writer_;
};

}  // namespace

void Drain::Start(ChunkWriter* writer, const trace::ProcessRecord& process) {
  writer_ = writer;
  process_ = process;
  process_told_ = process_has_cupti_ = false;
  names_done_ = notices_done_ = 0;
}

void Drain::TellProcess() {
  const bool has_cupti = CuptiIsActive();
  if (process_told_ && has_cupti == process_has_cupti_) return;
  if (process_told_ && !has_cupti) return;
  if (has_cupti) {
    process_.cupti_path = Strings().Intern(Cupti().path);
    process_.cupti_version = Cupti().version;
    process_.driver_version = SessionDriverVersion();
  }
  process_told_ = true;
  process_has_cupti_ = has_cupti;
  writer_->Add(process_);
}

// A name may be given late (pthread_setname_np), so it is looked up at every flush while the thread lives.
void Drain::TellThread(ThreadLog* log) {
  const trace::StringId name = ThreadName(log->tid);
  const bool is_new = log->told_name.value == ~0u;
  if (!is_new && (name.value == 0 || name == log->told_name)) return;
  log->told_name = name;
  writer_->Add(trace::ThreadRecord{log->tid, name});
}

uint64_t Drain::TakeLog(ThreadLog* log) {
  const LogState state = log->state.load(std::memory_order_acquire);
  if (state == LogState::kFree) return 0;
  RowConverter converter(log, clock_, writer_);
  uint64_t rows = 0;
  while (const RowHeader* row = log->Next()) {
    if (log->told_name.value == ~0u) TellThread(log);
    converter.Convert(row);
    ++rows;
  }
  writer_->CountLoss(trace::RecordKind{}, trace::LossReason::kNoMemory, log->TakeDropped());
  if (state == LogState::kEnded) log->Recycle();
  return rows;
}

uint64_t Drain::TakeRows() {
  uint64_t rows = 0;
  for (ThreadLog* log = FirstLog(); log != nullptr; log = log->next_log) rows += TakeLog(log);
  return rows;
}

void Drain::TakeOpenCalls() {
  for (ThreadLog* log = FirstLog(); log != nullptr; log = log->next_log) {
    if (log->state.load(std::memory_order_acquire) == LogState::kFree) continue;
    const uint64_t start = log->open_call.start.load(std::memory_order_acquire);
    if (start == 0) continue;
    const OpenCall& call = log->open_call;
    const ApiRow row{{RowType::kApi, 0, sizeof(ApiRow) / 8}, call.correlation, start, Stamp(), 0, call.cbid, call.domain, 1};
    RowConverter(log, clock_, writer_).Convert(&row.header);
  }
}

void Drain::TakeNames() {
  while (const NameEntry* e = NameAt(names_done_)) {
    ++names_done_;
    switch (e->type) {
      case NameType::kDomain: writer_->Add(trace::NvtxDomainRecord{e->domain, e->name}); break;
      case NameType::kCategory:
        writer_->Add(trace::NvtxCategoryRecord{e->domain, static_cast<uint32_t>(e->number), e->name});
        break;
      case NameType::kObject:
        writer_->Add(trace::NvtxNameRecord{clock_.ToNs(e->stamp), e->object, e->number, e->domain, e->name});
        break;
    }
  }
}

void Drain::TakeNotices() {
  while (const NoticeEntry* e = NoticeAt(notices_done_)) {
    ++notices_done_;
    TellStderr(*e);
    writer_->Add(trace::NoticeRecord{clock_.ToNs(e->stamp), static_cast<uint8_t>(e->level), e->message});
  }
}

void Drain::TakeLosses() {
  writer_->CountLoss(trace::RecordKind{}, trace::LossReason::kNoMemory, TakeRowsWithoutLog());
  writer_->CountLoss(trace::RecordKind{}, trace::LossReason::kCuptiDropped, TakeCuptiDropped());
}

// Read before every drain: what is converted then lies between two readings or a moment after the last.
void Drain::AddAnchor(bool is_record) {
  const Anchor anchor = ReadAnchor();
  clock_.Add(anchor);
  if (!is_record) return;
  writer_->Add(trace::ClockRecord{anchor.monotonic_ns, anchor.realtime_ns, clock_uses_tsc ? anchor.stamp : 0, 0,
                                  anchor.uncertainty_ns});
  const CuptiInstant cupti = LastCuptiInstant();
  if (cupti.monotonic_ns > cupti_told_ns_) writer_->Add(trace::ClockRecord{cupti.monotonic_ns, 0, 0, cupti.cupti_ns, 0});
  cupti_told_ns_ = cupti.monotonic_ns;
}

void Drain::TakeAll(bool is_last) {
  // Long enough for a healthy CUPTI; what comes later is taken by the next flush.
  constexpr uint64_t kPatienceNs = 50u * 1000000u;
  constexpr uint64_t kLastPatienceNs = 2000u * 1000000u;
  TellProcess();
  FlushActivity(is_last, is_last ? kLastPatienceNs : kPatienceNs);
  AddAnchor(true);
  DrainActivity(writer_);
  TakeRows();
  TakeNames();
  TakeNotices();
  TakeLosses();
  writer_->Flush();
}

}  // namespace gprof::tracer

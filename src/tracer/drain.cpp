#include "drain.h"

#include "activity.h"
#include "cupti_session.h"
#include "names.h"
#include "notice.h"
#include "process_facts.h"
#include "strings.h"
#include "thread_log.h"

namespace gprof::tracer {
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
  uint64_t rows = 0;
  while (const RowHeader* row = log->Next()) {
    if (log->told_name.value == ~0u) TellThread(log);
    ConvertRow(row, {log->tid, &log->last_nvtx_ns, {}}, clock_, writer_);
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
    ConvertRow(&row.header, {log->tid, &log->last_nvtx_ns, {}}, clock_, writer_);
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

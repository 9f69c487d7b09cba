#include "tracer/core/drain.h"

#include <stdio.h>
#include <unistd.h>

#include "tracer/core/notice.h"
#include "tracer/core/process_facts.h"
#include "tracer/core/tracer.h"
#include "tracer/cupti/activity.h"
#include "tracer/cupti/callbacks.h"
#include "tracer/cupti/convert.h"
#include "tracer/cupti/cupti_copies.h"
#include "tracer/cupti/cupti_session.h"
#include "tracer/nvtx/given_names.h"
#include "tracer/nvtx/payload_capture.h"
#include "tracer/store/arena.h"
#include "tracer/store/interned_names.h"
#include "tracer/store/thread_log.h"

namespace gprof::tracer {
namespace {

Drain drain GPROF_IN_ARENA;

void SayNotHandedOver() {
  Message message;
  message << "CUPTI did not hand over its last records; GPU work that ended after those in the trace is missing";
  Say(trace::NoticeLevel::kWarning, message);
}

// A process that lives on with another program in it has called exec.
trace::EndReason EndReasonOfDead() {
  if (Header().exit_began.load(std::memory_order_relaxed) != 0) return trace::EndReason::kExit;
  char path[64];
  snprintf(path, sizeof path, "/proc/%u/stat", Header().pid);
  return StartTicksOf(path) == Header().start_ticks ? trace::EndReason::kExec : trace::EndReason::kSalvaged;
}

}  // namespace

Drain& OwnDrain() { return drain; }

void Drain::Start(const trace::ProcessRecord& process, const trace::ProcessKey& key, bool may_move) {
  process_ = process;
  key_ = key;
  may_move_ = may_move;
  StartOutput();
}

uint64_t Drain::LastGpuNs() { return LastOperationEndNs(); }

// The writer thread says more of the child when it runs; should the child die before, this is what is known.
void Drain::ResetAfterFork() {
  *this = Drain();
  process_.is_forked = 1;
  process_.parent_pid = static_cast<uint32_t>(getppid());
}

void Drain::StartOutput() {
  Writer().Start(key_, may_move_);
  process_told_ = process_has_cupti_ = false;
  names_done_ = layouts_done_ = notices_done_ = 0;
  cupti_told_ns_ = 0;
  for (ThreadLog* log = FirstLog(); log != nullptr; log = log->next_log) log->told_name = {~0u};
  if (may_move_) Writer().RepeatFacts();
}

// Again when CUDA comes, perhaps long after the first NVTX call.
void Drain::TellProcess() {
  const CuptiFacts& cupti = FactsOfCupti();
  if (process_told_ && cupti.is_on == process_has_cupti_) return;
  if (cupti.is_on) {
    process_.cupti_path = cupti.path;
    process_.cupti_version = cupti.version;
    process_.driver_version = cupti.driver_version;
  }
  Writer().Add(process_);
  process_told_ = true;
  process_has_cupti_ = cupti.is_on;
}

// A name may be given late (pthread_setname_np), so it is looked up at every flush while the thread lives.
void Drain::TellThread(ThreadLog* log) {
  const trace::StringId name = is_salvage ? trace::StringId{} : ThreadName(log->tid);
  const bool is_new = log->told_name.value == ~0u;
  if (!is_new && (name.value == 0 || name == log->told_name)) return;
  Writer().Add(trace::ThreadRecord{log->tid, name});
  log->told_name = name;
}

uint64_t Drain::TakeLog(ThreadLog* log) {
  const LogState state = log->state.load(std::memory_order_acquire);
  if (state == LogState::kFree) return 0;
  uint64_t rows = 0;
  Cursor cursor;
  while (const RowHeader* row = log->Next(&cursor)) {
    if (log->told_name.value == ~0u) TellThread(log);
    ConvertRow(row, {log->tid, &log->nvtx, cursor}, clock_, &Writer());
    *cursor.at = cursor.next;
    ++rows;
  }
  Writer().CountLoss(trace::RecordKind{}, trace::LossReason::kNoMemory, log->TakeDropped());
  if (state == LogState::kEnded) log->Recycle();
  return rows;
}

uint64_t Drain::TakeRows() {
  uint64_t rows = 0;
  for (ThreadLog* log = FirstLog(); log != nullptr && IsReadable(log); log = log->next_log) rows += TakeLog(log);
  if (!is_salvage) Header().heartbeat_ns.store(MonotonicNs(), std::memory_order_relaxed);
  return rows;
}

void Drain::TakeOpenCalls() {
  for (ThreadLog* log = FirstLog(); log != nullptr && IsReadable(log); log = log->next_log) {
    // A call is no longer open when its row is written, so that one that is open now has no row among these.
    TakeLog(log);
    if (log->state.load(std::memory_order_acquire) == LogState::kFree) continue;
    const OpenCall& call = log->open_call;
    const uint64_t start = call.start.load(std::memory_order_acquire);
    if (!IsOfThisCapture(start)) continue;
    if (log->told_name.value == ~0u) TellThread(log);
    const uint64_t end = is_salvage ? clock_.ToStamp(last_ns_) : Stamp();
    const ApiRow row{{RowType::kApi, 0, sizeof(ApiRow) / 8},
                     call.correlation,
                     start,
                     end > start ? end : start,
                     0,
                     call.cbid,
                     call.domain,
                     1};
    ConvertRow(&row.header, {log->tid, &log->nvtx, {}}, clock_, &Writer());
  }
}

void Drain::TakeNames() {
  while (const NameEntry* e = NameAt(names_done_)) {
    switch (e->type) {
      case NameType::kDomain:
        Writer().Add(trace::NvtxDomainRecord{e->domain, e->name});
        break;
      case NameType::kCategory:
        Writer().Add(trace::NvtxCategoryRecord{e->domain, static_cast<uint32_t>(e->number), e->name});
        break;
      case NameType::kObject:
        Writer().Add(trace::NvtxNameRecord{clock_.ToNs(e->stamp), e->object, e->number, e->domain, e->name});
        break;
    }
    ++names_done_;  // twice rather than never, should the process die here
  }
}

void Drain::TakeLayouts() {
  while (const LayoutEntry* e = LayoutAt(layouts_done_)) {
    switch (e->kind) {
      case trace::RecordKind::kNvtxSchema:
        Writer().Add(e->schema);
        break;
      case trace::RecordKind::kNvtxSchemaEntry:
        Writer().Add(e->entry);
        break;
      default:
        Writer().Add(e->value);
        break;
    }
    ++layouts_done_;
  }
}

void Drain::TakeNotices() {
  while (const NoticeEntry* e = NoticeAt(notices_done_)) {
    if (notices_done_ >= notices_said_ && !is_salvage) TellStderr(*e);
    if (notices_said_ <= notices_done_) notices_said_ = notices_done_ + 1;
    Writer().Add(trace::NoticeRecord{clock_.ToNs(e->stamp), static_cast<uint8_t>(e->level), e->message},
                 {&notices_done_, notices_done_ + 1});
  }
}

void Drain::TakeLosses() {
  Writer().CountLoss(trace::RecordKind{}, trace::LossReason::kNoMemory, TakeRowsWithoutLog() + TakeDiscarded());
  Writer().CountLoss(trace::RecordKind{}, trace::LossReason::kCuptiDropped, TakeCuptiDropped());
}

// Read before every drain: what is converted then lies between two readings or a moment after the last.
void Drain::AddAnchor(bool is_record) {
  const Anchor anchor = ReadAnchor();
  clock_.Add(anchor);
  if (!is_record) return;
  Writer().Add(trace::ClockRecord{anchor.monotonic_ns, anchor.realtime_ns, clock_uses_tsc ? anchor.stamp : 0, 0,
                                  anchor.uncertainty_ns});
  const CuptiInstant cupti = LastCuptiInstant();
  if (cupti.monotonic_ns > cupti_told_ns_)
    Writer().Add(trace::ClockRecord{cupti.monotonic_ns, 0, 0, cupti.cupti_ns, 0});
  cupti_told_ns_ = cupti.monotonic_ns;
}

bool Drain::TakeAll(bool is_last) {
  // Long enough for a healthy CUPTI; what comes later is taken by the next flush.
  constexpr uint64_t kPatienceNs = 50u * 1000000u;
  constexpr uint64_t kLastPatienceNs = 2000u * 1000000u;
  TellProcess();
  if (CuptiIsActive()) gpu_is_complete_ = FlushActivity(is_last, is_last ? kLastPatienceNs : kPatienceNs);
  if (is_last && !gpu_is_complete_) SayNotHandedOver();
  AddAnchor(true);
  const bool has_work = DrainActivity(&Writer());
  if (CuptiIsActive()) LookForSecondCupti(is_last);
  TakeRows();
  TakeNames();
  TakeLayouts();
  TakeNotices();
  TakeLosses();
  Writer().Flush();
  return has_work;
}

// Nobody takes rows after this, so that a call of another thread that returns meanwhile is there once.
void Drain::TakeLast() {
  TakeOpenCalls();
  TakeNames();
  TakeLayouts();
  Writer().Flush();
}

void Drain::Salvage(uint64_t died_ns) {
  const trace::ArenaHeader& header = Header();
  Strings().ReleaseLock();
  last_ns_ = died_ns != 0 ? died_ns : header.heartbeat_ns.load(std::memory_order_relaxed);
  if (process_.pid == 0) {
    process_.pid = header.pid;
    process_.start_ns = header.start_ns;
    Start(process_, {header.host, header.start_ticks, header.pid, header.image}, false);
  }
  Writer().Resume();
  TellProcess();
  // On the machine that recorded, and not restarted since, the clocks go on.
  if (OwnKey(0).host == header.host) AddAnchor(false);
  SalvageActivity(&Writer());
  TakeRows();
  TakeOpenCalls();
  TakeNames();
  TakeLayouts();
  TakeNotices();
  TakeLosses();
  trace::EndRecord end{last_ns_, static_cast<uint8_t>(EndReasonOfDead()), Writer().chunks_written()};
  const bool was_flushed = end.reason == static_cast<uint8_t>(trace::EndReason::kExit) && gpu_is_complete_;
  gpu_is_complete_ = was_flushed || !process_has_cupti_;
  end.gpu_complete_until_ns = GpuCompleteUntilNs();
  Writer().Flush();
  end.chunks_written = Writer().chunks_written();
  Writer().Add(end);
  Writer().Flush();
}

}  // namespace gprof::tracer

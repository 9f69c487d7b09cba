#include "tracer/writing/thread_rows.h"

#include "tracer/capture/work_count.h"
#include "tracer/core/process_record.h"
#include "tracer/store/chunk_output.h"
#include "tracer/store/clock.h"
#include "tracer/store/memory/arena.h"
#include "tracer/store/memory/process_key.h"

namespace gprof::tracer {
namespace {

constexpr trace::StringId kUntold{~0u};

// A name may be given late (pthread_setname_np), so it is looked up at every flush while the thread lives.
void TellThread(ThreadLog* log) {
  const trace::StringId name = is_salvage ? trace::StringId{} : ThreadName(log->tid);
  const bool is_new = log->told_name == kUntold;
  if (!is_new && (name.value == 0 || name == log->told_name)) return;
  Output().Add(trace::ThreadRecord{log->tid, name});
  log->told_name = name;
}

// Read before rows are converted: their stamps then lie between two readings or a moment after the last.
void AddAnchor(bool is_record) {
  const Anchor anchor = ReadAnchor();
  StampClock().Add(anchor);
  if (!is_record) return;
  Output().Add(trace::ClockRecord{anchor.monotonic_ns, anchor.realtime_ns, clock_uses_counter ? anchor.stamp : 0, 0,
                                  anchor.uncertainty_ns});
}

uint64_t TakeRows() {
  uint64_t rows = 0;
  ForEachLog([&rows](ThreadLog* log) { rows += TakeRowsOf(log); });
  row_count.rows += rows;
  if (!is_salvage) Header().heartbeat_ns.store(MonotonicNs(), std::memory_order_relaxed);
  return rows;
}

void CountRowsWithoutLog() {
  Output().CountLoss(trace::RecordKind{}, trace::LossReason::kNoMemory, TakeRowsWithoutLog());
}

}  // namespace

void AddRow(const RowHeader* row, ThreadLog* log, Cursor cursor) {
  if (log->told_name == kUntold) TellThread(log);
  ConvertRow(row, {log, cursor, StampClock(), &Output()});
}

trace::InProgressRecord InProgressOf(const ThreadLog* log, uint32_t look, trace::ProgressKind kind, uint64_t start) {
  trace::InProgressRecord r;
  r.look = look;
  r.time_ns = MonotonicNs();
  r.since_ns = StampClock().ToNs(start);
  r.tid = log->tid;
  r.progress_kind = static_cast<uint8_t>(kind);
  return r;
}

uint64_t TakeRowsOf(ThreadLog* log) {
  if (!is_salvage && log->state.load(std::memory_order_acquire) == LogState::kLive) EndLogOfGoneThread(log);
  const LogState state = log->state.load(std::memory_order_acquire);
  if (state == LogState::kFree) return 0;
  if (!is_salvage && state == LogState::kLive && HasLaunched(*log)) PublishThread(*log);
  uint64_t rows = 0;
  Cursor cursor;
  while (const RowHeader* row = log->Next(&cursor)) {
    AddRow(row, log, cursor);
    *cursor.at = cursor.next;
    ++rows;
  }
  Output().CountLoss(trace::RecordKind{}, trace::LossReason::kNoMemory, log->TakeDropped());
  Output().CountLoss(trace::RecordKind{}, trace::LossReason::kSignalHandler, log->TakeDroppedInHandlers());
  if (state == LogState::kEnded) log->Recycle();
  return rows;
}

// The slope of the clock begins here.
void StartThreadRows() {
  ChooseClock();
  StampClock().Start(ReadAnchor());
  SetUpLogs();
}

void RetellThreads() {
  ForEachLog([](ThreadLog* log) { log->told_name = kUntold; });
}

void DrainThreadRows(DrainRound* round) {
  if (round->depth == Depth::kEnd) return;
  AddAnchor(round->depth != Depth::kReady);
  round->rows += TakeRows();
  if (round->depth != Depth::kReady) CountRowsWithoutLog();
}

void SalvageThreadRows(DrainRound* round) {
  // On the machine that recorded, and not restarted since, the clocks go on.
  if (OwnKey(0).host == Header().host) AddAnchor(false);
  round->rows += TakeRows();
  CountRowsWithoutLog();
}

}  // namespace gprof::tracer

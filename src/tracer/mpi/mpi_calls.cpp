#include "tracer/mpi/mpi_calls.h"

#include "tracer/capture/capture.h"
#include "tracer/core/config.h"
#include "tracer/imports/wrapped_call.h"
#include "tracer/mpi/mpi_library.h"
#include "tracer/mpi/mpi_wrappers.h"
#include "tracer/store/interned_names.h"
#include "tracer/store/memory/arena.h"
#include "tracer/store/thread_log.h"
#include "tracer/writing/thread_rows.h"

namespace gprof::tracer {
namespace {

constexpr uint64_t kShortPollNs = 1000;

// By handle, in the order in which they came. The world is the first.
constexpr uint32_t kMostCommunicators = 256;
uint64_t communicators[kMostCommunicators] GPROF_IN_ARENA = {};
uint32_t communicator_count GPROF_IN_ARENA = 0;

uint32_t NumberOfCommunicator(uint64_t handle) {
  if (handle == 0) return 0;
  if (communicator_count == 0) communicators[communicator_count++] = Mpi().world;
  for (uint32_t i = 0; i < communicator_count; ++i) {
    if (communicators[i] == handle) return i + 1;
  }
  if (communicator_count == kMostCommunicators) return 0;
  communicators[communicator_count++] = handle;
  return communicator_count;
}

// A poll that found nothing takes a fraction of this, and a program that spins makes millions of them a second.
bool IsShortPoll(std::size_t number, uint64_t duration_ns) {
  return duration_ns < kShortPollNs && IsPoll(MpiFunctionAt(number).arguments);
}

void Add(const MpiCallRow& row, uint64_t sent_bytes, uint64_t received_bytes, bool is_unfinished,
         const RowSource& source) {
  if (row.header.flags >= kMpiNumbers || !Exists(row.header.flags)) return;  // in salvage a row may say anything
  trace::MpiCallRecord r;
  r.start_ns = source.clock.ToNs(row.start);
  const uint64_t end_ns = source.clock.ToNs(row.start + UnpackDuration(row.duration));
  r.duration_ns = end_ns > r.start_ns ? end_ns - r.start_ns : 0;
  if (IsShortPoll(row.header.flags, r.duration_ns)) return;
  r.tid = source.log->tid;
  r.function = Names().Intern(SymbolOf(row.header.flags).text + 1);
  r.communicator = NumberOfCommunicator(row.communicator);
  r.communicator_size = row.communicator_size;
  r.sent_bytes = sent_bytes;
  r.received_bytes = received_bytes;
  r.peer = row.peer;
  r.tag = row.tag;
  r.error = row.error;
  r.is_unfinished = is_unfinished;
  source.output->Add(r, source.cursor);
}

void TakeOpenCallOf(ThreadLog* log, uint64_t died_ns) {
  if (log->state.load(std::memory_order_acquire) != LogState::kLive) return;
  const uint64_t start = log->open_mpi_call.start.load(std::memory_order_acquire);
  const uint64_t end = is_salvage ? StampClock().ToStamp(died_ns) : Stamp();
  if (start == 0 || end <= start) return;
  MpiCallRow row{RowHeaderOf<MpiCallRow>(RowType::kMpiCall), PackDuration(end - start), start, 0, 0, -1, -1, 0};
  row.header.flags = log->open_mpi_call.function;
  Add(row, 0, 0, true, {log, {}, StampClock(), &Output()});
}

void TellOpenCallOf(ThreadLog* log, uint32_t look) {
  if (log->state.load(std::memory_order_acquire) != LogState::kLive) return;
  const uint64_t start = log->open_mpi_call.start.load(std::memory_order_acquire);
  const uint8_t function = log->open_mpi_call.function;
  if (start == 0 || function >= kMpiNumbers || !Exists(function)) return;
  trace::InProgressRecord r = InProgressOf(log, look, trace::ProgressKind::kMpiCall, start);
  r.name = Names().Intern(SymbolOf(function).text + 1);
  Output().Add(r);
}

// Keeps most of the short polls out of the buffers. The clock's pace is a guess at first, so that half is left to
// IsShortPoll(), which knows it better.
void SetShortestPoll() {
  const uint64_t now = MonotonicNs();
  mpi_poll_stamps.store(StampClock().ToStamp(now) - StampClock().ToStamp(now - kShortPollNs / 2),
                        std::memory_order_relaxed);
}

}  // namespace

void StartMpiCalls() {
  if (!Config().wants_mpi) return;
  SetShortestPoll();
  WrapMpi();
  WatchForMpi();
  mpi_is_on.store(IsCapturing(), std::memory_order_release);
}

void SwitchMpiCalls(bool on) {
  if (Config().wants_mpi) mpi_is_on.store(on, std::memory_order_release);
}

void DrainMpiCalls(DrainRound* round) {
  if (!Config().wants_mpi) return;
  if (round->depth == Depth::kEnd) {
    TakeOpenMpiCalls(round);
    return StopMpiCalls(StopReason::kThreadsEnd);
  }
  if (round->look != 0) ForEachLog([round](ThreadLog* log) { TellOpenCallOf(log, round->look); });
  if (round->depth != Depth::kReady) SetShortestPoll();
}

void TakeOpenMpiCalls(DrainRound* round) {
  if (!Config().wants_mpi) return;
  ForEachLog([round](ThreadLog* log) { TakeOpenCallOf(log, round->end.time_ns); });
}

void StopMpiCalls(StopReason why) {
  if (why != StopReason::kDriverGoes) mpi_is_on.store(false, std::memory_order_release);
}

void ResetMpiCallsAfterFork() { communicator_count = 0; }

void ConvertMpiCallRow(const RowHeader* header, const RowSource& source) {
  const auto& row = *reinterpret_cast<const MpiCallRow*>(header);
  if (header->words < sizeof(MpiCallRowWithBytes) / 8) return Add(row, 0, 0, false, source);
  const auto& longer = *reinterpret_cast<const MpiCallRowWithBytes*>(header);
  Add(row, longer.sent_bytes, longer.received_bytes, false, source);
}

}  // namespace gprof::tracer

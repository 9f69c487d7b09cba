#include "tracer/writing/drain.h"

#include <stdio.h>

#include "tracer/capture/capture.h"
#include "tracer/core/notice.h"
#include "tracer/core/process_record.h"
#include "tracer/store/chunk_output.h"
#include "tracer/store/interned_names.h"
#include "tracer/store/memory/arena.h"
#include "tracer/store/memory/process_key.h"

namespace gprof::tracer {
namespace {

bool can_move = false;

trace::ProcessKey KeyOf(const trace::ArenaHeader& h) { return {h.host, h.start_ticks, h.pid, h.image}; }

void BeginOutput(bool keeps_standing) {
  Header().output_run.store(Config().output_run, std::memory_order_relaxed);
  Output().Start(KeyOf(Header()), keeps_standing);
}

void WriteEndRecord(DrainRound* round, trace::EndReason reason) {
  round->end.reason = static_cast<uint8_t>(reason);
  round->end.chunks_written = Output().chunks_written();
  Output().Add(round->end);
  Output().Flush();
}

// A process that lives on with another program in it has called exec.
trace::EndReason EndReasonOfDead() {
  if (Header().exit_began.load(std::memory_order_relaxed) != 0) return trace::EndReason::kExit;
  char path[64];
  snprintf(path, sizeof path, "/proc/%u/stat", Header().pid);
  return StartTicksOf(path) == Header().start_ticks ? trace::EndReason::kExec : trace::EndReason::kSalvaged;
}

void EndInOrder(DrainRound* round) {
  round->end.time_ns = MonotonicNs();
  WriteEndRecord(round, trace::EndReason::kExit);
  TakeNotices(round);  // of what came up too late, a disk that filled up during the last write for example
  FinishArena(Output().LeaveRest());
}

}  // namespace

void StartTrace(bool is_forked, bool may_move) {
  can_move = may_move;
  SetOwnProcess(is_forked);
  BeginOutput(can_move);
  PrepareCollectors();
  RetellEverything();
}

void StartOutput() {
  BeginOutput(can_move);
  RetellEverything();
  if (can_move) Output().RepeatStandingRecords();
}

DrainRound Drain(Depth depth, uint32_t look) {
  DrainRound round;
  round.depth = depth;
  round.look = look;
  DrainCollectors(&round);
  if (depth != Depth::kReady) Output().Flush();
  return round;
}

void WriteEnd() {
  Drain(Depth::kLast);
  DrainRound round = Drain(Depth::kEnd);
  EndCaptureWithProcess();
  EndInOrder(&round);
}

void WriteRefusal(const Message& why) {
  SetOwnProcess(false);
  BeginOutput(false);
  Say(trace::NoticeLevel::kWarning, why);
  DrainRound round;
  round.depth = Depth::kAll;
  TellProcess(&round);
  TakeNotices(&round);
  Output().Flush();
  EndInOrder(&round);
}

void WriteStopped(DrainRound round) {
  round.end.time_ns = MonotonicNs();
  WriteEndRecord(&round, trace::EndReason::kStopped);
}

void SalvageTrace(uint64_t died_ns) {
  const trace::ArenaHeader& header = Header();
  Names().ReleaseLock();
  DrainRound round;
  round.depth = Depth::kEnd;
  round.end.time_ns = died_ns != 0 ? died_ns : header.heartbeat_ns.load(std::memory_order_relaxed);
  const trace::EndReason reason = EndReasonOfDead();
  round.end.reason = static_cast<uint8_t>(reason);  // collectors ask for it
  if (!IsOwnProcessKnown()) TakeOwnProcessFrom(header);
  if (!Output().HasStarted()) StartOutput();
  Output().Resume();
  SalvageCollectors(&round);
  Output().Flush();
  WriteEndRecord(&round, reason);
  Output().LeaveRest();
}

}  // namespace gprof::tracer

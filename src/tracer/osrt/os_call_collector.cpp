#include "tracer/osrt/os_call_collector.h"

#include "tracer/capture/capture.h"
#include "tracer/core/config.h"
#include "tracer/core/notice.h"
#include "tracer/imports/wrapped_call.h"
#include "tracer/osrt/call_rate.h"
#include "tracer/osrt/descriptors.h"
#include "tracer/osrt/os_objects.h"
#include "tracer/osrt/os_rows.h"
#include "tracer/osrt/python_gil.h"
#include "tracer/osrt/wakers/channels.h"
#include "tracer/osrt/wakers/wakers.h"
#include "tracer/osrt/wrappers.h"
#include "tracer/store/interned_names.h"
#include "tracer/store/memory/arena.h"
#include "tracer/store/thread_log.h"
#include "tracer/writing/thread_rows.h"

namespace gprof::tracer {
namespace {

// By default, calls that come in masses are left out where they are short: what remains is what holds up a program.
CallRate call_rate;
constexpr uint64_t kStep = 4, kLargestFactor = 256;
uint64_t factor = 1;  // of the thresholds
uint64_t calls_added = 0;

const WrappedFunction* FunctionAt(uint32_t number) {
  std::size_t count = 0;
  const WrappedFunction* const all = WrappedFunctions(&count);
  return number < count ? &all[number] : nullptr;
}

// The clock's pace is known a little better each time; what is too short all the same is dropped when it is converted.
void SetThresholds() {
  const TracerConfig& config = Config();
  constexpr uint64_t kLongNs = 1'000'000;
  const uint64_t now = MonotonicNs();
  const uint64_t stamps = StampClock().ToStamp(now) - StampClock().ToStamp(now - kLongNs);
  const auto in_stamps = [stamps](uint64_t ns) { return ns * factor * stamps / kLongNs; };
  os_thresholds.launching.store(in_stamps(config.osrt_threshold_ns), std::memory_order_relaxed);
  os_thresholds.other.store(in_stamps(config.osrt_other_threshold_ns), std::memory_order_relaxed);
  const uint64_t stack_ns = config.osrt_stack_ns;
  const uint64_t stack_stamps = StampClock().ToStamp(now) - StampClock().ToStamp(now - (stack_ns < now ? stack_ns : 0));
  os_thresholds.stacks.store(stack_ns == kNever ? kNever : stack_stamps, std::memory_order_relaxed);
  os_thresholds.files.store(in_stamps(config.wants_file_access ? 0 : config.osrt_threshold_ns),
                            std::memory_order_relaxed);
}

void StepDown() {
  if (!Config().osrt_steps_down || Config().wants_file_access || factor >= kLargestFactor) return;
  if (!call_rate.IsTooHigh(calls_added, MonotonicNs())) return;
  factor *= kStep;
  SetThresholds();
  Message message;
  message << "there are many operating system calls: from here on, only those of at least "
          << factor * Config().osrt_threshold_ns / 1000 << " us in launching threads and "
          << factor * Config().osrt_other_threshold_ns / 1000
          << " us in others are recorded; --osrt-threshold sets one limit for all";
  Say(trace::NoticeLevel::kInfo, message);
}

bool IsLongEnough(uint64_t duration_ns) {
  return Config().wants_file_access || duration_ns >= Config().osrt_threshold_ns;
}

void SetBytes(uint64_t number, trace::OsCallRecord* r) {
  r->size_bytes = number & 0xffffffffu;
  r->result = r->error != 0 ? -1 : static_cast<int64_t>(r->size_bytes);
}

void SetLock(uint64_t address, trace::OsCallRecord* r) {
  if (r->object_kind == static_cast<uint8_t>(trace::OsObject::kCondition) && IsInPythonRuntime(address)) {
    r->object_kind = static_cast<uint8_t>(trace::OsObject::kGil);
    r->path = Names().Intern("GIL");
  }
  r->object = NumberOfLock(address);
  r->result = r->error;
}

void SetKind(trace::StringId path, trace::OsObject usual, trace::OsCallRecord* r) {
  r->path = path;
  r->object_kind = static_cast<uint8_t>(KindOfFile(path, usual));
}

void SetDescriptor(uint64_t number, uint64_t start, uint32_t tid, trace::OsObject usual, trace::OsCallRecord* r) {
  r->object = number >> 32;
  SetBytes(number, r);
  if (!is_salvage) SetKind(LookUpDescriptor(tid, static_cast<int>(r->object), start), usual, r);
}

void SetObject(const OsCallRow& row, const WrappedFunction& function, uint32_t tid, trace::OsCallRecord* r) {
  const uint64_t number = NumberOf(row.what);
  r->object_kind = static_cast<uint8_t>(function.object);
  switch (DetailOf(row.what)) {
    case OsDetail::kAddress:
      return SetLock(number, r);
    case OsDetail::kDescriptor:
      return SetDescriptor(number, row.start, tid, function.object, r);
    case OsDetail::kSocket:
      r->object_kind = static_cast<uint8_t>(trace::OsObject::kSocket);
      return SetDescriptor(number, row.start, tid, trace::OsObject::kSocket, r);
    case OsDetail::kName:
      SetBytes(number, r);
      if (function.object == trace::OsObject::kSocket) {
        r->path = {static_cast<uint32_t>(number >> 32)};
        return;
      }
      return SetKind({static_cast<uint32_t>(number >> 32)}, function.object, r);
    case OsDetail::kLength:
      r->size_bytes = number;
      return;
    case OsDetail::kProcess:
      r->object = static_cast<int32_t>(number) > 0 ? number : 0;
      return;
    case OsDetail::kNothing:
      return;
  }
}

void SetMore(const OsCallRow& row, trace::OsCallRecord* r) {
  if (row.header.words < sizeof(LongOsCallRow) / 8) return;
  const auto& longer = *reinterpret_cast<const LongOsCallRow*>(&row);
  r->other_tid = longer.other_tid;
  r->stack = longer.stack;
  r->waker_stack = longer.waker_stack;
}

void Add(const OsCallRow& row, bool is_unfinished, const RowSource& source) {
  const WrappedFunction* const function = FunctionAt(row.header.flags);
  if (function == nullptr) return;
  trace::OsCallRecord r;
  r.start_ns = source.clock.ToNs(row.start);
  const uint64_t end_ns = source.clock.ToNs(row.start + UnpackDuration(row.duration));
  r.duration_ns = end_ns > r.start_ns ? end_ns - r.start_ns : 0;
  if (!is_unfinished && !IsLongEnough(r.duration_ns)) return;
  r.tid = source.log->tid;
  r.function = Names().Intern(function->name);
  r.error = ErrorOf(row.what);
  SetMore(row, &r);
  r.is_unfinished = is_unfinished;
  SetObject(row, *function, r.tid, &r);
  ++calls_added;
  source.output->Add(r, source.cursor);
}

// Of the first argument alone, as the call has not returned.
uint64_t WhatOfOpenCall(trace::OsObject object, uint64_t first) {
  if (object >= trace::OsObject::kMutex && object <= trace::OsObject::kThread && object != trace::OsObject::kFutex) {
    return PackWhat(OsDetail::kAddress, first, 0);
  }
  const bool is_descriptor = object == trace::OsObject::kFile || object == trace::OsObject::kSocket;
  if (!is_descriptor || first > 0xfffff) return PackWhat(OsDetail::kNothing, 0, 0);
  return PackWhat(OsDetail::kDescriptor, first << 32, 0);
}

void TakeOpenCallOf(ThreadLog* log, uint64_t died_ns) {
  if (log->state.load(std::memory_order_acquire) != LogState::kLive) return;
  const OpenOsCall& call = log->open_os_call;
  const uint64_t start = call.start.load(std::memory_order_acquire);
  const WrappedFunction* const function = FunctionAt(call.function);
  if (start == 0 || function == nullptr) return;
  const uint64_t end = is_salvage ? StampClock().ToStamp(died_ns) : Stamp();
  if (end <= start || StampClock().ToNs(end) - StampClock().ToNs(start) < Config().osrt_threshold_ns) return;
  OsCallRow row{RowHeaderOf<OsCallRow>(RowType::kOsCall), PackDuration(end - start), start,
                WhatOfOpenCall(function->object, call.first_argument)};
  row.header.flags = call.function;
  Add(row, true, {log, {}, StampClock(), &Output()});
}

void TellOpenCallOf(ThreadLog* log, uint32_t look) {
  if (log->state.load(std::memory_order_acquire) != LogState::kLive) return;
  const uint64_t start = log->open_os_call.start.load(std::memory_order_acquire);
  const WrappedFunction* const function = FunctionAt(log->open_os_call.function);
  if (start == 0 || function == nullptr) return;
  trace::InProgressRecord r = InProgressOf(log, look, trace::ProgressKind::kOsCall, start);
  r.name = Names().Intern(function->name);
  Output().Add(r);
}

}  // namespace

void StartOsCalls() {
  if (!Config().wants_osrt) return;
  SetThresholds();
  os_thresholds.is_on.store(IsCapturing(), std::memory_order_release);
}

void PrepareOsCalls() {
  if (!Config().wants_osrt) return;
  MapWriteNotes();
  WrapFunctions(Config().osrt_functions);
  WatchForPython();
}

void SwitchOsCalls(bool on) {
  if (Config().wants_osrt) os_thresholds.is_on.store(on, std::memory_order_release);
}

void DrainOsCalls(DrainRound* round) {
  if (!Config().wants_osrt) return;
  if (round->depth == Depth::kEnd) {
    TakeOpenOsCalls(round);
    return StopOsCalls(StopReason::kThreadsEnd);
  }
  if (round->look != 0) ForEachLog([round](ThreadLog* log) { TellOpenCallOf(log, round->look); });
  StepDown();
  if (round->depth == Depth::kReady) return;
  SetThresholds();
  if (CapturesAreOver()) StopOsCalls(StopReason::kThreadsEnd);
}

void TakeOpenOsCalls(DrainRound* round) {
  if (!Config().wants_osrt) return;
  ForEachLog([round](ThreadLog* log) { TakeOpenCallOf(log, round->end.time_ns); });
}

void StopOsCalls(StopReason why) {
  if (why != StopReason::kDriverGoes) os_thresholds.is_on.store(false, std::memory_order_release);
}

void ResetOsCallsAfterFork() {
  ForgetLocks();
  ForgetWaits();
  factor = 1;
}

void ConvertOsCallRow(const RowHeader* header, const RowSource& source) {
  Add(*reinterpret_cast<const OsCallRow*>(header), false, source);
}

}  // namespace gprof::tracer

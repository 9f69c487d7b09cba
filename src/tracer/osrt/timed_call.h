// A call of a wrapped function. Timed() does the same for all of them:
//
//   NoteBefore      forgets what the call makes untrue, such as the path of a descriptor that is closed, and leaves the
//                   thread's name where it writes
//   real            the function itself, between two time stamps
//   RememberAfter   remembers what the call made: the path of a descriptor that was opened
//   TellCall        for the few calls that took long: what the call was about (WhatOf), and a row of it (WriteCall)
//
// What there is to forget, remember and tell follows from `How`. It is a template argument, as are the arguments of the
// function, so that a short call costs two stamps and a comparison.
#pragma once

#include <errno.h>

#include <cstdint>
#include <type_traits>

#include "tracer/imports/wrapped_call.h"
#include "tracer/osrt/call_arguments.h"
#include "tracer/osrt/call_subject.h"
#include "tracer/osrt/descriptors.h"
#include "tracer/osrt/wakers/channels.h"
#include "tracer/osrt/wakers/wakers.h"
#include "tracer/osrt/wrappers.h"
#include "tracer/store/thread_log.h"

namespace gprof::tracer {

// A finished call, the thread that it waited for and the stack from which that ended the wait, where they are known,
// and the frame of its wrapper.
struct FinishedCall {
  uint64_t start, stamps;
  Waker other;
  uintptr_t frame;
};

// What follows from the function alone.
struct CallTraits {
  bool may_hold_allocator, is_of_files, is_of_memory;
};

// Of a call that took long by the lower of the two thresholds: a row of it, if it did by that of its thread.
void WriteCall(uint8_t number, const CallTraits& traits, const FinishedCall& call, uint64_t what);

template <How kHow, class... Arguments>
inline void NoteBefore(Arguments... arguments) {
  if constexpr (kHow == How::kWrite) NoteWrite(Argument<0>(arguments...));
  if constexpr (kHow == How::kCondition) {  // it unlocks the mutex
    if (IsWaitedFor(*Argument<1>(arguments...))) NoteWake(reinterpret_cast<uintptr_t>(Argument<1>(arguments...)));
  }
  if constexpr (kHow == How::kConnect) SetEndOfDescriptor(Argument<0>(arguments...), kUnknownEnd);
  if constexpr (kHow == How::kClose) ForgetDescriptor(Argument<0>(arguments...));
  if constexpr (kHow == How::kDuplicate) ForgetDescriptor(Argument<1>(arguments...));
  if constexpr (kHow == How::kFclose) ForgetDescriptor(DescriptorOf(Argument<0>(arguments...)));
}

template <How kHow, class Result, class... Arguments>
inline void RememberAfter(Result result, Arguments... arguments) {
  if constexpr (kHow == How::kOpen) {
    if (result >= 0) RememberDescriptor(result, Argument<0>(arguments...));
  }
  if constexpr (kHow == How::kOpenAt) {
    if (result >= 0) RememberDescriptor(result, Argument<1>(arguments...));
  }
  if constexpr (kHow == How::kSocket || kHow == How::kAccept) {
    if (result >= 0) RememberSocket(result);
  }
  if constexpr (kHow == How::kSocketPair) {
    if (result != 0) return;
    RememberSocket(Argument<3>(arguments...)[0]);
    RememberSocket(Argument<3>(arguments...)[1]);
    RememberPair(Argument<3>(arguments...)[0], Argument<3>(arguments...)[1]);
  }
  if constexpr (kHow == How::kFopen) {
    if (result != nullptr) RememberDescriptor(DescriptorOf(result), Argument<0>(arguments...));
  }
}

// Writes a row of it if it took long.
template <How kHow, bool kMayHoldAllocator, class Result, class... Arguments>
__attribute__((noinline, cold)) void TellCall(uint8_t number, const FinishedCall& call, Result result,
                                              Arguments... arguments) {
  if (!os_thresholds.is_on.load(std::memory_order_relaxed)) return;
  // By hand: an ErrnoGuard here would have to be released when a cancelled thread is unwound.
  const int kept = errno;
  const uint32_t error = HasFailed<kHow>(result)   ? static_cast<uint32_t>(kept)
                         : HasRunOut<kHow>(result) ? uint32_t{ETIMEDOUT}
                                                   : 0;
  constexpr CallTraits kTraits = {kMayHoldAllocator, IsOfFiles(kHow), kHow == How::kLength};
  FinishedCall told = call;
  if (told.other.tid == 0) told.other.tid = WriterFor<kHow>(call.start, result, arguments...);
  WriteCall(number, kTraits, told, WhatOf<kHow>(error, result, arguments...));
  errno = kept;
}

// For the end of the process: what the thread is in.
inline void NoteOpenCall(ThreadLog* log, uint8_t number, uint64_t first, uint64_t start) {
  if (log == nullptr) return;
  log->open_os_call.function = number;
  log->open_os_call.first_argument = first;
  log->open_os_call.start.store(start, std::memory_order_relaxed);
}

// The first argument as a number.
template <class T, class... Rest>
inline uint64_t FirstOf(T first, Rest...) {
  if constexpr (std::is_pointer_v<T>) return reinterpret_cast<uintptr_t>(first);
  if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) return static_cast<uint64_t>(first);
  return 0;
}

// Of a wait that somebody may end by a signal or a post.
template <How kHow, class... Arguments>
WaitPlace* BeginWaitOf(const ThreadLog* log, uint64_t start, Arguments... arguments) {
  if constexpr (IsOfLocks(kHow) || kHow == How::kSem)
    return BeginWait(reinterpret_cast<uintptr_t>(Argument<0>(arguments...)), log, start);
  if constexpr (kHow == How::kFutex) return BeginWait(static_cast<uintptr_t>(Argument<1>(arguments...)), log, start);
  return nullptr;
}

// A wait that ran out of time was ended by nobody.
template <How kHow, class Result>
Waker OtherOf(WaitPlace* place, uint32_t holder_tid, Result result) {
  if constexpr (IsOfLocks(kHow) || kHow == How::kSem || kHow == How::kFutex) {
    const Waker waker = place == nullptr ? Waker{} : EndWait(place, holder_tid);
    if (result == 0 && waker.tid != 0) return waker;
  }
  return {holder_tid, 0};
}

template <How kHow, bool kMayHoldAllocator, class Result, class... Arguments>
inline __attribute__((always_inline)) Result Timed(const WrapTarget& target, Arguments... arguments) {
  auto* const real = reinterpret_cast<Result (*)(Arguments...)>(target.real);
  const auto frame = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  NoteBefore<kHow>(arguments...);
  if (__builtin_expect(!os_thresholds.is_on.load(std::memory_order_relaxed) || frame < outer_frame, 0)) {
    const Result result = real(arguments...);
    RememberAfter<kHow>(result, arguments...);
    return result;
  }
  ThreadLog* const log = own_log;
  const uint32_t holder_tid = HolderOf<kHow>(arguments...);
  const uint64_t start = Stamp();
  WaitPlace* const place = BeginWaitOf<kHow>(log, start, arguments...);
  outer_frame = frame;
  NoteOpenCall(log, target.number, FirstOf(arguments..., 0), start);
  const Result result = real(arguments...);
  const uint64_t stamps = Stamp() - start;
  outer_frame = 0;
  const Waker other = OtherOf<kHow>(place, holder_tid, result);
  if (log != nullptr) log->open_os_call.start.store(0, std::memory_order_relaxed);
  RememberAfter<kHow>(result, arguments...);
  const auto& threshold = IsOfFiles(kHow) ? os_thresholds.files : os_thresholds.launching;
  if (__builtin_expect(stamps >= threshold.load(std::memory_order_relaxed), 0)) {
    TellCall<kHow, kMayHoldAllocator>(target.number, FinishedCall{start, stamps, other, frame}, result, arguments...);
  }
  return result;
}

}  // namespace gprof::tracer

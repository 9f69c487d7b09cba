// What a call is about, as a row has it: a descriptor or path, a lock and who has it, an error.
#pragma once

#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/select.h>

#include <cstdint>
#include <tuple>
#include <type_traits>

#include "tracer/osrt/call_arguments.h"
#include "tracer/osrt/os_rows.h"
#include "tracer/osrt/python_gil.h"
#include "tracer/osrt/wakers/channels.h"
#include "tracer/osrt/wakers/shared_memory.h"

namespace gprof::tracer {

uint64_t WhatOfDescriptor(int descriptor, uint64_t bytes, uint32_t error);
uint64_t WhatOfName(const char* text, uint32_t error);
// The descriptor of a stream, once the call has returned. libc does not lock for it.
int DescriptorOf(FILE* stream);

// Who wrote, since then, into one that a call has found ready.
uint32_t WriterOfReady(const pollfd* all, nfds_t count, uint64_t since_stamp);
uint32_t WriterOfReady(const fd_set* to_read, int count, uint64_t since_stamp);
uint32_t WriterOfReady(int set, const epoll_event* events, int count, uint64_t since_stamp);

// The argument with that number, of as many as the function has.
template <std::size_t kPlace, class... Arguments>
auto Argument(Arguments... arguments) {
  return std::get<kPlace>(std::tuple<Arguments...>(arguments...));
}

// Whether errno says why: functions tell in different ways.
template <How kHow, class Result>
bool HasFailed(Result result) {
  if constexpr (kHow == How::kFopen || kHow == How::kFgets) return result == nullptr;
  if constexpr (std::is_pointer_v<Result>) return reinterpret_cast<intptr_t>(result) == -1;
  if constexpr (kHow == How::kFread || kHow == How::kHost) return false;
  if constexpr (std::is_integral_v<Result> && std::is_signed_v<Result>) return result == -1;
  return false;
}

// Whether the wait ended because its time was over: what other functions report by an error.
template <How kHow, class Result>
bool HasRunOut(Result result) {
  if constexpr (kHow == How::kPoll || kHow == How::kSelect || kHow == How::kEpoll) return result == 0;
  return false;
}

// The thread that has a lock when it is waited for. glibc notes it in the lock, at the same place in all its versions;
// of readers, of whom there may be several, it notes none. The condition may be that of Python's lock.
template <How kHow, class First, class... Rest>
uint32_t HolderOf(First first, Rest...) {
  if constexpr (kHow == How::kMutex) {
    const auto* const mutex = reinterpret_cast<const pthread_mutex_t*>(first);
    return static_cast<uint32_t>(__atomic_load_n(&mutex->__data.__owner, __ATOMIC_RELAXED));
  } else if constexpr (kHow == How::kRwLock) {
    const auto* const lock = reinterpret_cast<const pthread_rwlock_t*>(first);
    return static_cast<uint32_t>(__atomic_load_n(&lock->__data.__cur_writer, __ATOMIC_RELAXED));
  } else if constexpr (kHow == How::kCondition) {
    const int kept = errno;
    const uint32_t holder_tid = HolderOfGil(reinterpret_cast<uintptr_t>(first));
    errno = kept;
    return holder_tid;
  } else {
    return 0;
  }
}
template <How>
uint32_t HolderOf() {
  return 0;
}

// glibc notes it in the lock: of a mutex that inherits priorities or is robust in another way. An atomic load would be
// an instruction of its own.
inline bool IsWaitedFor(const pthread_mutex_t& mutex) { return mutex.__data.__lock == 2; }
inline bool IsWaitedFor(const pthread_rwlock_t& lock) {
  constexpr unsigned kIsUsed = 2;  // of each of the two futexes in it
  return ((__atomic_load_n(&lock.__data.__wrphase_futex, __ATOMIC_RELAXED) |
           __atomic_load_n(&lock.__data.__writers_futex, __ATOMIC_RELAXED)) &
          kIsUsed) != 0;
}

// Whether other processes wake who waits for a futex by that operation.
constexpr bool IsOfProcesses(long operation) { return (operation & FUTEX_PRIVATE_FLAG) == 0; }

// The semaphore or futex that a call waits for, where processes share it; else 0.
template <How kHow, class... Arguments>
uintptr_t SharedAddressOf(Arguments... arguments) {
  if constexpr (kHow == How::kFutex) {
    return IsOfProcesses(Argument<2>(arguments...)) ? static_cast<uintptr_t>(Argument<1>(arguments...)) : 0;
  } else if constexpr (std::is_same_v<decltype(Argument<0>(arguments...)), sem_t*>) {
    return IsShared(Argument<0>(arguments...)) ? reinterpret_cast<uintptr_t>(Argument<0>(arguments...)) : 0;
  } else {
    return 0;
  }
}

// Who wrote what a call waited for that has returned with it: of several descriptors the first that is ready.
template <How kHow, class Result, class... Arguments>
uint32_t WriterFor(uint64_t start, Result result, Arguments... arguments) {
  if constexpr (kHow == How::kBytes) {
    return result >= 0 ? WriterOf(Argument<0>(arguments...), start) : 0;
  } else if constexpr (kHow == How::kPoll) {
    return result > 0 ? WriterOfReady(Argument<0>(arguments...), Argument<1>(arguments...), start) : 0;
  } else if constexpr (kHow == How::kSelect) {
    return result > 0 ? WriterOfReady(Argument<1>(arguments...), Argument<0>(arguments...), start) : 0;
  } else if constexpr (kHow == How::kEpoll) {
    return result > 0 ? WriterOfReady(Argument<0>(arguments...), Argument<1>(arguments...), result, start) : 0;
  } else if constexpr (kHow == How::kSem || kHow == How::kFutex) {
    const uintptr_t address = result == 0 ? SharedAddressOf<kHow>(arguments...) : 0;
    return address == 0 ? 0 : SharedWakerOf(address, start);
  } else {
    return 0;
  }
}

// What the call was about, and its error, as a row has them.
template <How kHow, class Result, class... Arguments>
uint64_t WhatOf(uint32_t error, Result result, Arguments... arguments) {
  if constexpr (IsOfLocks(kHow)) {
    return PackWhat(OsDetail::kAddress, reinterpret_cast<uintptr_t>(Argument<0>(arguments...)),
                    static_cast<uint32_t>(result));
  } else if constexpr (kHow == How::kNumber) {
    return PackWhat(OsDetail::kAddress, Argument<0>(arguments...), static_cast<uint32_t>(result));
  } else if constexpr (kHow == How::kSem) {
    return PackWhat(OsDetail::kAddress, reinterpret_cast<uintptr_t>(Argument<0>(arguments...)), error);
  } else if constexpr (kHow == How::kFutex) {
    return PackWhat(OsDetail::kAddress, static_cast<uintptr_t>(Argument<1>(arguments...)), error);
  } else if constexpr (kHow == How::kBytes || kHow == How::kWrite) {
    return WhatOfDescriptor(Argument<0>(arguments...), result > 0 ? static_cast<uint64_t>(result) : 0, error);
  } else if constexpr (kHow == How::kDescriptor || kHow == How::kConnect || kHow == How::kEpoll ||
                       kHow == How::kClose || kHow == How::kAccept) {
    return WhatOfDescriptor(Argument<0>(arguments...), 0, error);
  } else if constexpr (kHow == How::kSource) {
    return WhatOfDescriptor(Argument<1>(arguments...), result > 0 ? static_cast<uint64_t>(result) : 0, error);
  } else if constexpr (kHow == How::kOpen || kHow == How::kFopen || kHow == How::kHost) {
    return WhatOfName(Argument<0>(arguments...), error);
  } else if constexpr (kHow == How::kOpenAt) {
    return WhatOfName(Argument<1>(arguments...), error);
  } else if constexpr (kHow == How::kLength) {
    return PackWhat(OsDetail::kLength, Argument<1>(arguments...), error);
  } else if constexpr (kHow == How::kProcess) {
    return PackWhat(OsDetail::kProcess, static_cast<uint32_t>(Argument<0>(arguments...)), error);
  } else if constexpr (kHow == How::kPoll) {
    const bool is_one = Argument<1>(arguments...) == 1 && Argument<0>(arguments...) != nullptr;
    return WhatOfDescriptor(is_one ? Argument<0>(arguments...)->fd : -1, 0, error);
  } else if constexpr (kHow == How::kFflush) {
    return WhatOfDescriptor(DescriptorOf(Argument<0>(arguments...)), 0, error);
  } else if constexpr (kHow == How::kFread) {
    return WhatOfDescriptor(DescriptorOf(Argument<3>(arguments...)), result * Argument<1>(arguments...), error);
  } else if constexpr (kHow == How::kFgets) {
    return WhatOfDescriptor(DescriptorOf(Argument<2>(arguments...)), 0, error);
  } else {
    return PackWhat(OsDetail::kNothing, 0, error);
  }
}

}  // namespace gprof::tracer

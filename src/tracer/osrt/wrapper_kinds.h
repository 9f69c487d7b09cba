// What stands in the place of a wrapped function: for most a function of the same signature around Timed(), and for
// some one that looks first whether there is anything to wait for.
#pragma once

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/syscall.h>

#include <cstdint>
#include <type_traits>

#include "tracer/osrt/descriptors.h"
#include "tracer/osrt/timed_call.h"
#include "tracer/osrt/wakers/channels.h"
#include "tracer/osrt/wakers/epoll_sets.h"
#include "tracer/osrt/wakers/shared_memory.h"
#include "tracer/osrt/wakers/wakers.h"
#include "tracer/osrt/wrappers.h"

namespace gprof::tracer {

// A name as a template argument makes each function a type of its own.
template <std::size_t kSize>
struct SymbolText {
  char text[kSize];
  constexpr SymbolText(const char (&from)[kSize]) {  // NOLINT: from a literal
    for (std::size_t i = 0; i < kSize; ++i) text[i] = from[i];
  }
};

// Where the real function is; one for each symbol.
template <SymbolText kSymbol>
constinit WrapTarget target_of{};

// A function with the signature of the real one, whose arguments it takes apart.
template <SymbolText kSymbol, How kHow, trace::OsObject kObject, class Function>
struct Wrapper;

template <SymbolText kSymbol, How kHow, trace::OsObject kObject, class Result, class... Arguments>
struct Wrapper<kSymbol, kHow, kObject, Result (*)(Arguments...)> {
  static Result Call(Arguments... arguments) {
    return Timed<kHow, MayHoldAllocator(kHow, kObject), Result>(target_of<kSymbol>, arguments...);
  }
};

// Tries first, so that a lock that nobody holds costs no look at the clock.
template <SymbolText kSymbol, How kHow, trace::OsObject kObject, class Lock>
struct LockWrapper {
  static int Call(Lock* lock) {
    const int result = reinterpret_cast<int (*)(Lock*)>(target_of<kSymbol>.attempt)(lock);
    if (__builtin_expect(result != EBUSY, 1)) return result;
    return Wait(lock);
  }
  __attribute__((noinline)) static int Wait(Lock* lock) {
    return Timed<kHow, MayHoldAllocator(kHow, kObject), int>(target_of<kSymbol>, lock);
  }
};

// A semaphore that is free is taken only where the thread has not been cancelled, as sem_wait has it.
struct SemaphoreWrapper {
  static int Call(sem_t* semaphore) {
    pthread_testcancel();
    const int error = errno;
    if (reinterpret_cast<int (*)(sem_t*)>(target_of<"sem_wait">.attempt)(semaphore) == 0) return 0;
    errno = error;
    return Timed<How::kSem, false, int>(target_of<"sem_wait">, semaphore);
  }
};

// Ends waits of others, and takes no time itself.
template <SymbolText kSymbol, class Object>
struct WakeWrapper {
  static int Call(Object* object) {
    NoteWake(reinterpret_cast<uintptr_t>(object));
    if constexpr (std::is_same_v<Object, sem_t>) {
      if (__builtin_expect(IsShared(object), 0)) NoteSharedWake(reinterpret_cast<uintptr_t>(object));
    }
    return reinterpret_cast<int (*)(Object*)>(target_of<kSymbol>.real)(object);
  }
};

// Only a lock that somebody waits for costs more than a comparison.
template <SymbolText kSymbol, class Lock>
struct UnlockWrapper {
  static int Call(Lock* lock) {
    if (__builtin_expect(IsWaitedFor(*lock), 0)) return Wake(lock);
    return reinterpret_cast<int (*)(Lock*)>(target_of<kSymbol>.real)(lock);
  }
  __attribute__((noinline)) static int Wake(Lock* lock) {
    NoteWake(reinterpret_cast<uintptr_t>(lock));
    return reinterpret_cast<int (*)(Lock*)>(target_of<kSymbol>.real)(lock);
  }
};

// What it opens is a file whose name may be gone before anybody waits for it.
struct SemaphoreOpenWrapper {
  static sem_t* Call(const char* name, int flags, mode_t mode, unsigned value) {
    using Function = sem_t* (*)(const char*, int, mode_t, unsigned);
    sem_t* const semaphore = reinterpret_cast<Function>(target_of<"sem_open">.real)(name, flags, mode, value);
    if (semaphore != SEM_FAILED) RememberNamedSemaphore(semaphore, name);
    return semaphore;
  }
};

// Makes two descriptors, as which there may have been others before.
struct PipeWrapper {
  static int Call(int* ends) { return Remember(reinterpret_cast<int (*)(int*)>(target_of<"pipe">.real)(ends), ends); }
  static int CallWithFlags(int* ends, int flags) {
    return Remember(reinterpret_cast<int (*)(int*, int)>(target_of<"pipe2">.real)(ends, flags), ends);
  }
  static int Remember(int result, const int* ends) {
    if (result != 0) return result;
    ForgetDescriptor(ends[0]);
    ForgetDescriptor(ends[1]);
    return result;
  }
};

struct EventCounterWrapper {
  static int Call(unsigned value, int flags) {
    const int result = reinterpret_cast<int (*)(unsigned, int)>(target_of<"eventfd">.real)(value, flags);
    if (result < 0) return result;
    ForgetDescriptor(result);
    RememberEventCounter(result);
    return result;
  }
  static int Write(int descriptor, uint64_t value) {
    NoteWrite(descriptor);
    return reinterpret_cast<int (*)(int, uint64_t)>(target_of<"eventfd_write">.real)(descriptor, value);
  }
};

struct EpollControlWrapper {
  static int Call(int set, int operation, int descriptor, epoll_event* event) {
    using Function = int (*)(int, int, int, epoll_event*);
    const int result = reinterpret_cast<Function>(target_of<"epoll_ctl">.real)(set, operation, descriptor, event);
    if (result == 0 && operation != EPOLL_CTL_DEL) RememberWatched(set, event->data.u64, descriptor);
    return result;
  }
};

// Of all system calls that programs make by their numbers, waiting on a futex is of interest, and who ends such a wait.
// The others go on with
// their registers and their stack as they are: one of them may be a vfork, and what lies where a seventh argument would
// be is the caller's where it passed six.
struct SystemCallWrapper {
  static bool IsWait(long number, long operation) {
    const long command = operation & FUTEX_CMD_MASK;
    return number == SYS_futex && (command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET || command == FUTEX_LOCK_PI);
  }
  static bool IsWake(long number, long operation) {
    const long command = operation & FUTEX_CMD_MASK;
    return number == SYS_futex && (command == FUTEX_WAKE || command == FUTEX_WAKE_BITSET);
  }
  static void NoteWakeOf(long address, long operation) {
    NoteWake(static_cast<uintptr_t>(address));
    if (IsOfProcesses(operation)) NoteSharedWake(static_cast<uintptr_t>(address));
  }
  static long TimedWait(long number, long a, long b, long c, long d, long e, long f) {
    return Timed<How::kFutex, true, long>(target_of<"syscall">, number, a, b, c, d, e, f);
  }
#ifdef __x86_64__
  using Function = long (*)(long, long, long, long, long, long);
  static long Call(long number, long a, long b, long c, long d, long e) {
    if (IsWait(number, b)) return Wait(number, a, b, c, d, e);
    if (IsWake(number, b)) NoteWakeOf(a, b);
    return reinterpret_cast<Function>(target_of<"syscall">.real)(number, a, b, c, d, e);
  }
  // Jumped to, so that its frame is where that of Call was. Above the return address lies the seventh argument.
  __attribute__((noinline)) static long Wait(long number, long a, long b, long c, long d, long e) {
    return TimedWait(number, a, b, c, d, e, static_cast<const long*>(__builtin_frame_address(0))[2]);
  }
#else
  using Function = long (*)(long, long, long, long, long, long, long);
  static long Call(long number, long a, long b, long c, long d, long e, long f) {
    if (IsWait(number, b)) return TimedWait(number, a, b, c, d, e, f);
    if (IsWake(number, b)) NoteWakeOf(a, b);
    return reinterpret_cast<Function>(target_of<"syscall">.real)(number, a, b, c, d, e, f);
  }
#endif
};

// decltype of functions in the headers of libc has it, in some versions.
template <class Function>
struct WithoutNoexcept;
template <class Result, class... Arguments>
struct WithoutNoexcept<Result (*)(Arguments...)> {
  using Type = Result (*)(Arguments...);
};
template <class Result, class... Arguments>
struct WithoutNoexcept<Result (*)(Arguments...) noexcept> {
  using Type = Result (*)(Arguments...);
};

using trace::OsObject;

// `name`: what the trace calls it, where that is not its symbol.
template <SymbolText kSymbol, How kHow, OsObject kObject, class Function>
WrappedFunction Wrap(const char* name = kSymbol.text) {
  using W = Wrapper<kSymbol, kHow, kObject, typename WithoutNoexcept<Function>::Type>;
  return {{kSymbol.text, reinterpret_cast<void*>(&W::Call), &target_of<kSymbol>}, name, nullptr, kObject};
}

template <SymbolText kSymbol, How kHow, OsObject kObject, class Lock>
WrappedFunction WrapLock(const char* attempt) {
  void* const wrapper = reinterpret_cast<void*>(&LockWrapper<kSymbol, kHow, kObject, Lock>::Call);
  return {{kSymbol.text, wrapper, &target_of<kSymbol>}, kSymbol.text, attempt, kObject};
}

// That takes no time itself and is not recorded.
template <SymbolText kSymbol>
WrappedFunction WrapQuick(void* wrapper, OsObject object) {
  return {{kSymbol.text, wrapper, &target_of<kSymbol>}, kSymbol.text, nullptr, object};
}

template <SymbolText kSymbol, OsObject kObject, class Lock>
WrappedFunction WrapUnlock() {
  void* const wrapper = reinterpret_cast<void*>(&UnlockWrapper<kSymbol, Lock>::Call);
  return WrapQuick<kSymbol>(wrapper, kObject);
}

template <SymbolText kSymbol, OsObject kObject, class Object>
WrappedFunction WrapWake() {
  void* const wrapper = reinterpret_cast<void*>(&WakeWrapper<kSymbol, Object>::Call);
  return WrapQuick<kSymbol>(wrapper, kObject);
}

}  // namespace gprof::tracer

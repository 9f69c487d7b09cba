// Functions that stand in for functions of libc which wait (import_slots.cpp leads callers here). WrappedFunctions(),
// at the end, lists them. Each is an instance of Timed(), which does the same for all of them:
//
//   Before   forgets what the call makes untrue: the path of a descriptor that is closed
//   real     the function itself, between two time stamps
//   After    remembers what the call made: the path of a descriptor that was opened
//   Tell     for the few calls that took long: what the call was about (WhatOf), and a row of it (Write)
//
// What there is to forget, remember and tell follows from `How`. It is a template argument, as are the arguments of the
// function, so that a short call costs two stamps and a comparison.
//
// Compiled with unwind tables: cancelling a thread unwinds it through these functions, which own nothing.
#include "tracer/osrt/wrappers.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstring>
#include <iterator>
#include <tuple>
#include <type_traits>

#include "tracer/core/config.h"
#include "tracer/imports/wrapped_call.h"
#include "tracer/osrt/descriptors.h"
#include "tracer/osrt/os_rows.h"
#include "tracer/osrt/python_gil.h"
#include "tracer/osrt/wakers.h"
#include "tracer/store/caller_stack.h"
#include "tracer/store/interned_names.h"
#include "tracer/store/thread_log.h"

namespace gprof::tracer {

constinit OsThresholds os_thresholds;

namespace {

// What there is to say of a call.
enum class How : uint8_t {
  kPlain,
  kBytes,       // first argument: descriptor; the result: bytes
  kDescriptor,  // first argument: descriptor
  kSource,      // second argument: descriptor; the result: bytes
  kDuplicate,   // second argument: descriptor that is closed and opened
  kClose,
  kSocket,      // the result: descriptor
  kAccept,      // first argument: descriptor; the result: another one
  kSocketPair,  // fourth argument: two descriptors
  kOpen,        // first argument: path; the result: descriptor
  kOpenAt,      // second argument: path
  kMutex,       // first argument: address; the result: error
  kRwLock,      // likewise
  kCondition,   // likewise
  kNumber,      // first argument: number of a thread
  kSem,         // first argument: address
  kLength,      // second argument: bytes of memory
  kProcess,     // first argument: id of a process
  kPoll,        // first two arguments: descriptors
  kFopen,       // first argument: path; the result: stream
  kFclose,
  kFflush,  // first argument: stream
  kFread,   // second argument: bytes of an element, fourth: stream; the result: elements
  kFgets,   // third argument: stream
  kHost     // first argument: name of a host
};

constexpr bool IsOfFiles(How how) {
  switch (how) {
    case How::kBytes:
    case How::kDescriptor:
    case How::kSource:
    case How::kClose:
    case How::kOpen:
    case How::kOpenAt:
    case How::kFopen:
    case How::kFclose:
    case How::kFflush:
    case How::kFread:
    case How::kFgets:
      return true;
    default:
      return false;
  }
}

constexpr bool IsOfLocks(How how) { return how == How::kMutex || how == How::kRwLock || how == How::kCondition; }

uint64_t Least(const std::atomic<uint64_t>& a, const std::atomic<uint64_t>& b) {
  const uint64_t x = a.load(std::memory_order_relaxed), y = b.load(std::memory_order_relaxed);
  return x < y ? x : y;
}

// A finished call, the thread that it waited for, where that is known, and the frame of its wrapper.
struct FinishedCall {
  uint64_t start, stamps;
  uint32_t holder_tid;
  uintptr_t frame;
};

// What follows from the function alone.
struct CallTraits {
  bool may_hold_allocator, is_of_files, is_of_memory;
};

// An allocator that gives memory back may have just freed what the frames of Python lead to.
uint32_t StackOf(ThreadLog* log, const CallTraits& traits, const FinishedCall& call) {
#ifdef __x86_64__
  if (call.stamps < os_thresholds.stacks.load(std::memory_order_relaxed)) return 0;
  // The wrapper has its caller's frame pointer where its own one points to, and the return address behind it.
  const auto* const saved = reinterpret_cast<const uintptr_t*>(call.frame);
  const CallerFrame caller{saved[1], call.frame + 2 * sizeof(uintptr_t), saved[0]};
  const uint32_t python = traits.is_of_memory ? 0 : CallerStack(log);
  return NativeStack(log, caller, {Config().osrt_stack_frames, Config().osrt_stack_bytes}, python);
#else
  return call.stamps < os_thresholds.stacks.load(std::memory_order_relaxed) || traits.is_of_memory ? 0
                                                                                                   : CallerStack(log);
#endif
}

// What has been found to take long by the lower of the two thresholds.
__attribute__((noinline)) void Write(uint8_t number, const CallTraits& traits, const FinishedCall& call,
                                     uint64_t what) {
  ThreadLog* log = own_log;
  const bool launches = log != nullptr && HasLaunched(*log);
  const auto& least = launches ? os_thresholds.launching : os_thresholds.other;
  const uint64_t threshold =
      traits.is_of_files ? Least(least, os_thresholds.files) : least.load(std::memory_order_relaxed);
  if (call.stamps < threshold) return;
  if (log == nullptr) log = AcquireLogWithinCall(traits.may_hold_allocator);
  // The child of a vfork, or of a fork that libc does not know of, has the memory of its parent.
  if (log == nullptr || log->tid != CurrentTid()) return;
  OsCallRow row{RowHeaderOf<OsCallRow>(RowType::kOsCall), PackDuration(call.stamps), call.start, what};
  row.header.flags = number;
  const uint32_t stack = StackOf(log, traits, call);
  if (call.holder_tid == 0 && stack == 0) {
    Append(log, row);
    return;
  }
  LongOsCallRow longer{row, call.holder_tid, stack};
  longer.row.header.words = sizeof longer / 8;
  Append(log, longer);
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

uint64_t WhatOfDescriptor(int descriptor, uint64_t bytes, uint32_t error) {
  if (descriptor < 0) return PackWhat(OsDetail::kNothing, 0, error);
  const trace::StringId name = NameOfDescriptor(descriptor);
  if (bytes > 0xffffffffu) bytes = 0xffffffffu;
  if (name.value != 0) return PackWhat(OsDetail::kName, uint64_t{name.value} << 32 | bytes, error);
  const OsDetail detail = IsSocket(descriptor) ? OsDetail::kSocket : OsDetail::kDescriptor;
  return PackWhat(detail, uint64_t{static_cast<uint32_t>(descriptor) & 0xfffff} << 32 | bytes, error);
}

uint64_t WhatOfName(const char* text, uint32_t error) {
  return PackWhat(OsDetail::kName, uint64_t{Names().Intern(text).value} << 32, error);
}

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

// The descriptor of a stream, once the call has returned. libc does not lock for it.
int DescriptorOf(FILE* stream) { return stream == nullptr ? -1 : fileno_unlocked(stream); }

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
  } else if constexpr (kHow == How::kBytes) {
    return WhatOfDescriptor(Argument<0>(arguments...), result > 0 ? static_cast<uint64_t>(result) : 0, error);
  } else if constexpr (kHow == How::kDescriptor || kHow == How::kClose || kHow == How::kAccept) {
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

template <How kHow, class... Arguments>
void Before(Arguments... arguments) {
  if constexpr (kHow == How::kClose) ForgetDescriptor(Argument<0>(arguments...));
  if constexpr (kHow == How::kDuplicate) ForgetDescriptor(Argument<1>(arguments...));
  if constexpr (kHow == How::kFclose) ForgetDescriptor(DescriptorOf(Argument<0>(arguments...)));
}

template <How kHow, class Result, class... Arguments>
void After(Result result, Arguments... arguments) {
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
  }
  if constexpr (kHow == How::kFopen) {
    if (result != nullptr) RememberDescriptor(DescriptorOf(result), Argument<0>(arguments...));
  }
}

template <How kHow, bool kMayHoldAllocator, class Result, class... Arguments>
__attribute__((noinline, cold)) void Tell(uint8_t number, const FinishedCall& call, Result result,
                                          Arguments... arguments) {
  if (!os_thresholds.is_on.load(std::memory_order_relaxed)) return;
  // By hand: an ErrnoGuard here would have to be released when a cancelled thread is unwound.
  const int kept = errno;
  const uint32_t error = HasFailed<kHow>(result) ? static_cast<uint32_t>(kept) : 0;
  constexpr CallTraits kTraits = {kMayHoldAllocator, IsOfFiles(kHow), kHow == How::kLength};
  Write(number, kTraits, call, WhatOf<kHow>(error, result, arguments...));
  errno = kept;
}

// For the end of the process: what the thread is in.
void NoteOpenCall(ThreadLog* log, uint8_t number, uint64_t first, uint64_t start) {
  if (log == nullptr) return;
  log->open_os_call.function = number;
  log->open_os_call.first_argument = first;
  log->open_os_call.start.store(start, std::memory_order_relaxed);
}

// The first argument as a number.
template <class T, class... Rest>
uint64_t FirstOf(T first, Rest...) {
  if constexpr (std::is_pointer_v<T>) return reinterpret_cast<uintptr_t>(first);
  if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) return static_cast<uint64_t>(first);
  return 0;
}

// Of a wait that somebody may end by a signal or a post.
template <How kHow, class... Arguments>
WaitPlace* BeginWaitOf(Arguments... arguments) {
  if constexpr (kHow == How::kCondition || kHow == How::kSem)
    return BeginWait(reinterpret_cast<uintptr_t>(Argument<0>(arguments...)));
  return nullptr;
}

// A wait that ran out of time was ended by nobody.
template <How kHow, class Result>
uint32_t WakerOf(WaitPlace* place, Result result) {
  if constexpr (kHow == How::kCondition || kHow == How::kSem) {
    const uint32_t waker_tid = place == nullptr ? 0 : EndWait(place);
    return result == 0 ? waker_tid : 0;
  }
  return 0;
}

template <How kHow, bool kMayHoldAllocator, class Result, class... Arguments>
inline __attribute__((always_inline)) Result Timed(const WrapTarget& target, Arguments... arguments) {
  auto* const real = reinterpret_cast<Result (*)(Arguments...)>(target.real);
  const auto frame = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  Before<kHow>(arguments...);
  if (__builtin_expect(!os_thresholds.is_on.load(std::memory_order_relaxed) || frame < outer_frame, 0)) {
    const Result result = real(arguments...);
    After<kHow>(result, arguments...);
    return result;
  }
  ThreadLog* const log = own_log;
  const uint32_t holder_tid = HolderOf<kHow>(arguments...);
  WaitPlace* const place = BeginWaitOf<kHow>(arguments...);
  const uint64_t start = Stamp();
  outer_frame = frame;
  NoteOpenCall(log, target.number, FirstOf(arguments..., 0), start);
  const Result result = real(arguments...);
  const uint64_t stamps = Stamp() - start;
  outer_frame = 0;
  const uint32_t waker_tid = WakerOf<kHow>(place, result);
  if (log != nullptr) log->open_os_call.start.store(0, std::memory_order_relaxed);
  After<kHow>(result, arguments...);
  const auto& threshold = IsOfFiles(kHow) ? os_thresholds.files : os_thresholds.launching;
  if (__builtin_expect(stamps >= threshold.load(std::memory_order_relaxed), 0)) {
    Tell<kHow, kMayHoldAllocator>(target.number,
                                  FinishedCall{start, stamps, holder_tid != 0 ? holder_tid : waker_tid, frame}, result,
                                  arguments...);
  }
  return result;
}

// A name as a template argument makes each function a type of its own.
template <std::size_t kSize>
struct Text {
  char text[kSize];
  constexpr Text(const char (&from)[kSize]) {  // NOLINT: from a literal
    for (std::size_t i = 0; i < kSize; ++i) text[i] = from[i];
  }
};

// Allocators lock, map and, where they spin, sleep.
constexpr bool MayHoldAllocator(How how, trace::OsObject object) {
  return how == How::kLength || object == trace::OsObject::kMutex || object == trace::OsObject::kFutex ||
         object == trace::OsObject::kTimer || object == trace::OsObject::kRwLock;
}

// Where the real function is; one for each symbol.
template <Text kSymbol>
constinit WrapTarget target_of{};

// A function with the signature of the real one, whose arguments it takes apart.
template <Text kSymbol, How kHow, trace::OsObject kObject, class Function>
struct Wrapper;

template <Text kSymbol, How kHow, trace::OsObject kObject, class Result, class... Arguments>
struct Wrapper<kSymbol, kHow, kObject, Result (*)(Arguments...)> {
  static Result Call(Arguments... arguments) {
    return Timed<kHow, MayHoldAllocator(kHow, kObject), Result>(target_of<kSymbol>, arguments...);
  }
};

// Tries first, so that a lock that nobody holds costs no look at the clock.
template <Text kSymbol, How kHow, trace::OsObject kObject, class Lock>
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
template <Text kSymbol, class Object>
struct WakeWrapper {
  static int Call(Object* object) {
    NoteWake(reinterpret_cast<uintptr_t>(object));
    return reinterpret_cast<int (*)(Object*)>(target_of<kSymbol>.real)(object);
  }
};

// Of all system calls that programs make by their numbers, waiting on a futex is of interest. The others go on with
// their registers and their stack as they are: one of them may be a vfork, and what lies where a seventh argument would
// be is the caller's where it passed six.
struct SystemCallWrapper {
  static bool IsWait(long number, long operation) {
    const long command = operation & FUTEX_CMD_MASK;
    return number == SYS_futex && (command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET || command == FUTEX_LOCK_PI);
  }
  static long TimedWait(long number, long a, long b, long c, long d, long e, long f) {
    return Timed<How::kPlain, true, long>(target_of<"syscall">, number, a, b, c, d, e, f);
  }
#ifdef __x86_64__
  using Function = long (*)(long, long, long, long, long, long);
  static long Call(long number, long a, long b, long c, long d, long e) {
    if (IsWait(number, b)) return Wait(number, a, b, c, d, e);
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
template <Text kSymbol, How kHow, OsObject kObject, class Function>
WrappedFunction Wrap(const char* name = kSymbol.text) {
  using W = Wrapper<kSymbol, kHow, kObject, typename WithoutNoexcept<Function>::Type>;
  return {{kSymbol.text, reinterpret_cast<void*>(&W::Call), &target_of<kSymbol>}, name, nullptr, kObject};
}

template <Text kSymbol, How kHow, OsObject kObject, class Lock>
WrappedFunction WrapLock(const char* attempt) {
  void* const wrapper = reinterpret_cast<void*>(&LockWrapper<kSymbol, kHow, kObject, Lock>::Call);
  return {{kSymbol.text, wrapper, &target_of<kSymbol>}, kSymbol.text, attempt, kObject};
}

template <Text kSymbol, OsObject kObject, class Object>
WrappedFunction WrapWake() {
  void* const wrapper = reinterpret_cast<void*>(&WakeWrapper<kSymbol, Object>::Call);
  return {{kSymbol.text, wrapper, &target_of<kSymbol>}, kSymbol.text, nullptr, kObject};
}

// The last argument of some is a list that may be empty: a register or two more are passed on than there need be.
using Open = int (*)(const char*, int, mode_t);
using OpenAt = int (*)(int, const char*, int, mode_t);
using Control = int (*)(int, unsigned long, void*);
using CheckedOpen = int (*)(const char*, int);
using CheckedOpenAt = int (*)(int, const char*, int);
using CheckedRead = ssize_t (*)(int, void*, size_t, size_t);
using CheckedReadAt = ssize_t (*)(int, void*, size_t, off_t, size_t);
using CheckedReceive = ssize_t (*)(int, void*, size_t, size_t, int);
using CheckedPoll = int (*)(pollfd*, nfds_t, int, size_t);
using JoinClock = int (*)(pthread_t, void**, clockid_t, const timespec*);
using LockClock = int (*)(void*, clockid_t, const timespec*);
using WaitClock = int (*)(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*);

void* LookUp(const char* symbol) {
#ifdef __x86_64__
  if (std::strncmp(symbol, "pthread_cond_", 13) == 0) {
    if (void* found = dlvsym(RTLD_DEFAULT, symbol, "GLIBC_2.3.2"); found != nullptr) return found;
  }
#endif
  return dlsym(RTLD_DEFAULT, symbol);
}

bool IsListed(const char* list, const char* name) {
  const std::size_t size = std::strlen(name);
  for (const char* at = std::strstr(list, name); at != nullptr; at = std::strstr(at + 1, name)) {
    if ((at == list || at[-1] == ',') && (at[size] == 0 || at[size] == ',')) return true;
  }
  return false;
}

}  // namespace

const WrappedFunction* WrappedFunctions(std::size_t* count) {
  // Made when it is first asked for. Functions of the same family have different names where they were compiled with
  // checks or for large files.
  static const WrappedFunction kFunctions[] = {
      WrapLock<"pthread_mutex_lock", How::kMutex, OsObject::kMutex, pthread_mutex_t>("pthread_mutex_trylock"),
      Wrap<"pthread_mutex_timedlock", How::kMutex, OsObject::kMutex, decltype(&pthread_mutex_timedlock)>(),
      Wrap<"pthread_mutex_clocklock", How::kMutex, OsObject::kMutex, LockClock>(),
      WrapLock<"pthread_rwlock_rdlock", How::kRwLock, OsObject::kRwLock, pthread_rwlock_t>("pthread_rwlock_tryrdlock"),
      WrapLock<"pthread_rwlock_wrlock", How::kRwLock, OsObject::kRwLock, pthread_rwlock_t>("pthread_rwlock_trywrlock"),
      Wrap<"pthread_rwlock_timedrdlock", How::kRwLock, OsObject::kRwLock, decltype(&pthread_rwlock_timedrdlock)>(),
      Wrap<"pthread_rwlock_timedwrlock", How::kRwLock, OsObject::kRwLock, decltype(&pthread_rwlock_timedwrlock)>(),
      Wrap<"pthread_cond_wait", How::kCondition, OsObject::kCondition, decltype(&pthread_cond_wait)>(),
      Wrap<"pthread_cond_timedwait", How::kCondition, OsObject::kCondition, decltype(&pthread_cond_timedwait)>(),
      Wrap<"pthread_cond_clockwait", How::kCondition, OsObject::kCondition, WaitClock>(),
      WrapWake<"pthread_cond_signal", OsObject::kCondition, pthread_cond_t>(),
      WrapWake<"pthread_cond_broadcast", OsObject::kCondition, pthread_cond_t>(),
      WrapWake<"sem_post", OsObject::kSemaphore, sem_t>(),
      Wrap<"pthread_barrier_wait", How::kSem, OsObject::kBarrier, decltype(&pthread_barrier_wait)>(),
      Wrap<"pthread_join", How::kNumber, OsObject::kThread, decltype(&pthread_join)>(),
      Wrap<"pthread_timedjoin_np", How::kNumber, OsObject::kThread, decltype(&pthread_timedjoin_np)>(),
      Wrap<"pthread_clockjoin_np", How::kNumber, OsObject::kThread, JoinClock>(),
      {{"sem_wait", reinterpret_cast<void*>(&SemaphoreWrapper::Call), &target_of<"sem_wait">},
       "sem_wait",
       "sem_trywait",
       OsObject::kSemaphore},
      Wrap<"sem_timedwait", How::kSem, OsObject::kSemaphore, decltype(&sem_timedwait)>(),
      Wrap<"sem_clockwait", How::kSem, OsObject::kSemaphore, int (*)(sem_t*, clockid_t, const timespec*)>(),
      {{"syscall", reinterpret_cast<void*>(&SystemCallWrapper::Call), &target_of<"syscall">},
       "futex",
       nullptr,
       OsObject::kFutex},

      Wrap<"read", How::kBytes, OsObject::kFile, decltype(&read)>(),
      Wrap<"__read_chk", How::kBytes, OsObject::kFile, CheckedRead>("read"),
      Wrap<"pread", How::kBytes, OsObject::kFile, decltype(&pread)>(),
      Wrap<"pread64", How::kBytes, OsObject::kFile, decltype(&pread64)>("pread"),
      Wrap<"__pread_chk", How::kBytes, OsObject::kFile, CheckedReadAt>("pread"),
      Wrap<"__pread64_chk", How::kBytes, OsObject::kFile, CheckedReadAt>("pread"),
      Wrap<"readv", How::kBytes, OsObject::kFile, decltype(&readv)>(),
      Wrap<"preadv", How::kBytes, OsObject::kFile, decltype(&preadv)>(),
      Wrap<"preadv64", How::kBytes, OsObject::kFile, decltype(&preadv64)>("preadv"),
      Wrap<"write", How::kBytes, OsObject::kFile, decltype(&write)>(),
      Wrap<"pwrite", How::kBytes, OsObject::kFile, decltype(&pwrite)>(),
      Wrap<"pwrite64", How::kBytes, OsObject::kFile, decltype(&pwrite64)>("pwrite"),
      Wrap<"writev", How::kBytes, OsObject::kFile, decltype(&writev)>(),
      Wrap<"sendfile", How::kSource, OsObject::kFile, decltype(&sendfile)>(),
      Wrap<"sendfile64", How::kSource, OsObject::kFile, decltype(&sendfile64)>("sendfile"),
      Wrap<"open", How::kOpen, OsObject::kFile, Open>(),
      Wrap<"open64", How::kOpen, OsObject::kFile, Open>("open"),
      Wrap<"__open_2", How::kOpen, OsObject::kFile, CheckedOpen>("open"),
      Wrap<"__open64_2", How::kOpen, OsObject::kFile, CheckedOpen>("open"),
      Wrap<"openat", How::kOpenAt, OsObject::kFile, OpenAt>(),
      Wrap<"openat64", How::kOpenAt, OsObject::kFile, OpenAt>("openat"),
      Wrap<"__openat_2", How::kOpenAt, OsObject::kFile, CheckedOpenAt>("openat"),
      Wrap<"__openat64_2", How::kOpenAt, OsObject::kFile, CheckedOpenAt>("openat"),
      Wrap<"close", How::kClose, OsObject::kFile, decltype(&close)>(),
      Wrap<"dup2", How::kDuplicate, OsObject::kFile, decltype(&dup2)>(),
      Wrap<"dup3", How::kDuplicate, OsObject::kFile, decltype(&dup3)>(),
      Wrap<"fsync", How::kDescriptor, OsObject::kFile, decltype(&fsync)>(),
      Wrap<"fdatasync", How::kDescriptor, OsObject::kFile, decltype(&fdatasync)>(),
      Wrap<"flock", How::kDescriptor, OsObject::kFile, decltype(&flock)>(),
      Wrap<"fcntl", How::kDescriptor, OsObject::kFile, Control>(),
      Wrap<"fcntl64", How::kDescriptor, OsObject::kFile, Control>("fcntl"),
      Wrap<"ioctl", How::kDescriptor, OsObject::kDevice, Control>(),

      Wrap<"fopen", How::kFopen, OsObject::kFile, decltype(&fopen)>(),
      Wrap<"fopen64", How::kFopen, OsObject::kFile, decltype(&fopen64)>("fopen"),
      Wrap<"fclose", How::kFclose, OsObject::kFile, decltype(&fclose)>(),
      Wrap<"fread", How::kFread, OsObject::kFile, decltype(&fread)>(),
      Wrap<"fwrite", How::kFread, OsObject::kFile, decltype(&fwrite)>(),
      Wrap<"fgets", How::kFgets, OsObject::kFile, decltype(&fgets)>(),
      Wrap<"fflush", How::kFflush, OsObject::kFile, decltype(&fflush)>(),

      Wrap<"recv", How::kBytes, OsObject::kSocket, decltype(&recv)>(),
      Wrap<"__recv_chk", How::kBytes, OsObject::kSocket, CheckedReceive>("recv"),
      Wrap<"recvfrom", How::kBytes, OsObject::kSocket, decltype(&recvfrom)>(),
      Wrap<"recvmsg", How::kBytes, OsObject::kSocket, decltype(&recvmsg)>(),
      Wrap<"send", How::kBytes, OsObject::kSocket, decltype(&send)>(),
      Wrap<"sendto", How::kBytes, OsObject::kSocket, decltype(&sendto)>(),
      Wrap<"sendmsg", How::kBytes, OsObject::kSocket, decltype(&sendmsg)>(),
      Wrap<"socket", How::kSocket, OsObject::kSocket, decltype(&socket)>(),
      Wrap<"socketpair", How::kSocketPair, OsObject::kSocket, decltype(&socketpair)>(),
      Wrap<"accept", How::kAccept, OsObject::kSocket, decltype(&accept)>(),
      Wrap<"accept4", How::kAccept, OsObject::kSocket, decltype(&accept4)>(),
      Wrap<"connect", How::kDescriptor, OsObject::kSocket, decltype(&connect)>(),
      Wrap<"getaddrinfo", How::kHost, OsObject::kSocket, decltype(&getaddrinfo)>(),
      Wrap<"poll", How::kPoll, OsObject::kPoll, decltype(&poll)>(),
      Wrap<"__poll_chk", How::kPoll, OsObject::kPoll, CheckedPoll>("poll"),
      Wrap<"ppoll", How::kPoll, OsObject::kPoll, decltype(&ppoll)>(),
      Wrap<"select", How::kPlain, OsObject::kPoll, decltype(&select)>(),
      Wrap<"pselect", How::kPlain, OsObject::kPoll, decltype(&pselect)>(),
      Wrap<"epoll_wait", How::kDescriptor, OsObject::kPoll, decltype(&epoll_wait)>(),
      Wrap<"epoll_pwait", How::kDescriptor, OsObject::kPoll, decltype(&epoll_pwait)>(),

      Wrap<"nanosleep", How::kPlain, OsObject::kTimer, decltype(&nanosleep)>(),
      Wrap<"clock_nanosleep", How::kPlain, OsObject::kTimer, decltype(&clock_nanosleep)>(),
      Wrap<"usleep", How::kPlain, OsObject::kTimer, decltype(&usleep)>(),
      Wrap<"sleep", How::kPlain, OsObject::kTimer, decltype(&sleep)>(),
      Wrap<"sched_yield", How::kPlain, OsObject::kNone, decltype(&sched_yield)>(),
      Wrap<"pause", How::kPlain, OsObject::kNone, decltype(&pause)>(),
      Wrap<"sigwait", How::kPlain, OsObject::kNone, decltype(&sigwait)>(),
      Wrap<"sigwaitinfo", How::kPlain, OsObject::kNone, decltype(&sigwaitinfo)>(),
      Wrap<"sigtimedwait", How::kPlain, OsObject::kNone, decltype(&sigtimedwait)>(),
      Wrap<"wait", How::kPlain, OsObject::kProcess, decltype(&wait)>(),
      Wrap<"waitpid", How::kProcess, OsObject::kProcess, decltype(&waitpid)>(),
      Wrap<"wait4", How::kProcess, OsObject::kProcess, decltype(&wait4)>(),
      Wrap<"waitid", How::kPlain, OsObject::kProcess, decltype(&waitid)>(),

      Wrap<"mmap", How::kLength, OsObject::kMemory, decltype(&mmap)>(),
      Wrap<"mmap64", How::kLength, OsObject::kMemory, decltype(&mmap64)>("mmap"),
      Wrap<"munmap", How::kLength, OsObject::kMemory, decltype(&munmap)>(),
      Wrap<"mprotect", How::kLength, OsObject::kMemory, decltype(&mprotect)>(),
      Wrap<"madvise", How::kLength, OsObject::kMemory, decltype(&madvise)>(),
      Wrap<"msync", How::kLength, OsObject::kMemory, decltype(&msync)>(),
  };
  static_assert(std::size(kFunctions) <= kMostFunctions);
  *count = std::size(kFunctions);
  return kFunctions;
}

void WrapFunctions(const char* only) {
  std::size_t count = 0;
  const WrappedFunction* const functions = WrappedFunctions(&count);
  for (std::size_t i = 0; i < count; ++i) {
    const WrappedFunction& function = functions[i];
    if (only[0] != 0 && !IsListed(only, function.name)) continue;
    WrapTarget& target = *function.wrapped.target;
    target.number = static_cast<uint8_t>(i);
    target.attempt = function.attempt == nullptr ? nullptr : LookUp(function.attempt);
    void* const real = LookUp(function.wrapped.symbol);
    if (real == nullptr || (function.attempt != nullptr && target.attempt == nullptr)) continue;
    target.real = real;
    AddWrapped(function.wrapped);
  }
}

}  // namespace gprof::tracer

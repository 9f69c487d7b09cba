// Functions that stand in for functions of libc which wait (import_slots.cpp leads callers here): the list of them, and
// where the real ones are.
//
// Compiled with unwind tables: cancelling a thread unwinds it through these functions, which own nothing.
#include "tracer/osrt/wrappers.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstring>
#include <iterator>

#include "tracer/osrt/wrapper_kinds.h"
#include "tracer/system/loaded_module.h"

namespace gprof::tracer {
namespace {

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

// Only what is there is asked for: a failing dlsym() takes memory of the thread for its message, for which libc
// reserves 64 MB of addresses.
void* LookUp(const char* symbol) {
  if (AddressOfGlobal(symbol) == nullptr) return nullptr;
#ifdef __x86_64__
  const bool has_old_version = std::strcmp(symbol, "pthread_cond_clockwait") != 0;
  if (has_old_version && std::strncmp(symbol, "pthread_cond_", 13) == 0) {
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
      WrapUnlock<"pthread_mutex_unlock", OsObject::kMutex, pthread_mutex_t>(),
      WrapUnlock<"pthread_rwlock_unlock", OsObject::kRwLock, pthread_rwlock_t>(),
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
      WrapQuick<"sem_open">(reinterpret_cast<void*>(&SemaphoreOpenWrapper::Call), OsObject::kSemaphore),
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
      Wrap<"write", How::kWrite, OsObject::kFile, decltype(&write)>(),
      Wrap<"pwrite", How::kBytes, OsObject::kFile, decltype(&pwrite)>(),
      Wrap<"pwrite64", How::kBytes, OsObject::kFile, decltype(&pwrite64)>("pwrite"),
      Wrap<"writev", How::kWrite, OsObject::kFile, decltype(&writev)>(),
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

      WrapQuick<"pipe">(reinterpret_cast<void*>(&PipeWrapper::Call), OsObject::kPipe),
      WrapQuick<"pipe2">(reinterpret_cast<void*>(&PipeWrapper::CallWithFlags), OsObject::kPipe),
      WrapQuick<"eventfd">(reinterpret_cast<void*>(&EventCounterWrapper::Call), OsObject::kFile),
      WrapQuick<"eventfd_write">(reinterpret_cast<void*>(&EventCounterWrapper::Write), OsObject::kFile),
      WrapQuick<"epoll_ctl">(reinterpret_cast<void*>(&EpollControlWrapper::Call), OsObject::kPoll),
      Wrap<"eventfd_read", How::kBytes, OsObject::kFile, decltype(&eventfd_read)>(),

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
      Wrap<"send", How::kWrite, OsObject::kSocket, decltype(&send)>(),
      Wrap<"sendto", How::kWrite, OsObject::kSocket, decltype(&sendto)>(),
      Wrap<"sendmsg", How::kWrite, OsObject::kSocket, decltype(&sendmsg)>(),
      Wrap<"socket", How::kSocket, OsObject::kSocket, decltype(&socket)>(),
      Wrap<"socketpair", How::kSocketPair, OsObject::kSocket, decltype(&socketpair)>(),
      Wrap<"accept", How::kAccept, OsObject::kSocket, decltype(&accept)>(),
      Wrap<"accept4", How::kAccept, OsObject::kSocket, decltype(&accept4)>(),
      Wrap<"connect", How::kConnect, OsObject::kSocket, decltype(&connect)>(),
      Wrap<"getaddrinfo", How::kHost, OsObject::kSocket, decltype(&getaddrinfo)>(),
      Wrap<"poll", How::kPoll, OsObject::kPoll, decltype(&poll)>(),
      Wrap<"__poll_chk", How::kPoll, OsObject::kPoll, CheckedPoll>("poll"),
      Wrap<"ppoll", How::kPoll, OsObject::kPoll, decltype(&ppoll)>(),
      Wrap<"select", How::kSelect, OsObject::kPoll, decltype(&select)>(),
      Wrap<"pselect", How::kSelect, OsObject::kPoll, decltype(&pselect)>(),
      Wrap<"epoll_wait", How::kEpoll, OsObject::kPoll, decltype(&epoll_wait)>(),
      Wrap<"epoll_pwait", How::kEpoll, OsObject::kPoll, decltype(&epoll_pwait)>(),

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

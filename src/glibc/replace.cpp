// Functions that no glibc before 2.29 has in any version.
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <ctime>

// On x86-64 and aarch64 the struct of glibc is that of the kernel.
extern "C" {

int stat(const char* path, struct stat* result) noexcept {
  return static_cast<int>(syscall(SYS_newfstatat, AT_FDCWD, path, result, 0));
}
int lstat(const char* path, struct stat* result) noexcept {
  return static_cast<int>(syscall(SYS_newfstatat, AT_FDCWD, path, result, AT_SYMLINK_NOFOLLOW));
}
int fstat(int file, struct stat* result) noexcept { return static_cast<int>(syscall(SYS_fstat, file, result)); }
int stat64(const char* path, struct stat64* result) noexcept {
  return static_cast<int>(syscall(SYS_newfstatat, AT_FDCWD, path, result, 0));
}
int lstat64(const char* path, struct stat64* result) noexcept {
  return static_cast<int>(syscall(SYS_newfstatat, AT_FDCWD, path, result, AT_SYMLINK_NOFOLLOW));
}
int fstat64(int file, struct stat64* result) noexcept { return static_cast<int>(syscall(SYS_fstat, file, result)); }

ssize_t getdents64(int folder, void* entries, size_t size) noexcept {
  return syscall(SYS_getdents64, folder, entries, size);
}

// From 2.30. Libstdc++ waits so until a time of steady_clock, on conditions that count by the time of day; whoever sets
// that meanwhile makes this one wait longer or shorter.
int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                           const timespec* end) noexcept(false) {
  constexpr long kSecond = 1'000'000'000;
  timespec now, today;
  clock_gettime(clock, &now);
  clock_gettime(CLOCK_REALTIME, &today);
  timespec until = {today.tv_sec + end->tv_sec - now.tv_sec, today.tv_nsec + end->tv_nsec - now.tv_nsec};
  for (; until.tv_nsec < 0; until.tv_nsec += kSecond) --until.tv_sec;
  for (; until.tv_nsec >= kSecond; until.tv_nsec -= kSecond) ++until.tv_sec;
  return pthread_cond_timedwait(condition, mutex, &until);
}

const char* sigabbrev_np(int number) noexcept {
  switch (number) {
#define NAME(name) \
  case SIG##name:  \
    return #name
    NAME(ABRT);
    NAME(ALRM);
    NAME(BUS);
    NAME(CHLD);
    NAME(CONT);
    NAME(FPE);
    NAME(HUP);
    NAME(ILL);
    NAME(INT);
    NAME(KILL);
    NAME(PIPE);
    NAME(POLL);
    NAME(PROF);
    NAME(PWR);
    NAME(QUIT);
    NAME(SEGV);
    NAME(STKFLT);
    NAME(STOP);
    NAME(SYS);
    NAME(TERM);
    NAME(TRAP);
    NAME(TSTP);
    NAME(TTIN);
    NAME(TTOU);
    NAME(URG);
    NAME(USR1);
    NAME(USR2);
    NAME(VTALRM);
    NAME(WINCH);
    NAME(XCPU);
    NAME(XFSZ);
#undef NAME
    default:
      return nullptr;
  }
}

// libstdc++ saves atomic operations where there is one thread only. Nobody tells this one, so it stays on the safe
// side.
char __libc_single_threaded = 0;
}

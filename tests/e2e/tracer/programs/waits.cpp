// A program that knows what it waited for, and that checks every return value and errno of what it calls.
//   waits MODE [ARGUMENT]
// Each fact is a line of JSON; a check that fails is said on stderr and is the exit code 1.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/futex.h>
#include <nvtx3/nvToolsExt.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "bench/import_slot.h"

extern char** environ;

namespace {

int failures = 0;

void Check(bool is_good, const char* what) {
  if (is_good) return;
  std::fprintf(stderr, "FAILED: %s (errno %d)\n", what, errno);
  ++failures;
}

int64_t NowNs() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1'000'000'000 + t.tv_nsec;
}

constexpr long kMs = 1'000'000;

void Pause(long ns) {
  const timespec time = {ns / 1'000'000'000, ns % 1'000'000'000};
  syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &time, nullptr);
}

void WaitForTracer(bool is_to_lead_there) {
  Check(gprof::bench::WaitForSlots("ppoll", is_to_lead_there), "the slots are as they should be");
}

class Fact {
 public:
  explicit Fact(const char* function) : function_(function), start_ns_(NowNs()) {}
  ~Fact() {
    std::printf("{\"fact\": \"wait\", \"function\": \"%s\", \"ns\": %lld}\n", function_,
                static_cast<long long>(NowNs() - start_ns_));
  }
  Fact(const Fact&) = delete;
  Fact& operator=(const Fact&) = delete;

 private:
  const char* function_;
  int64_t start_ns_;
};

void TellHolder(const char* function) {
  std::printf("{\"fact\": \"holder\", \"function\": \"%s\", \"tid\": %ld}\n", function, syscall(SYS_gettid));
}

std::atomic<bool> main_goes{false};

// Whether the main thread sleeps in the kernel.
bool IsMainAsleep() {
  char text[512] = {};
  const auto file = static_cast<int>(syscall(SYS_openat, AT_FDCWD, "/proc/self/stat", O_RDONLY));
  const long size = syscall(SYS_read, file, text, sizeof text - 1);
  syscall(SYS_close, file);
  const char* const end = size > 0 ? std::strrchr(text, ')') : nullptr;
  return end != nullptr && end[2] == 'S';
}

// Until the main thread has waited for long enough, however late it comes.
void LetMainWait() {
  while (!main_goes) Pause(kMs / 10);
  while (!IsMainAsleep()) Pause(kMs / 10);
  Pause(3 * kMs);
}

// What another thread does while the main thread goes on to wait for it.
template <class F>
void InThread(F f) {
  std::atomic<bool> is_ready{false};
  main_goes = false;
  std::thread thread([&] { f(is_ready); });
  while (!is_ready) Pause(kMs / 10);
  thread.detach();
  main_goes = true;
}

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
sem_t semaphore;
std::atomic<uint32_t> futex_word{0};

void WaitForLocks() {
  for (int i = 0; i < 4; ++i) {
    InThread([](std::atomic<bool>& is_ready) {
      pthread_mutex_lock(&mutex);
      TellHolder("pthread_mutex_lock");
      is_ready = true;
      LetMainWait();
      pthread_mutex_unlock(&mutex);
    });
    const Fact fact("pthread_mutex_lock");
    Check(pthread_mutex_lock(&mutex) == 0, "lock");
    pthread_mutex_unlock(&mutex);
  }
  InThread([](std::atomic<bool>& is_ready) {
    pthread_rwlock_wrlock(&rwlock);
    TellHolder("pthread_rwlock_rdlock");
    is_ready = true;
    LetMainWait();
    pthread_rwlock_unlock(&rwlock);
  });
  {
    const Fact fact("pthread_rwlock_rdlock");
    Check(pthread_rwlock_rdlock(&rwlock) == 0, "rdlock");
  }
  pthread_rwlock_unlock(&rwlock);
  sem_init(&semaphore, 0, 0);
  for (int i = 0; i < 2; ++i) {
    InThread([](std::atomic<bool>& is_ready) {
      is_ready = true;
      LetMainWait();
      sem_post(&semaphore);
    });
    const Fact fact("sem_wait");
    Check(sem_wait(&semaphore) == 0, "sem_wait");
  }
  for (int i = 0; i < 3; ++i) {
    pthread_mutex_lock(&mutex);
    timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 30 * kMs;  // a point in time that a preempted thread must not come after
    until.tv_sec += until.tv_nsec / 1'000'000'000;
    until.tv_nsec %= 1'000'000'000;
    const Fact fact("pthread_cond_timedwait");
    int result = 0;
    while (result == 0) result = pthread_cond_timedwait(&condition, &mutex, &until);
    Check(result == ETIMEDOUT, "cond_timedwait");
    pthread_mutex_unlock(&mutex);
  }
  {
    const timespec time = {0, 3 * kMs};
    const Fact fact("futex");
    Check(syscall(SYS_futex, &futex_word, FUTEX_WAIT_PRIVATE, 0, &time, nullptr, 0) == -1 && errno == ETIMEDOUT,
          "futex");
  }
  InThread([](std::atomic<bool>& is_ready) {
    TellHolder("futex");
    is_ready = true;
    LetMainWait();
    futex_word = 1;
    Check(syscall(SYS_futex, &futex_word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0) == 1, "futex wakes one");
  });
  const Fact fact("futex");
  Check(syscall(SYS_futex, &futex_word, FUTEX_WAIT_PRIVATE, 0, nullptr, nullptr, 0) == 0, "futex is woken");
}

void WaitForOthers(const char* path) {
  int ends[4];
  Check(pipe(ends) == 0, "pipe");
  for (int i = 0; i < 5; ++i) {
    InThread([&](std::atomic<bool>& is_ready) {
      const int to = ends[1];
      is_ready = true;
      LetMainWait();
      Check(syscall(SYS_write, to, "x", 1) == 1, "write");
    });
    char letter;
    const Fact fact("read");
    Check(read(ends[0], &letter, 1) == 1, "read");
  }
  // A socket that is gone when somebody looks for its name.
  Check(socketpair(AF_UNIX, SOCK_STREAM, 0, ends + 2) == 0, "socketpair");
  InThread([&](std::atomic<bool>& is_ready) {
    const int to = ends[3];
    is_ready = true;
    LetMainWait();
    Check(syscall(SYS_write, to, "yy", 2) == 2, "write");
  });
  {
    char letters[2];
    const Fact fact("read");
    Check(read(ends[2], letters, 2) == 2, "read");
  }
  close(ends[2]);
  for (int i = 0; i < 2; ++i) {
    pollfd one = {ends[0], POLLIN, 0};
    const Fact fact("poll");
    Check(poll(&one, 1, 3) == 0, "poll");
  }
  for (int i = 0; i < 3; ++i) {
    const timespec time = {0, 2 * kMs};
    const Fact fact("nanosleep");
    Check(nanosleep(&time, nullptr) == 0, "nanosleep");
  }
  for (int i = 0; i < 2; ++i) {
    const Fact fact("usleep");
    Check(usleep(3000) == 0, "usleep");
  }
  main_goes = false;
  std::thread thread(LetMainWait);
  main_goes = true;
  {
    const Fact fact("pthread_join");
    thread.join();
  }
  const int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
  Check(file >= 0, "open");
  char bytes[128] = {};
  for (int i = 0; i < 50; ++i) Check(pwrite(file, bytes, sizeof bytes, i * 128) == 128, "pwrite");
  for (int i = 0; i < 50; ++i) Check(read(file, bytes, sizeof bytes) == 128, "read");
  Check(fsync(file) == 0, "fsync");
  Check(close(file) == 0, "close");
  std::FILE* stream = std::fopen(path, "r");
  Check(stream != nullptr, "fopen");
  for (int i = 0; i < 20; ++i) Check(std::fread(bytes, 4, 32, stream) == 32, "fread");
  Check(std::fclose(stream) == 0, "fclose");
}

// What wrappers must not change.
void CheckErrors() {
  char byte = 0;
  const timespec soon = {0, kMs};
  errno = 0;
  Check(read(-1, &byte, 1) == -1 && errno == EBADF, "read of nothing");
  Check(open("/nowhere/at/all", O_RDONLY) == -1 && errno == ENOENT, "open of nothing");
  Check(close(-1) == -1 && errno == EBADF, "close of nothing");
  Check(std::fopen("/nowhere/at/all", "r") == nullptr && errno == ENOENT, "fopen of nothing");
  errno = 1234;
  Check(nanosleep(&soon, nullptr) == 0 && errno == 1234, "errno after a call that took long");
  Check(poll(nullptr, 0, 2) == 0 && errno == 1234, "errno after poll");
  Check(pthread_mutex_lock(&mutex) == 0 && pthread_mutex_unlock(&mutex) == 0 && errno == 1234, "errno after a lock");
  sem_init(&semaphore, 0, 1);
  Check(sem_wait(&semaphore) == 0 && errno == 1234, "errno after a semaphore");
  std::thread([] {
    Pause(2 * kMs);
    sem_post(&semaphore);
  }).detach();
  Check(sem_wait(&semaphore) == 0 && errno == 1234, "errno after waiting for a semaphore");
  timespec past = {1, 0};
  Check(sem_timedwait(&semaphore, &past) == -1 && errno == ETIMEDOUT, "sem_timedwait");
  errno = 1234;
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK);
  pthread_mutex_t checked;
  pthread_mutex_init(&checked, &attributes);
  Check(pthread_mutex_lock(&checked) == 0 && pthread_mutex_lock(&checked) == EDEADLK, "a lock that checks");
  pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_t recursive;
  pthread_mutex_init(&recursive, &attributes);
  Check(pthread_mutex_lock(&recursive) == 0 && pthread_mutex_lock(&recursive) == 0, "a recursive lock");
  pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_NORMAL);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  static pthread_mutex_t robust;
  pthread_mutex_init(&robust, &attributes);
  std::thread([] { pthread_mutex_lock(&robust); }).join();
  Check(pthread_mutex_lock(&robust) == EOWNERDEAD, "a lock whose owner died");
  Check(pthread_mutex_timedlock(&checked, &past) == EDEADLK, "a timed lock");
  Check(errno == 1234, "errno after locks");
  Check(fcntl(0, F_GETFD) >= 0 && fcntl(-1, F_GETFD) == -1 && errno == EBADF, "fcntl");
  Check(syscall(SYS_getppid) == getppid(), "syscall");
}

struct Noted {
  std::atomic<int>& count;
  ~Noted() { ++count; }
};

std::atomic<int> destroyed{0}, cleaned{0};

void CancelIn(void (*wait)()) {
  std::atomic<bool> is_there{false};
  struct Both {
    std::atomic<bool>* is_there;
    void (*wait)();
  } both{&is_there, wait};
  pthread_t thread;
  const auto run = [](void* argument) -> void* {
    auto* b = static_cast<Both*>(argument);
    const Noted noted{destroyed};
    pthread_cleanup_push([](void*) { ++cleaned; }, nullptr);
    b->is_there->store(true);
    b->wait();
    pthread_cleanup_pop(0);
    return nullptr;
  };
  Check(pthread_create(&thread, nullptr, run, &both) == 0, "create");
  while (!is_there) Pause(kMs / 10);
  Pause(2 * kMs);
  pthread_cancel(thread);
  void* result = nullptr;
  Check(pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED, "the thread was cancelled");
}

int cancel_pipe[2];

void Cancel() {
  Check(pipe(cancel_pipe) == 0, "pipe");
  sem_init(&semaphore, 0, 0);
  void (*const waits[])() = {
      [] {
        char byte;
        Check(read(cancel_pipe[0], &byte, 1) == 1, "cancelled read");
      },
      [] { poll(nullptr, 0, -1); },
      [] { sleep(1000); },
      [] { sem_wait(&semaphore); },
      [] {
        pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
        pthread_mutex_lock(&own);
        pthread_cond_wait(&condition, &own);
      },
      // Cancelled before it waits: a semaphore that is free is a cancellation point, too.
      [] {
        sem_t free;
        sem_init(&free, 0, 1'000'000'000);
        while (true) sem_wait(&free);
      },
  };
  int count = 0;
  for (const auto wait : waits) {
    CancelIn(wait);
    ++count;
  }
  Check(destroyed == count && cleaned == count, "what the threads held was released");
}

jmp_buf jump;
int signal_pipe[2];

void Signals() {
  Check(pipe(signal_pipe) == 0, "pipe");
  struct sigaction action = {};
  action.sa_handler = [](int) {
    const int error = errno;
    const timespec time = {0, 2 * kMs};
    nanosleep(&time, nullptr);
    if (write(signal_pipe[1], "s", 1) != 1) _exit(9);
    errno = error;
  };
  sigaction(SIGALRM, &action, nullptr);
  // One that comes before the call has begun does not end it, the next one does.
  const itimerval often = {{0, 100'000}, {0, 3000}}, once = {{0, 0}, {0, 3000}}, never = {};
  setitimer(ITIMER_REAL, &often, nullptr);
  Check(poll(nullptr, 0, 60'000) == -1 && errno == EINTR, "poll that a signal ends");
  setitimer(ITIMER_REAL, &never, nullptr);
  char letter = 0;
  Check(read(signal_pipe[0], &letter, 1) == 1 && letter == 's', "what the handler wrote");
  action.sa_handler = [](int) { siglongjmp(jump, 1); };
  action.sa_flags = SA_NODEFER;
  sigaction(SIGALRM, &action, nullptr);
  if (sigsetjmp(jump, 1) == 0) {
    setitimer(ITIMER_REAL, &once, nullptr);
    sleep(1000);
    Check(false, "jumped out of the call");
  }
  for (int i = 0; i < 3; ++i) {
    const Fact fact("usleep");
    usleep(3000);
  }
}

int StatusOf(pid_t child) {
  int status = -1;
  Check(child > 0 && waitpid(child, &status, 0) == child, "waitpid");
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void Families() {
  for (int i = 0; i < 20; ++i) {
    if (const pid_t child = fork(); child == 0) {
      usleep(2000);
      _exit(close(1) == 0 ? 7 : 8);
    } else {
      Check(StatusOf(child) == 7, "fork");
    }
    if (const pid_t child = vfork(); child == 0) {
      close(0);
      open("/dev/null", O_RDONLY);
      char* words[] = {const_cast<char*>("sh"), const_cast<char*>("-c"), const_cast<char*>("exit 6"), nullptr};
      execve("/bin/sh", words, environ);
      _exit(1);
    } else {
      Check(StatusOf(child) == 6, "vfork");
    }
    // A fork that libc does not know of shares our log with its parent.
    if (const auto child = static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)); child == 0) {
      for (int k = 0; k < 20; ++k) usleep(100);
      _exit(5);
    } else {
      Check(StatusOf(child) == 5, "clone");
    }
    Check(std::system("exit 3") == 3 << 8, "system");
  }
}

// Long waits of one thread while another loads and unloads a library that waits, too.
void Libraries(const char* path) {
  std::atomic<bool> is_over{false};
  std::thread other([&] {
    while (!is_over) usleep(1500);
  });
  int answers = 0;
  for (int i = 0; i < 1500; ++i) {
    void* const library = dlopen(path, i % 2 == 0 ? RTLD_NOW : RTLD_LAZY);
    Check(library != nullptr, "dlopen");
    if (library == nullptr) break;
    answers += reinterpret_cast<int (*)(int)>(dlsym(library, "WaitInLibrary"))(i % 100 == 0 ? 1200 : 0);
    Check(dlclose(library) == 0, "dlclose");
  }
  is_over = true;
  other.join();
  Check(answers == 1500, "all calls answered");
}

void ManyThreads(int count) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([] {
      usleep(3000);
      pthread_mutex_lock(&mutex);
      pthread_mutex_unlock(&mutex);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// Threads that do nothing but map memory, as those of an allocator.
void Mappings(int count) {
  constexpr size_t kBytes = 16 << 20;
  for (int i = 0; i < count; ++i) {
    std::thread([] {
      void* const at = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
      Check(at != MAP_FAILED && munmap(at, kBytes) == 0, "memory is mapped");
    }).join();
  }
}

// More long calls than anybody wants to know of, which is 20,000 a second, until the file is there; where it is there
// from the start, until there were twice as many for a while. A busy machine may not let so many be made.
void Masses(const char* go) {
  std::atomic<bool> is_over{false};
  std::atomic<int64_t> calls{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 64; ++i) {
    threads.emplace_back([&] {
      nvtxMarkA("mass");
      for (; !is_over; ++calls) usleep(200);
    });
  }
  int in_masses = 0;
  for (int tries = 0; access(go, F_OK) != 0 || (in_masses < 2 && tries < 30); ++tries) {
    const int64_t before = calls, start_ns = NowNs();
    Pause(300 * kMs);
    if ((calls - before) * 1000 * kMs > 40'000 * (NowNs() - start_ns)) ++in_masses;
  }
  std::printf("{\"fact\": \"masses\", \"times\": %d}\n", in_masses);
  is_over = true;
  for (std::thread& thread : threads) thread.join();
}

// Their rows fill several pages. Without slack, most of them are shorter than what is recorded of other threads.
void WaitsAfterAMark() {
  prctl(PR_SET_TIMERSLACK, 1);
  nvtxMarkA("the only one");
  for (int i = 0; i < 500; ++i) usleep(20);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view mode = argc > 1 ? argv[1] : "";
  const char* const argument = argc > 2 ? argv[2] : "";
  pollfd none = {-1, 0, 0};
  const timespec no_time = {0, 0};
  ppoll(&none, 1, &no_time, nullptr);  // its slot is what tells whether the tracer is there
  WaitForTracer(true);
  if (mode == "known") {
    WaitForLocks();
    WaitForOthers(argument);
  }
  if (mode == "errors") CheckErrors();
  if (mode == "cancel") Cancel();
  if (mode == "signals") Signals();
  if (mode == "families") Families();
  if (mode == "libraries") Libraries(argument);
  if (mode == "threads") ManyThreads(std::atoi(argument));
  if (mode == "mappings") Mappings(std::atoi(argument));
  if (mode == "masses") Masses(argument);
  if (mode == "marked") WaitsAfterAMark();
  if (mode == "restored") {
    nvtxRangePushA("part");
    usleep(2000);
    nvtxRangePop();
    WaitForTracer(false);
    usleep(2000);
  }
  if (mode == "forever") {
    int ends[2];
    if (pipe(ends) != 0) return 2;
    char byte;
    std::puts("ready");
    std::fflush(stdout);
    return static_cast<int>(read(ends[0], &byte, 1));
  }
  std::printf("{\"fact\": \"end\", \"tid\": %d}\n", getpid());
  return failures == 0 ? 0 : 1;
}

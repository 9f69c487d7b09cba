// Waits in functions that it knows, below functions of several kinds.
//   call_sites [deep N | threads N | fork | woken | behind | handler]
#include <alloca.h>
#include <linux/futex.h>
#include <nvtx3/nvToolsExt.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#include "bench/import_slot.h"

namespace {
constexpr useconds_t kWaitUs = 2000;
volatile int sink = 0;
}  // namespace

// Not static, so that they keep their names; what follows their calls keeps them on the stack.
extern "C" {
__attribute__((noinline)) void wait_plainly() {
  usleep(kWaitUs);
  sink = sink + 1;
}
// Its stack pointer is no fixed distance from its caller's.
__attribute__((noinline)) void wait_aligned(int bytes) {
  alignas(64) volatile char line[64];
  auto* const more = static_cast<volatile char*>(alloca(static_cast<size_t>(bytes)));
  line[0] = 1;
  more[0] = 1;
  usleep(kWaitUs);
  sink = sink + line[0] + more[0];
}
__attribute__((noinline)) void wait_deep(int levels) {
  if (levels == 0) {
    wait_plainly();
  } else {
    wait_deep(levels - 1);
  }
  sink = sink + 1;
}
__attribute__((noinline)) void load_batch() {
  wait_plainly();
  wait_aligned(100 + sink % 7);
  sink = sink + 1;
}
__attribute__((noinline)) void* run_thread(void*) {
  load_batch();
  return nullptr;
}
__attribute__((noinline)) void wait_in_destructor() {
  struct Waiter {
    ~Waiter() { usleep(kWaitUs); }
  };
  try {
    const Waiter waiter;
    throw std::runtime_error("unwinds");
  } catch (const std::runtime_error&) {
    sink = sink + 1;
  }
}
}

namespace {

void RunThreads(int count) {
  std::vector<pthread_t> threads(static_cast<size_t>(count));
  for (pthread_t& thread : threads) pthread_create(&thread, nullptr, run_thread, nullptr);
  for (const pthread_t thread : threads) pthread_join(thread, nullptr);
}

void RunChild() {
  const pid_t child = fork();
  if (child == 0) {
    nvtxMark("child");
    load_batch();
    std::exit(0);
  }
  waitpid(child, nullptr, 0);
}

// Whether the main thread sleeps in the kernel.
bool IsMainAsleep() {
  std::FILE* const file = std::fopen("/proc/self/stat", "r");
  char text[512] = {};
  const bool is_read = file != nullptr && std::fgets(text, sizeof text, file) != nullptr;
  if (file != nullptr) std::fclose(file);
  const char* const end = is_read ? std::strrchr(text, ')') : nullptr;
  return end != nullptr && end[2] == 'S';
}

// Some milliseconds after the main thread has begun to wait, however late it does.
void LetMainWait(const std::atomic<bool>& goes_to_wait) {
  while (!goes_to_wait || !IsMainAsleep()) usleep(100);
  usleep(3 * kWaitUs);
}

}  // namespace

extern "C" {
__attribute__((noinline)) void post_it(sem_t* semaphore) {
  sem_post(semaphore);
  sink = sink + 1;
}
__attribute__((noinline)) void signal_it(std::mutex* mutex, std::condition_variable* condition, bool* is_ready) {
  const std::lock_guard guard(*mutex);
  *is_ready = true;
  condition->notify_one();
  sink = sink + 1;
}
__attribute__((noinline)) void release_it(std::mutex* mutex) {
  mutex->unlock();
  sink = sink + 1;
}
__attribute__((noinline)) void leave_it(pthread_rwlock_t* lock) {
  pthread_rwlock_unlock(lock);
  sink = sink + 1;
}
__attribute__((noinline)) void wake_it(std::atomic<uint32_t>* word) {
  *word = 1;
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  sink = sink + 1;
}
}

namespace {

// Waits for a semaphore, a condition, a futex, a mutex and a reader, and says who ends that.
void BeWoken() {
  sem_t semaphore;
  sem_init(&semaphore, 0, 0);
  std::mutex mutex, held;
  pthread_rwlock_t read = PTHREAD_RWLOCK_INITIALIZER;
  std::condition_variable condition;
  bool is_ready = false;
  std::atomic<uint32_t> word{0};
  std::atomic<bool> waits_for_semaphore{false}, waits_for_condition{false}, waits_for_futex{false},
      waits_for_mutex{false}, waits_for_reader{false};
  std::thread waker([&] {
    std::printf("{\"fact\": \"waker\", \"tid\": %ld}\n", syscall(SYS_gettid));
    LetMainWait(waits_for_semaphore);
    post_it(&semaphore);
    LetMainWait(waits_for_condition);
    signal_it(&mutex, &condition, &is_ready);
    LetMainWait(waits_for_futex);
    held.lock();
    wake_it(&word);
    LetMainWait(waits_for_mutex);
    pthread_rwlock_rdlock(&read);
    release_it(&held);
    LetMainWait(waits_for_reader);
    leave_it(&read);
  });
  waits_for_semaphore = true;
  sem_wait(&semaphore);
  std::unique_lock lock(mutex);
  waits_for_condition = true;
  condition.wait(lock, [&] { return is_ready; });
  lock.unlock();
  waits_for_futex = true;
  while (word == 0) syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, nullptr, nullptr, 0);
  waits_for_mutex = true;
  held.lock();
  held.unlock();
  waits_for_reader = true;
  pthread_rwlock_wrlock(&read);
  waker.join();
}

// Waits for a mutex behind another thread: it goes through two hands.
void WaitBehindAnother() {
  std::mutex mutex;
  std::atomic<bool> is_held{false}, goes_to_wait{false};
  std::thread holder([&] {
    std::printf("{\"fact\": \"holder\", \"tid\": %ld}\n", syscall(SYS_gettid));
    mutex.lock();
    is_held = true;
    LetMainWait(goes_to_wait);
    release_it(&mutex);
  });
  while (!is_held) usleep(100);
  std::thread other([&] {
    mutex.lock();
    usleep(kWaitUs);
    mutex.unlock();
  });
  usleep(10 * kWaitUs);
  goes_to_wait = true;
  mutex.lock();
  mutex.unlock();
  holder.join();
  other.join();
}

sem_t handled;

// A handler of a signal ends the wait: it may have interrupted anything.
void BeWokenByHandler() {
  sem_init(&handled, 0, 0);
  struct sigaction action = {};
  action.sa_handler = [](int) { post_it(&handled); };
  sigaction(SIGUSR1, &action, nullptr);
  std::atomic<bool> waits{false};
  std::thread waker([&] {
    LetMainWait(waits);
    pthread_kill(pthread_self(), SIGUSR1);
  });
  waits = true;
  sem_wait(&handled);
  waker.join();
}

// Import slots are led to the tracer by its own thread.
void AwaitTracer() {
  pollfd none = {-1, 0, 0};
  const timespec no_time = {0, 0};
  ppoll(&none, 1, &no_time, nullptr);
  gprof::bench::WaitForSlots("ppoll", true);
}

}  // namespace

int main(int count, char** values) {
  const char* const mode = count > 1 ? values[1] : "";
  const int number = count > 2 ? std::atoi(values[2]) : 0;
  nvtxRangePushA("step");
  AwaitTracer();
  load_batch();
  if (std::strcmp(mode, "deep") == 0) wait_deep(number);
  if (std::strcmp(mode, "threads") == 0) RunThreads(number);
  if (std::strcmp(mode, "fork") == 0) RunChild();
  if (std::strcmp(mode, "woken") == 0) BeWoken();
  if (std::strcmp(mode, "behind") == 0) WaitBehindAnother();
  if (std::strcmp(mode, "handler") == 0) BeWokenByHandler();
  wait_in_destructor();
  nvtxRangePop();
  return 0;
}

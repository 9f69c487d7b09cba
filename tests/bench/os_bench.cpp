// What calls of the operating system cost that do not wait: each in a thread that has used NVTX, beside another thread.
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>

#include "common/arguments.h"
#include "import_slot.h"
#include "samples.h"

using namespace gprof::bench;

namespace {

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
sem_t semaphore;

template <class F>
auto Repeat(F f) {
  return [f](std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) f();
  };
}

// libc locks in another way while a process has one thread only.
void StartIdleThread() {
  pthread_t thread;
  pthread_create(
      &thread, nullptr,
      [](void*) -> void* {
        while (true) syscall(SYS_pause);
      },
      nullptr);
  pthread_detach(thread);
}

}  // namespace

int main(int argc, char** argv) {
  gprof::examples::Arguments arguments(argc, argv,
                                       "os_bench [-n COUNT] [-r REPETITIONS] [--only NAMES] [--processor-time]");
  const std::size_t count = arguments.Number("-n", 200'000);
  const bool counts_processor = arguments.Switch("--processor-time");
  Samples samples(arguments.Number("-r", 15), arguments.Text("--only", ""), counts_processor);
  arguments.Finish();
  StartIdleThread();
  if (!WaitForSlots("pthread_mutex_lock")) return 1;
  sem_init(&semaphore, 0, 1);
  const int zero = open("/dev/zero", O_RDONLY);
  char byte;
  samples.Measure("mutex_pair", count * 10, Repeat([] {
                    pthread_mutex_lock(&mutex);
                    pthread_mutex_unlock(&mutex);
                  }));
  samples.Measure("rdlock_pair", count * 10, Repeat([] {
                    pthread_rwlock_rdlock(&rwlock);
                    pthread_rwlock_unlock(&rwlock);
                  }));
  samples.Measure("semaphore_pair", count * 10, Repeat([] {
                    sem_wait(&semaphore);
                    sem_post(&semaphore);
                  }));
  samples.Measure("read_1_byte", count, Repeat([&] {
                    if (read(zero, &byte, 1) != 1) std::abort();
                  }));
  samples.Measure("poll_0", count, Repeat([] { poll(nullptr, 0, 0); }));
  samples.Measure("open_close", count / 10, Repeat([] { close(open("/dev/null", O_RDONLY)); }));
  samples.Print();
  return 0;
}

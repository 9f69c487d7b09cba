// A program that makes no progress, and knows why.
//   stuck kernel      a kernel runs for seconds, another waits behind it, and a second stream for its event
//   stuck lock        a thread holds a lock and sleeps; the first thread waits for it
//   stuck deadlock    two threads wait for each other's locks
//   stuck polling     as kernel, while another thread asks all the time whether the kernel has ended
// It says "ready" when it is about to hang.
#include <cuda_runtime_api.h>
#include <unistd.h>

#include <condition_variable>
#include <mutex>
#include <string_view>
#include <thread>

#include "facts.h"
#include "fake_kernel.h"

namespace {

const FakeKernel endless("_Z7endlessv");
const FakeKernel quick("_Z5quickv");

constexpr unsigned kSeconds = 100'000'000;  // blocks, of the double's device
constexpr unsigned kLongSeconds = 8 * kSeconds;

void Ready() { facts::Say(R"({"fact":"said","text":"ready"})"); }

void HangInKernel(bool polls) {
  cudaStream_t first, second;
  cudaEvent_t event;
  CHECK(cudaStreamCreate(&first));
  CHECK(cudaStreamCreate(&second));
  CHECK(cudaEventCreate(&event));
  CHECK(quick.Launch(1, 32, first));
  CHECK(cudaStreamSynchronize(first));
  CHECK(endless.Launch(kLongSeconds, 32, first));
  CHECK(quick.Launch(1, 32, first));
  CHECK(cudaEventRecord(event, first));
  CHECK(cudaStreamWaitEvent(second, event, 0));
  CHECK(quick.Launch(1, 32, second));
  std::thread poller;
  if (polls) {
    poller = std::thread([first] {
      while (cudaStreamQuery(first) == cudaErrorNotReady) usleep(20'000);
    });
  }
  Ready();
  CHECK(cudaStreamSynchronize(first));
  if (polls) poller.join();
}

__attribute__((noinline)) void TakeLock(std::mutex* lock) { const std::lock_guard<std::mutex> guard(*lock); }

__attribute__((noinline)) void SleepWithLock(std::mutex* lock) {
  const std::lock_guard<std::mutex> guard(*lock);
  Ready();
  sleep(8);
}

void HangInLock() {
  CHECK(quick.Launch(1, 32));
  CHECK(cudaDeviceSynchronize());
  std::mutex lock;
  std::thread sleeper(SleepWithLock, &lock);
  usleep(200'000);
  TakeLock(&lock);
  sleeper.join();
}

void HangInCircle() {
  CHECK(quick.Launch(1, 32));
  CHECK(cudaDeviceSynchronize());
  static std::mutex a, b;
  a.lock();
  std::thread other([] {
    b.lock();
    TakeLock(&a);
  });
  usleep(200'000);
  Ready();
  TakeLock(&b);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view how = argc > 1 ? argv[1] : "";
  if (how == "kernel" || how == "polling") HangInKernel(how == "polling");
  if (how == "lock") HangInLock();
  if (how == "deadlock") HangInCircle();
}

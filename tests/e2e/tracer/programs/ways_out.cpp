// Ends in every way a program can end. usage: ways_out HOW EVENTS [busy]
// Does EVENTS marks and, when CUDA is there, EVENTS launches with a synchronisation; then says so and ends.
#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include <atomic>
#include <cstring>
#include <string>
#include <thread>

#include "facts.h"

namespace {

struct Dim3 {
  unsigned x, y, z;
};
const char kernel_key = 0;

// The runtime is opened late, so that the same program runs without any CUDA.
struct Cuda {
  void* library = nullptr;
  int (*launch)(const void*, Dim3, Dim3, void**, size_t, void*) = nullptr;
  int (*synchronize)() = nullptr;
};

Cuda OpenCuda() {
  Cuda cuda;
  const char* path = std::getenv("TEST_CUDART");
  if (path == nullptr) return cuda;
  cuda.library = dlopen(path, RTLD_NOW);
  if (cuda.library == nullptr) return cuda;
  using Register = void (*)(void**, const char*, char*, const char*, int, void*, void*, void*, void*, int*);
  reinterpret_cast<Register>(dlsym(cuda.library, "__cudaRegisterFunction"))(
      nullptr, &kernel_key, nullptr, "_Z4lastv", -1, nullptr, nullptr, nullptr, nullptr, nullptr);
  *reinterpret_cast<void**>(&cuda.launch) = dlsym(cuda.library, "cudaLaunchKernel");
  *reinterpret_cast<void**>(&cuda.synchronize) = dlsym(cuda.library, "cudaDeviceSynchronize");
  return cuda;
}

void Work(const Cuda& cuda, int events, const char* message) {
  for (int i = 0; i < events; ++i) {
    nvtxMarkA(message);
    if (cuda.launch != nullptr) CHECK(cuda.launch(&kernel_key, {1, 1, 1}, {32, 1, 1}, nullptr, 0, nullptr));
  }
  if (cuda.synchronize != nullptr) CHECK(cuda.synchronize());
}

Cuda late_cuda;  // for what runs after main
std::atomic<bool> is_over{false};

void Busy() {
  while (!is_over) {
    nvtxRangePushA("busy");
    nvtxRangePop();
    usleep(200);
  }
}

// The test lets the program end when it has seen in the trace what it wants to see.
void WaitForGo() {
  const char* path = std::getenv("TEST_GO");
  while (path != nullptr && access(path, F_OK) != 0) usleep(5000);
}

[[noreturn]] void WaitForEver() {
  for (;;) pause();
}

// The child ends in its own way; the parent waits for it. CUDA that the parent used is of no use in the child.
int Fork(bool uses_exit_handlers, int events, const Cuda& cuda) {
  const pid_t child = fork();
  if (child == 0) {
    for (int i = 0; i < events; ++i) nvtxMarkA("child");
    if (cuda.launch != nullptr && cuda.launch(&kernel_key, {1, 1, 1}, {32, 1, 1}, nullptr, 0, nullptr) == 0) _exit(96);
    if (uses_exit_handlers) std::exit(5);
    _exit(5);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 5 ? 11 : 98;
}

// The child is the first to use CUDA, as workers of Python's multiprocessing are.
int ForkBeforeCuda(bool uses_exit_handlers, int events) {
  const pid_t child = fork();
  if (child == 0) {
    Work(OpenCuda(), events, "child with CUDA");
    if (uses_exit_handlers) std::exit(5);
    _exit(5);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 5 ? 12 : 98;
}

// The child's main thread leaves, and another one goes on until long after the next flushes.
int ForkAndLeave(int events) {
  const pid_t child = fork();
  if (child == 0) {
    nvtxMarkA("child");
    std::thread([events] {
      usleep(400000);
      for (int i = 1; i < events; ++i) nvtxMarkA("child");
      std::exit(5);
    }).detach();
    pthread_exit(nullptr);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 5 ? 13 : 98;
}

int End(const std::string& how, int events, const Cuda& cuda, char** argv) {
  if (how == "return") return 3;
  if (how == "exit") std::exit(4);
  if (how == "_exit") _exit(5);
  if (how == "quick_exit") std::quick_exit(6);
  if (how == "abort") std::abort();
  if (how == "segv") raise(SIGSEGV);
  if (how == "term") raise(SIGTERM);
  if (how == "kill") raise(SIGKILL);
  if (how == "wait") WaitForEver();
  if (how == "fork__exit") return Fork(false, events, cuda);
  if (how == "fork_exit") return Fork(true, events, cuda);
  if (how == "fork_first") return ForkBeforeCuda(true, events);
  if (how == "fork_first__exit") return ForkBeforeCuda(false, events);
  if (how == "fork_leave") return ForkAndLeave(events);
  if (how == "exec") execl(argv[0], argv[0], "return", argv[2], nullptr);
  if (how == "pthread_exit") {
    std::thread([] {
      usleep(20000);
      nvtxMarkA("survivor");
      std::exit(8);
    }).detach();
    pthread_exit(nullptr);
  }
  if (how == "handlers") {
    late_cuda = cuda;
    std::atexit([] {
      nvtxMarkA("in atexit");
      if (late_cuda.launch != nullptr) Work(late_cuda, 1, "last work");
    });
    return 9;
  }
  return 97;
}

// Destroyed after main, when the driver is gone and the tracer may already have written its end.
struct Late {
  ~Late() {
    nvtxMarkA("in destructor");
    if (late_cuda.launch == nullptr) return;
    if (late_cuda.launch(&kernel_key, {1, 1, 1}, {32, 1, 1}, nullptr, 0, nullptr) == 0) _exit(95);
  }
} late;

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const std::string how = argv[1];
  const int events = std::atoi(argv[2]);
  const Cuda cuda = how.starts_with("fork_first") ? Cuda() : OpenCuda();
  Work(cuda, events, "before the end");
  if (argc > 3) {
    for (int i = 0; i < 4; ++i) std::thread(Busy).detach();
    usleep(20000);
  }
  facts::Say(R"({"fact":"end","how":"%s","pid":%d,"events":%d,"launches":%d})", how.c_str(), static_cast<int>(getpid()),
             events, cuda.launch != nullptr ? events : 0);
  WaitForGo();
  return End(how, events, cuda, argv);
}

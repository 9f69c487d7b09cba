// Launches kernels within NVTX ranges, then leaves in one of the ways a program can end.
// usage: gpu_leave WAY LAUNCHES [WAIT_MS]
#include <cuda_runtime_api.h>
#include <nvtx3/nvToolsExt.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "common/cuda_check.h"
#include "empty.h"

namespace {

constexpr int kOwnCode = 23;

void Launch(long launches) {
  for (long i = 0; i < launches; ++i) {
    nvtxRangePushA("launch");
    gprof::examples::Check(gprof::kernels::Empty(nullptr));
    nvtxRangePop();
  }
  gprof::examples::Check(cudaDeviceSynchronize());
}

[[noreturn]] void Raise(int signal) {
  kill(getpid(), signal);
  for (;;) pause();
}

void ExecuteSelf(const char* way, const char* launches) {
  execl("/proc/self/exe", "gpu_leave", way, launches, static_cast<char*>(nullptr));
  std::perror("execl");
}

// Runs this program twice at the same time, as children; true when both came back with kOwnCode.
bool RunChildren(const char* launches) {
  std::vector<pid_t> children;
  for (int i = 0; i < 2; ++i) {
    std::string words[] = {"gpu_leave", "exit", launches};
    char* arguments[] = {words[0].data(), words[1].data(), words[2].data(), nullptr};
    pid_t child = 0;
    if (posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, arguments, environ) != 0) return false;
    children.push_back(child);
  }
  bool is_good = true;
  for (const pid_t child : children) {
    int status = 0;
    is_good &= waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == kOwnCode;
  }
  return is_good;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const std::string way = argv[1];
  Launch(std::atol(argv[2]));
  if (argc > 3) std::this_thread::sleep_for(std::chrono::milliseconds(std::atol(argv[3])));
  std::printf("launched\n");
  std::fflush(stdout);
  const std::map<std::string, std::function<void()>> ways = {
      {"return", [] {}},
      {"exit", [] { std::exit(kOwnCode); }},
      {"_exit", [] { _exit(kOwnCode); }},
      {"quick_exit", [] { std::quick_exit(kOwnCode); }},
      {"thread_exit", [] { std::thread([] { std::exit(kOwnCode); }).join(); }},
      {"reset", [] { gprof::examples::Check(cudaDeviceReset()); }},
      {"abort", [] { std::abort(); }},
      {"segv", [] { Raise(SIGSEGV); }},
      {"term", [] { Raise(SIGTERM); }},
      {"kill", [] { Raise(SIGKILL); }},
      {"exec", [argv] { ExecuteSelf("exit", argv[2]); }},
      {"children", [argv] { std::exit(RunChildren(argv[2]) ? kOwnCode : 1); }},
  };
  const auto found = ways.find(way);
  if (found == ways.end()) return 2;
  found->second();
  return kOwnCode;
}

// Threads that fork while another one makes the first NVTX call of the process: fork_races WHERE FORKS. WHERE says at
// which moment: "loading" (NVTX is about to load the tracer), "settings" (the tracer reads them, within NVTX's own
// start), "memory" (it sets up its own), or "any". In the first one, the fork of each thread comes then; in those after
// it, forks may have to wait.
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstring>

namespace {

constexpr int kOwnCode = 7, kForkers = 3;
constexpr unsigned kDeadlineS = 600;

const char* where = "";
std::atomic<bool> is_held_up{false};
std::atomic<int> about_to_fork{0}, forked{0};

void Nap(long ms) {
  const timespec pause = {0, ms * 1'000'000};
  nanosleep(&pause, nullptr);
}

// Until all threads are about to fork, and a moment longer.
void HoldUpAt(const char* here) {
  if (std::strcmp(where, here) != 0 || is_held_up.exchange(true)) return;
  while (about_to_fork.load() < kForkers) Nap(1);
  Nap(50);
}

void HoldUpWhileLoading() {
  if (std::strcmp(where, "loading") != 0 || is_held_up.exchange(true)) return;
  while (forked.load() < kForkers) Nap(1);
}

// True: the child used NVTX and left.
bool ForkOne() {
  const pid_t child = fork();
  if (child == 0) {
    alarm(kDeadlineS);  // one that hangs outlives its parent
    nvtxMarkA("child");
    _exit(0);
  }
  ++forked;
  int status = -1;
  return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

struct Forker {
  pthread_t thread;
  int forks = 0;
  bool is_good = true;
};

void* RunForker(void* argument) {
  auto* const forker = static_cast<Forker*>(argument);
  const bool waits = std::strcmp(where, "any") != 0;
  while (waits && !is_held_up.load()) Nap(1);
  ++about_to_fork;
  for (int i = 0; i < forker->forks; ++i) forker->is_good = ForkOne() && forker->is_good;
  return nullptr;
}

}  // namespace

// The tracer calls these two, and NVTX the first one, as what the program exports comes first.
extern "C" __attribute__((visibility("default"))) char* getenv(const char* name) {
  if (std::strncmp(name, "GPROF_", 6) == 0) HoldUpAt("settings");
  if (std::strcmp(name, "NVTX_INJECTION64_PATH") == 0) HoldUpWhileLoading();
  const std::size_t size = std::strlen(name);
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (std::strncmp(*variable, name, size) == 0 && (*variable)[size] == '=') return *variable + size + 1;
  }
  return nullptr;
}

extern "C" __attribute__((visibility("default"))) int ftruncate(int fd, off_t size) {
  HoldUpAt("memory");
  return static_cast<int>(syscall(SYS_ftruncate, fd, size));
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  where = argv[1];
  alarm(kDeadlineS);
  Forker forkers[kForkers];
  for (Forker& forker : forkers) {
    forker.forks = atoi(argv[2]) / (kForkers + 1);
    pthread_create(&forker.thread, nullptr, RunForker, &forker);
  }
  nvtxMarkA("parent");
  bool is_good = true;
  for (int i = 0; i < atoi(argv[2]) / (kForkers + 1); ++i) is_good = ForkOne() && is_good;
  for (Forker& forker : forkers) {
    pthread_join(forker.thread, nullptr);
    is_good = is_good && forker.is_good;
  }
  return is_good ? kOwnCode : 1;
}

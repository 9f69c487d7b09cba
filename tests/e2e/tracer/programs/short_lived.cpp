// Short processes that use NVTX, and do what a tracer within them may disturb. Also linked statically and with
// AddressSanitizer.
#include <linux/seccomp.h>
#include <nvtx3/nvToolsExt.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

namespace {

constexpr int kOwnCode = 7;

void Nap(long ms) {
  const timespec pause = {ms / 1000, ms % 1000 * 1'000'000};
  nanosleep(&pause, nullptr);
}

unsigned long StatusKb(const char* field) {
  char line[256];
  unsigned long kb = 0;
  FILE* const file = fopen("/proc/self/status", "r");
  while (file != nullptr && fgets(line, sizeof line, file) != nullptr) {
    if (std::strncmp(line, field, std::strlen(field)) == 0) kb = strtoul(line + std::strlen(field) + 1, nullptr, 10);
  }
  if (file != nullptr) fclose(file);
  return kb;
}

// Long enough for all that the tracer does at its start.
int PrintSize() {
  nvtxRangePushA("first");
  Nap(200);
  for (int i = 0; i < 100'000; ++i) nvtxMarkA("many");
  nvtxRangePop();
  printf("%lu\n", StatusKb("VmPeak"));
  return kOwnCode;
}

int LimitItself() {
  constexpr std::size_t kLimit = 200u << 20, kNeeded = 100u << 20;
  nvtxMarkA("before");
  Nap(100);
  const rlimit limit = {kLimit, kLimit};
  if (setrlimit(RLIMIT_AS, &limit) != 0) return 1;
  void* const memory = malloc(kNeeded);
  if (memory == nullptr) return 2;
  std::memset(memory, 1, kNeeded);
  free(memory);
  nvtxMarkA("after");
  return kOwnCode;
}

// Nothing but read, write and leaving the thread is allowed from there on.
int BecomeStrict(long pause_ms) {
  nvtxRangePushA("before");
  if (pause_ms != 0) Nap(pause_ms);
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0) != 0) return 77;
  nvtxRangePushA("strict");
  nvtxMarkA("strict");
  nvtxRangePop();
  nvtxRangePop();
  [[maybe_unused]] const ssize_t written = write(1, "strict\n", 7);
  syscall(SYS_exit, kOwnCode);
  return 1;
}

int ForkOnce() {
  nvtxMarkA("parent");
  Nap(50);  // the tracer's thread is there
  const pid_t child = fork();
  if (child == 0) {
    nvtxMarkA("child");
    exit(0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  printf("child %d\n", status);
  return kOwnCode;
}

int Sleep() {
  puts("asleep");
  fflush(stdout);
  Nap(60'000);
  return kOwnCode;
}

}  // namespace

int main(int argc, char** argv) {
  const char* const what = argc > 1 ? argv[1] : "";
  const int number = argc > 2 ? atoi(argv[2]) : 0;
  if (std::strcmp(what, "size") == 0) return PrintSize();
  if (std::strcmp(what, "limit") == 0) return LimitItself();
  if (std::strcmp(what, "strict") == 0) return BecomeStrict(number);
  if (std::strcmp(what, "fork") == 0) return ForkOnce();
  if (std::strcmp(what, "sleep") == 0) return Sleep();
  nvtxRangePushA("range");
  nvtxRangePop();
  printf("done\n");
  return kOwnCode;
}

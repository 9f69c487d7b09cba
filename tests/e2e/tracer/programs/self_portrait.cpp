// Says everything that a program can see of its own process; the tracer must not change any of it.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <nvtx3/nvToolsExt.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <cfenv>
#include <clocale>
#include <cstring>
#include <string>
#include <vector>

#include "facts.h"

extern char** environ;

namespace {

void SayEnvironment() {
  std::vector<std::string> entries;
  for (char** e = environ; *e != nullptr; ++e) entries.emplace_back(*e);
  std::sort(entries.begin(), entries.end());
  for (const std::string& e : entries) std::printf("env %s\n", e.c_str());
}

void SaySignals() {
  sigset_t mask;
  sigprocmask(SIG_SETMASK, nullptr, &mask);
  for (int s = 1; s < 65; ++s) {
    struct sigaction action;
    if (sigaction(s, nullptr, &action) != 0) continue;
    const char* how = action.sa_handler == SIG_DFL ? "default" : action.sa_handler == SIG_IGN ? "ignored" : "handler";
    std::printf("signal %d %s %s\n", s, how, sigismember(&mask, s) == 1 ? "blocked" : "open");
  }
}

void SayDescriptors() {
  DIR* folder = opendir("/proc/self/fd");
  const int own = dirfd(folder);
  while (const dirent* entry = readdir(folder)) {
    const int fd = std::atoi(entry->d_name);
    if (entry->d_name[0] == '.' || fd == own) continue;
    char target[4096] = {};
    if (readlink(("/proc/self/fd/" + std::string(entry->d_name)).c_str(), target, sizeof(target) - 1) < 0) continue;
    std::printf("fd %d %s %s\n", fd, (fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0 ? "cloexec" : "inherited", target);
  }
  closedir(folder);
}

void SayThreads() {
  DIR* folder = opendir("/proc/self/task");
  int threads = 0;
  while (const dirent* entry = readdir(folder)) threads += entry->d_name[0] != '.' ? 1 : 0;
  closedir(folder);
  std::printf("threads %d\n", threads);
}

void SayRest() {
  char name[16] = {};
  prctl(PR_GET_NAME, name);
  const mode_t mask = umask(0);
  umask(mask);
  rlimit files;
  getrlimit(RLIMIT_NOFILE, &files);
  char folder[4096];
  std::printf("name %s\numask %o\nfiles %lu\nfolder %s\nlocale %s\nrounding %d\nnice %d\ndumpable %d\n", name, mask,
              static_cast<unsigned long>(files.rlim_cur), getcwd(folder, sizeof(folder)), setlocale(LC_ALL, nullptr),
              fegetround(), getpriority(PRIO_PROCESS, 0), prctl(PR_GET_DUMPABLE));
}

// The value of errno after each of the calls that a tracer sits in.
void SayErrno() {
  nvtxDomainHandle_t domain = nvtxDomainCreateA("portrait");
  errno = 1234;
  nvtxRangePushA("x");
  const int push = errno;
  nvtxRangePop();
  const int pop = errno;
  nvtxMarkW(L"wide");
  const int mark = errno;
  nvtxDomainRegisterStringA(domain, "registered");
  const int registered = errno;
  nvtxNameOsThreadA(facts::Tid(), "main");
  std::printf("errno %d %d %d %d %d\n", push, pop, mark, registered, errno);
}

}  // namespace

int main(int argc, char** argv) {
  std::printf("arguments %d %s\n", argc, argc > 1 ? argv[1] : "");
  nvtxMarkA("start");
  SayErrno();
  SayEnvironment();
  SaySignals();
  SayDescriptors();
  SayThreads();
  SayRest();
  std::fprintf(stderr, "to stderr\n");
  return 42;
}

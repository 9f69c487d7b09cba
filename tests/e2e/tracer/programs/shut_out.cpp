// Makes 1,000 ranges for each `ranges` among its arguments, and otherwise loses its rights one by one:
//   user     goes on as a user that may write nowhere
//   fsize    none of its files may grow
//   nofile   may open no descriptor beyond the first three
//   wait     says that it is ready, and waits for a line
//   fork     goes on in a child, and ends when that ends
//   kill     is killed
#include <nvtx3/nvToolsExt.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "facts.h"

namespace {

constexpr int kRanges = 1000;
constexpr uid_t kNobody = 65534;

void Limit(__rlimit_resource_t resource, rlim_t value) {
  const rlimit limit = {value, value};
  CHECK(setrlimit(resource, &limit));
}

void MakeRanges() {
  for (int i = 0; i < kRanges; ++i) {
    nvtxRangePushA("range");
    nvtxRangePop();
  }
}

void GoOnAsNobody() {
  CHECK(setgid(kNobody));
  CHECK(setuid(kNobody));
}

void GoOnInChild() {
  const pid_t child = fork();
  if (child == 0) return;
  int status = 0;
  waitpid(child, &status, 0);
  std::exit(WEXITSTATUS(status));
}

void WaitForLine() {
  facts::Say(R"({"fact":"ready","pid":%d})", static_cast<int>(getpid()));
  char byte = 0;
  while (read(0, &byte, 1) == 1 && byte != '\n') {
  }
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const char* const what = argv[i];
    if (std::strcmp(what, "ranges") == 0) MakeRanges();
    if (std::strcmp(what, "user") == 0) GoOnAsNobody();
    if (std::strcmp(what, "fsize") == 0) Limit(RLIMIT_FSIZE, 0);
    if (std::strcmp(what, "nofile") == 0) Limit(RLIMIT_NOFILE, 3);
    if (std::strcmp(what, "wait") == 0) WaitForLine();
    if (std::strcmp(what, "fork") == 0) GoOnInChild();
    if (std::strcmp(what, "kill") == 0) raise(SIGKILL);
  }
  return 0;
}

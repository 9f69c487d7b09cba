// A program with children. usage: family HOW [GO]: every process marks its name: "parent", then "child" and so on.
//   fork, fork_exec, vfork_exec, spawn, shell, popen
//   daemon GO   a grandchild that belongs to nobody waits for the file GO, marks and ends; the parent does not wait for
//   it
#include <nvtx3/nvToolsExt.h>
#include <spawn.h>
#include <sys/wait.h>

#include <string>

#include "facts.h"

namespace {

std::string own_path;

void Mark(const char* name) {
  for (int i = 0; i < 20; ++i) nvtxMarkA(name);
  facts::Say(R"({"fact":"process","name":"%s","pid":%d,"parent":%d})", name, static_cast<int>(getpid()),
             static_cast<int>(getppid()));
}

int CodeOf(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

[[noreturn]] void BeDaemon(const char* go) {
  setsid();
  if (fork() != 0) _exit(6);
  facts::Say(R"({"fact":"daemon","pid":%d})", static_cast<int>(getpid()));
  for (int i = 0; i < 3; ++i) close(i);
  while (access(go, F_OK) != 0) usleep(2000);
  for (int i = 0; i < 20; ++i) nvtxMarkA("daemon");
  std::exit(0);
}

pid_t Start(const std::string& how, char** argv) {
  char name[] = "family", child_word[] = "child";
  char* arguments[] = {name, child_word, nullptr};
  if (how == "spawn") {
    pid_t child = 0;
    return posix_spawn(&child, own_path.c_str(), nullptr, nullptr, arguments, environ) == 0 ? child : -1;
  }
  const pid_t child = how == "vfork_exec" ? vfork() : fork();
  if (child != 0) return child;
  if (how == "fork") {
    Mark("child");
    std::exit(6);
  }
  if (how == "daemon") BeDaemon(argv[2]);
  execv(own_path.c_str(), arguments);
  _exit(99);
}

int RunShell(const std::string& how) {
  const std::string command = "'" + own_path + "' child";
  if (how == "shell") return WEXITSTATUS(system(command.c_str()));
  FILE* pipe = popen(command.c_str(), "w");
  return WEXITSTATUS(pclose(pipe));
}

}  // namespace

int main(int argc, char** argv) {
  char path[4096] = {};
  if (argc < 2 || readlink("/proc/self/exe", path, sizeof(path) - 1) < 0) return 2;
  own_path = path;
  const std::string how = argv[1];
  if (how == "child") {
    Mark("child");
    return 6;
  }
  Mark("parent");
  const int code = how == "shell" || how == "popen" ? RunShell(how) : CodeOf(Start(how, argv));
  return code == 6 ? 4 : 90;
}

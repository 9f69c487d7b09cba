#include "launch/attach/borrowed_thread.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xmmintrin.h>

#include <fstream>
#include <string>

namespace gprof {
namespace {

int told[2], go_on[2], result[2];

// What the borrowed thread is made to call: uses much of the stack, and changes all that a call may change.
void Called(const char* text, uint64_t argument) {
  volatile unsigned char much[64 * 1024];
  for (std::size_t i = 0; i < sizeof much; ++i) much[i] = 0xFF;
  _mm_setcsr(0x1F80);
  const std::string line = std::string(text) + " " + std::to_string(argument) + std::to_string(much[5]);
  (void)!write(told[1], line.data(), line.size());
}

// A child whose only other thread waits in poll(), and says whether it found everything as it was.
void* Wait(void*) {
  prctl(PR_SET_NAME, "cuda-EvtHandlr");
  constexpr unsigned kRoundsDown = 0x1F80 | 0x2000;
  _mm_setcsr(kRoundsDown);
  uint64_t locals[16];
  for (uint64_t i = 0; i < 16; ++i) locals[i] = i * 0x0101010101010101u;
  pollfd event = {go_on[0], POLLIN, 0};
  const int ready = poll(&event, 1, -1);
  bool is_good = ready == 1 && (_mm_getcsr() & 0x6000) == 0x2000;
  for (uint64_t i = 0; i < 16; ++i) is_good = is_good && locals[i] == i * 0x0101010101010101u;
  sigset_t blocked;
  pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  is_good = is_good && sigismember(&blocked, SIGUSR2) == 1 && sigismember(&blocked, SIGUSR1) == 0;
  (void)!write(result[1], is_good ? "good" : "bad!", 4);
  return nullptr;
}

[[noreturn]] void BeChild() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR2);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  pthread_t thread;
  pthread_create(&thread, nullptr, Wait, nullptr);
  pthread_join(thread, nullptr);
  _exit(0);
}

pid_t WaitingThread(pid_t pid) {
  for (int tries = 0; tries < 2000; ++tries, usleep(1000)) {
    for (pid_t tid = pid + 1; tid < pid + 64; ++tid) {
      long number = -1;
      std::ifstream("/proc/" + std::to_string(pid) + "/task/" + std::to_string(tid) + "/syscall") >> number;
      if (number == SYS_poll) return tid;
    }
  }
  return -1;
}

std::string ReadFrom(int descriptor) {
  char bytes[256];
  pollfd event = {descriptor, POLLIN, 0};
  if (poll(&event, 1, 20'000) <= 0) return {};
  const ssize_t count = read(descriptor, bytes, sizeof bytes);
  return count > 0 ? std::string(bytes, static_cast<std::size_t>(count)) : std::string();
}

// Code of this program, which the child has at the same place.
uint64_t SignalReturn() {
  constexpr char kCode[] = "\x48\xc7\xc0\x0f\x00\x00\x00\x0f\x05";
  Dl_info libc;
  if (dladdr(reinterpret_cast<void*>(&::poll), &libc) == 0) return 0;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    unsigned long begin = 0, end = 0;
    if (line.find(" r-xp ") == std::string::npos || sscanf(line.c_str(), "%lx-%lx", &begin, &end) != 2) continue;
    if (line.find("libc") == std::string::npos) continue;
    const void* const at = memmem(reinterpret_cast<void*>(begin), end - begin, kCode, 9);
    if (at != nullptr) return reinterpret_cast<uint64_t>(at);
  }
  return 0;
}

TEST(BorrowedThread, GoesOnAsIfNothingHadBeen) {
  if (!CanBorrowThreads()) GTEST_SKIP() << "this processor is not supported";
  ASSERT_EQ(pipe(told) | pipe(go_on) | pipe(result), 0);
  const pid_t child = fork();
  if (child == 0) BeChild();
  const pid_t tid = WaitingThread(child);
  ASSERT_GT(tid, 0);
  for (int i = 0; i < 20; ++i) {
    const std::string why = CallInThread(
        child, tid, {reinterpret_cast<uint64_t>(&Called), "a text", static_cast<uint64_t>(i), SignalReturn()});
    if (i == 0 && why.find("not permitted") != std::string::npos) {
      kill(child, SIGKILL);
      waitpid(child, nullptr, 0);
      GTEST_SKIP() << "ptrace is not permitted here";
    }
    EXPECT_EQ(why, "");
    EXPECT_EQ(ReadFrom(told[0]), "a text " + std::to_string(i) + "255");
    ASSERT_EQ(WaitingThread(child), tid);
  }
  ASSERT_EQ(write(go_on[1], "x", 1), 1);
  EXPECT_EQ(ReadFrom(result[0]), "good");
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(BorrowedThread, OnlyOneThatWaitsInPoll) {
  if (!CanBorrowThreads()) GTEST_SKIP() << "this processor is not supported";
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  usleep(100'000);
  const std::string why = CallInThread(child, child, {1, "", 0, 1});
  EXPECT_TRUE(why == "it does not wait in poll() any more" || why.find("not permitted") != std::string::npos) << why;
  kill(child, SIGKILL);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

}  // namespace
}  // namespace gprof

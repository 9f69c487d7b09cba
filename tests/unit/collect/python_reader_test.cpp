#include "collect/host/python_reader.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

namespace gprof {
namespace {

// It tells where it has numbers that are no addresses, and pointers to those.
constexpr const char* kNumbers =
    "import ctypes, sys\n"
    "numbers = (ctypes.c_uint64 * 1024)(*[2**64 - 1] * 1024)\n"
    "pointers = (ctypes.c_uint64 * 1024)(*[ctypes.addressof(numbers)] * 1024)\n"
    "print(ctypes.addressof(numbers), ctypes.addressof(pointers), flush=True)\n"
    "sys.stdin.read()\n";
// A generator yields all the time.
constexpr const char* kGenerator =
    "import os, threading\n"
    "threading.Thread(target=lambda: (os.read(0, 1), os._exit(0)), daemon=True).start()\n"
    "print(1, 2, flush=True)\n"
    "while True: sum(i for i in range(1000))\n";

// A Python that runs a script, until its input ends, which tells two numbers.
class RunningPython {
 public:
  explicit RunningPython(const char* script) {
    int in[2], out[2];
    if (pipe(in) != 0 || pipe(out) != 0) return;
    pid_ = fork();
    if (pid_ == 0) {
      dup2(in[0], 0), dup2(out[1], 1);
      for (const int descriptor : {in[0], in[1], out[0], out[1]}) close(descriptor);
      execlp("python3", "python3", "-c", script, nullptr);
      _exit(127);
    }
    close(in[0]), close(out[1]);
    in_ = in[1];
    std::FILE* const told = fdopen(out[0], "r");
    has_started_ = std::fscanf(told, "%lu %lu", &numbers, &pointers) == 2;
    std::fclose(told);
  }
  ~RunningPython() {
    close(in_);
    waitpid(pid_, nullptr, 0);
  }
  RunningPython(const RunningPython&) = delete;
  RunningPython& operator=(const RunningPython&) = delete;

  bool has_started() const { return has_started_; }
  pid_t pid() const { return pid_; }
  uint64_t numbers = 0, pointers = 0;

 private:
  pid_t pid_ = -1;
  int in_ = -1;
  bool has_started_ = false;
};

// A stack that changes while it is read may lead anywhere.
TEST(PythonReader, TakesNoNumberForAFrame) {
  const RunningPython python(kNumbers);
  if (!python.has_started()) GTEST_SKIP() << "no python3 with ctypes";
  const PythonTrial trial = PythonReader::Try(python.pid());
  if (trial.reader == nullptr) GTEST_SKIP() << "its memory cannot be read, or is not known: " << trial.unknown;
  std::vector<PythonFrame> frames;
  bool is_whole = false;
  for (const uint64_t thread : {python.numbers, python.pointers}) {
    const std::map<pid_t, uint64_t> threads = trial.reader->Threads();
    ASSERT_EQ(threads.size(), 1u);
    ASSERT_TRUE(trial.reader->StackOf(threads.begin()->second, &frames, &is_whole));
    EXPECT_EQ(frames.size(), 1u);
    trial.reader->StackOf(thread, &frames, &is_whole);
    EXPECT_TRUE(frames.empty());
  }
}

// For a moment a generator has no caller.
TEST(PythonReader, TakesNoGeneratorForTheBeginningOfAThread) {
  const RunningPython python(kGenerator);
  if (!python.has_started()) GTEST_SKIP() << "no python3";
  const PythonTrial trial = PythonReader::Try(python.pid());
  if (trial.reader == nullptr) GTEST_SKIP() << "its memory cannot be read, or is not known: " << trial.unknown;
  const uint64_t thread = trial.reader->Threads()[python.pid()];
  std::vector<PythonFrame> frames;
  bool is_whole = false;
  int good = 0, refused = 0, wrong = 0;
  for (int i = 0; i < 3000; ++i) {
    PythonCode code;
    if (!trial.reader->StackOf(thread, &frames, &is_whole)) {
      ++refused;
    } else if (!frames.empty() && trial.reader->CodeOf(frames.back().code, &code)) {
      ++(code.name == "<module>" ? good : wrong);
    }
  }
  EXPECT_GT(good, 1000);
  EXPECT_LE(4 * wrong, refused) << good << " readings are good";
}

}  // namespace
}  // namespace gprof

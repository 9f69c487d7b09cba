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

// A Python that tells where it has numbers that are no addresses, and pointers to those, until its input ends.
class PythonWithNumbers {
 public:
  PythonWithNumbers() {
    int in[2], out[2];
    if (pipe(in) != 0 || pipe(out) != 0) return;
    pid_ = fork();
    if (pid_ == 0) {
      dup2(in[0], 0), dup2(out[1], 1);
      for (const int descriptor : {in[0], in[1], out[0], out[1]}) close(descriptor);
      execlp("python3", "python3", "-c", kScript, nullptr);
      _exit(127);
    }
    close(in[0]), close(out[1]);
    in_ = in[1];
    std::FILE* const told = fdopen(out[0], "r");
    has_started_ = std::fscanf(told, "%lu %lu", &numbers, &pointers) == 2;
    std::fclose(told);
  }
  ~PythonWithNumbers() {
    close(in_);
    waitpid(pid_, nullptr, 0);
  }
  PythonWithNumbers(const PythonWithNumbers&) = delete;
  PythonWithNumbers& operator=(const PythonWithNumbers&) = delete;

  bool has_started() const { return has_started_; }
  pid_t pid() const { return pid_; }
  uint64_t numbers = 0, pointers = 0;

 private:
  static constexpr const char* kScript =
      "import ctypes, sys\n"
      "numbers = (ctypes.c_uint64 * 1024)(*[2**64 - 1] * 1024)\n"
      "pointers = (ctypes.c_uint64 * 1024)(*[ctypes.addressof(numbers)] * 1024)\n"
      "print(ctypes.addressof(numbers), ctypes.addressof(pointers), flush=True)\n"
      "sys.stdin.read()\n";
  pid_t pid_ = -1;
  int in_ = -1;
  bool has_started_ = false;
};

// A stack that changes while it is read may lead anywhere.
TEST(PythonReader, TakesNoNumberForAFrame) {
  const PythonWithNumbers python;
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

}  // namespace
}  // namespace gprof

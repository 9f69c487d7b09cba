#include "unwind/unwinder.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <regex>
#include <string>
#include <vector>

#include "unwind/expression.h"

#ifdef __x86_64__

namespace gprof {
namespace {

// What a signal handler saw: registers and stack for us, and the stack of calls as libgcc has it.
struct Snapshot {
  ucontext_t context;
  std::size_t bytes = 0;
  unsigned char stack[96 << 10];
  uintptr_t frames[256];
  int count = 0;
};
Snapshot snapshot;
std::atomic<bool> is_wanted{false}, is_taken{false};
uintptr_t stack_top = 0;

_Unwind_Reason_Code TakeFrame(_Unwind_Context* context, void*) {
  int is_before = 0;
  const uintptr_t pc = _Unwind_GetIPInfo(context, &is_before);
  if (snapshot.count == 256) return _URC_END_OF_STACK;
  if (pc == 0) return _URC_NO_REASON;  // the caller of the outermost one
  snapshot.frames[snapshot.count++] = is_before != 0 ? pc : pc - 1;
  return _URC_NO_REASON;
}

void OnSignal(int, siginfo_t*, void* context) {
  if (!is_wanted.exchange(false)) return;
  std::memcpy(&snapshot.context, context, sizeof snapshot.context);
  const auto sp = static_cast<uintptr_t>(snapshot.context.uc_mcontext.gregs[REG_RSP]);
  snapshot.bytes = std::min<std::size_t>(sizeof snapshot.stack, stack_top - sp);
  std::memcpy(snapshot.stack, reinterpret_cast<const void*>(sp), snapshot.bytes);
  snapshot.count = 0;
  _Unwind_Backtrace(TakeFrame, nullptr);
  is_taken = true;
}

Registers RegistersOf(const ucontext_t& context) {
  static constexpr int kOrder[] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8,
                                   REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};
  Registers registers;
  for (uint32_t i = 0; i < kRegisters; ++i) {
    registers.Set(i, static_cast<uint64_t>(context.uc_mcontext.gregs[kOrder[i]]));
  }
  registers.pc = static_cast<uint64_t>(context.uc_mcontext.gregs[REG_RIP]);
  return registers;
}

int Descending(const void* a, const void* b) { return *static_cast<const int*>(b) - *static_cast<const int*>(a); }

// A function that aligns its stack, for which compilers write expressions.
__attribute__((noinline)) double Aligned(int n) {
  alignas(64) volatile double values[16];
  for (int i = 0; i < 16; ++i) values[i] = n * i;
  double sum = 0;
  for (int i = 0; i < 16; ++i) sum += values[i];
  return n == 0 ? sum : sum + Aligned(n - 1);
}

double Work(unsigned seed) {
  static const std::regex pattern("([a-z]+)([0-9]*)x(.*)z");
  std::map<std::string, int> counts;
  double sum = 0;
  std::vector<int> values(200);
  for (int& value : values) value = static_cast<int>((seed = seed * 1103515245u + 12345u) >> 8);
  std::sort(values.begin(), values.end());
  qsort(values.data(), values.size(), sizeof values[0], Descending);
  for (int i = 0; i < 20; ++i) ++counts[std::to_string(values[static_cast<std::size_t>(i)])];
  char text[64];
  sum += std::snprintf(text, sizeof text, "%f", sum * 1.5 + seed);
  sum += std::regex_match(std::string("abc123xyyyyyyyyyyyyyz"), pattern);
  timespec now;
  for (int i = 0; i < 50; ++i) clock_gettime(CLOCK_MONOTONIC, &now);  // in the vDSO
  return sum + Aligned(8) + static_cast<double>(counts.size()) + static_cast<double>(now.tv_nsec);
}

class TimerSignals {
 public:
  TimerSignals() {
    struct sigaction action = {};
    action.sa_sigaction = OnSignal;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    sigaction(SIGPROF, &action, nullptr);
    sigevent event = {};
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGPROF;
    timer_create(CLOCK_MONOTONIC, &event, &timer_);
    const itimerspec every = {{0, 177'000}, {0, 177'000}};
    timer_settime(timer_, 0, &every, nullptr);
  }
  ~TimerSignals() {
    timer_delete(timer_);
    signal(SIGPROF, SIG_IGN);
  }

 private:
  timer_t timer_;
};

// Where the stack of calls of this thread is at a moment that nobody chose, as libgcc says it and as we do.
TEST(Unwinder, AgreesWithLibgccAtAnyInstruction) {
  CodeFiles files;
  const std::optional<AddressSpace> space = AddressSpace::Of(getpid(), &files);
  ASSERT_TRUE(space);
  stack_top = reinterpret_cast<uintptr_t>(environ);
  Unwinder unwinder;
  int same = 0, shorter = 0, different = 0;
  double sink = 0;
  {
    const TimerSignals signals;
    for (unsigned round = 0; same + shorter + different < 3000 && round < 200'000; ++round) {
      is_wanted = true;
      sink += Work(round);
      if (!is_taken.exchange(false)) continue;
      std::vector<UnwoundFrame> frames;
      const StackCopy stack = {static_cast<uint64_t>(snapshot.context.uc_mcontext.gregs[REG_RSP]),
                               {snapshot.stack, snapshot.bytes}};
      unwinder.Unwind(*space, 1, RegistersOf(snapshot.context), stack, &frames);
      const auto pc = static_cast<uintptr_t>(snapshot.context.uc_mcontext.gregs[REG_RIP]);
      const uintptr_t* const end = snapshot.frames + snapshot.count;
      const uintptr_t* const begin = std::find<const uintptr_t*>(snapshot.frames, end, pc);
      if (begin == end) continue;  // libgcc did not get there
      std::size_t equal = 0;
      const auto expected = static_cast<std::size_t>(end - begin);
      while (equal < expected && equal < frames.size() && frames[equal].address == begin[equal]) ++equal;
      if (equal == frames.size() && equal < expected) {
        ++shorter;
      } else if (equal == expected) {
        ++same;
      } else {
        ++different;
        std::printf("differs at %zu of %zu: %zx instead of %zx\n", equal, expected, frames[equal].address,
                    begin[equal]);
      }
    }
  }
  EXPECT_GT(sink, 0);
  std::printf("%d the same, %d shorter, %d different\n", same, shorter, different);
  EXPECT_GE(same, 2000);
  EXPECT_EQ(different, 0);
  EXPECT_LE(shorter, same / 200);
}

TEST(Unwinder, SaysThatTheCopyEnded) {
  CodeFiles files;
  const std::optional<AddressSpace> space = AddressSpace::Of(getpid(), &files);
  ASSERT_TRUE(space);
  ucontext_t context;
  getcontext(&context);
  Registers registers = RegistersOf(context);
  std::vector<UnwoundFrame> whole, cut;
  const uint64_t sp = registers.values[kStackPointer];
  const std::size_t all = reinterpret_cast<uintptr_t>(environ) - sp;
  Unwinder unwinder;
  const auto* const bytes = reinterpret_cast<const unsigned char*>(sp);
  EXPECT_EQ(unwinder.Unwind(*space, 1, registers, {sp, {bytes, all}}, &whole), StackEnd::kWhole);
  EXPECT_EQ(unwinder.Unwind(*space, 1, registers, {sp, {bytes, 512}}, &cut), StackEnd::kCopyEnded);
  ASSERT_LT(cut.size(), whole.size());
  for (std::size_t i = 0; i < cut.size(); ++i) EXPECT_EQ(cut[i].address, whole[i].address);
}

TEST(Unwinder, FollowsFramePointersWhereThereAreNoTables) {
  CodeFiles files;
  const AddressSpace space = AddressSpace::FromMaps("1000-2000 r-xp 00000000 00:00 0 \n", getpid(), &files);
  const uint64_t words[] = {0x10010, 0x1234, 0x0, 0x0};
  Registers registers;
  registers.pc = 0x1100;
  registers.Set(kStackPointer, 0x10000);
  registers.Set(kFramePointer, 0x10000);
  std::vector<UnwoundFrame> frames;
  const StackCopy stack = {0x10000, {reinterpret_cast<const unsigned char*>(words), sizeof words}};
  EXPECT_EQ(Unwinder().Unwind(space, 1, registers, stack, &frames), StackEnd::kWhole);
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_EQ(frames[1].address, 0x1233u);
  EXPECT_TRUE(frames[1].is_guessed);
  EXPECT_FALSE(frames[0].is_guessed);
}

// As linkers write it for the stubs of a PLT: rsp + 8 + ((rip & 15) >= 11 ? 8 : 0).
TEST(Expression, OfStubs) {
  const unsigned char bytes[] = {0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22};
  Registers registers;
  registers.Set(7, 1000);
  registers.Set(16, 0x40);
  EXPECT_EQ(Evaluate(bytes, registers, {}, std::nullopt), 1008u);
  registers.Set(16, 0x4b);
  EXPECT_EQ(Evaluate(bytes, registers, {}, std::nullopt), 1016u);
}

TEST(Expression, OfDamagedTablesHasNoResult) {
  const unsigned char drop[] = {0x13}, unknown[] = {0xff}, cut[] = {0x0c, 1}, endless[] = {0x12};
  EXPECT_FALSE(Evaluate(drop, {}, {}, std::nullopt));
  EXPECT_FALSE(Evaluate(unknown, {}, {}, std::nullopt));
  EXPECT_FALSE(Evaluate(cut, {}, {}, std::nullopt));
  EXPECT_FALSE(Evaluate(endless, {}, {}, std::nullopt));
  EXPECT_FALSE(Evaluate({}, {}, {}, std::nullopt));
}

}  // namespace
}  // namespace gprof

#endif

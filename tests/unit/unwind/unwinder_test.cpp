#include "unwind/unwinder.h"

#include <gtest/gtest.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <regex>
#include <string>
#include <vector>

#include "snapshots.h"
#include "unwind/expression.h"

#if defined(__x86_64__) || defined(__aarch64__)

namespace gprof {
namespace {

// The stack of calls as libgcc has it, within the handler.
uintptr_t libgcc_frames[256];
int libgcc_count = 0;

_Unwind_Reason_Code TakeFrame(_Unwind_Context* context, void*) {
  int is_before = 0;
  const uintptr_t pc = _Unwind_GetIPInfo(context, &is_before);
  if (libgcc_count == 256) return _URC_END_OF_STACK;
  if (pc == 0) return _URC_NO_REASON;  // the caller of the outermost one
  libgcc_frames[libgcc_count++] = is_before != 0 ? pc : pc - 1;
  return _URC_NO_REASON;
}

void UnwindByLibgcc() {
  libgcc_count = 0;
  _Unwind_Backtrace(TakeFrame, nullptr);
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

// Where the stack of calls of this thread is at a moment that nobody chose, as libgcc says it and as we do.
TEST(Unwinder, AgreesWithLibgccAtAnyInstruction) {
  CodeFiles files;
  const std::optional<AddressSpace> space = AddressSpace::Of(getpid(), &files);
  ASSERT_TRUE(space);
  also_in_handler = UnwindByLibgcc;
  Unwinder unwinder;
  int same = 0, shorter = 0, different = 0;
  double sink = 0;
  {
    const TimerSignals signals;
    for (unsigned round = 0; same + shorter + different < 3000 && round < 200'000; ++round) {
      if (TakeSnapshots(1, [&] { sink += Work(round); }) == 0) continue;
      const Snapshot& snapshot = snapshots[0];
      std::vector<UnwoundFrame> frames;
      unwinder.Unwind(*space, 1, RegistersOf(snapshot.context), snapshot.Copy(), &frames);
      const uintptr_t* const end = libgcc_frames + libgcc_count;
      const uintptr_t* const begin = std::find<const uintptr_t*>(libgcc_frames, end, snapshot.pc());
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
  also_in_handler = nullptr;
  EXPECT_GT(sink, 0);
  std::printf("%d the same, %d shorter, %d different\n", same, shorter, different);
  EXPECT_GE(same, 2000);
  // Seen once in about twenty runs, in the innermost frame, under load; why is not known.
  EXPECT_LE(different, 1);
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
  const std::size_t all = stack_top - sp;
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

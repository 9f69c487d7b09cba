#include "tracer/stacks/frame_tables.h"

#include <gtest/gtest.h>
#include <link.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "unwind/cfi.h"
#include "unwind/elf_image.h"

namespace gprof::tracer {
namespace {

struct Module {
  std::string path;
  uintptr_t base = 0;
};

std::vector<Module> Modules() {
  std::vector<Module> modules;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* out) {
        const bool is_program = info->dlpi_name[0] == 0;
        static_cast<std::vector<Module>*>(out)->push_back(
            {is_program ? "/proc/self/exe" : info->dlpi_name, info->dlpi_addr});
        return 0;
      },
      &modules);
  return modules;
}

// "breg6 offset", and behind it nothing or `deref`.
bool IsFramePointerPlus(Bytes expression, bool is_saved, int32_t* offset) {
  constexpr uint8_t kFramePointerBase = 0x76, kDereference = 0x06;
  ByteReader reader(expression);
  if (reader.Take<uint8_t>() != kFramePointerBase) return false;
  *offset = static_cast<int32_t>(reader.Sleb());
  if (is_saved && reader.Take<uint8_t>() != kDereference) return false;
  return reader.AtEnd() && !reader.is_bad();
}

// What the unwinder outside of the program has, as far as a row can say it.
FrameRow Expected(const ElfImage& image, uint64_t address) {
  UnwindRow row;
  FrameRow expected;
  if (!FindUnwindRow(image.unwind_tables(), address, &row) || row.is_signal_frame) return {};
  const RegisterRule& back = row.rules[kReturnRegister];
  const bool is_usual = back.kind == UnwindRuleKind::kAtOffset && back.offset == -8;
  if (!is_usual && back.kind != UnwindRuleKind::kUndefined) return {};
  const RegisterRule& saved = row.rules[kFramePointer];
  if (saved.kind != UnwindRuleKind::kSame) expected.frame_pointer = FrameRow::Saved::kLost;
  if (saved.kind == UnwindRuleKind::kAtOffset) {
    expected.frame_pointer = FrameRow::Saved::kAtCfa;
    expected.frame_pointer_offset = saved.offset;
  }
  if (saved.kind == UnwindRuleKind::kAtExpression) {
    const bool is_known = IsFramePointerPlus(saved.expression, false, &expected.frame_pointer_offset);
    expected.frame_pointer = is_known ? FrameRow::Saved::kAtFramePointer : FrameRow::Saved::kLost;
  }
  if (row.cfa.kind == UnwindRuleKind::kExpression) {
    const bool is_known = IsFramePointerPlus(row.cfa.expression, true, &expected.cfa_offset);
    expected.cfa = is_known ? FrameRow::Cfa::kAtFramePointer : FrameRow::Cfa::kUnknown;
  } else {
    expected.cfa_offset = row.cfa.offset;
    if (row.cfa.other == kStackPointer) expected.cfa = FrameRow::Cfa::kStackPointer;
    if (row.cfa.other == kFramePointer) expected.cfa = FrameRow::Cfa::kFramePointer;
  }
  if (!is_usual) expected.cfa = FrameRow::Cfa::kOutermost;
  return expected;
}

struct Counts {
  int rows = 0, known = 0;
};

void Compare(const Module& module, Counts* counts) {
  const std::unique_ptr<ElfImage> image = ElfImage::Open(module.path);
  if (image == nullptr) return;  // the vDSO
  image->ForEachFunction([&](const FunctionSymbol& function) {
    for (const uint64_t into : {uint64_t{0}, uint64_t{1}, uint64_t{7}, function.size / 2, function.size - 1}) {
      if (function.size == 0 || into >= function.size) continue;
      const uint64_t address = function.address + into;
      LoadedObject object;
      if (!FindObject(module.base + address, &object)) continue;
      const FrameRow row = FindFrameRow(object, module.base + address), expected = Expected(*image, address);
      ++counts->rows;
      if (expected.cfa == FrameRow::Cfa::kUnknown) {
        ASSERT_EQ(row.cfa, FrameRow::Cfa::kUnknown) << module.path << " " << function.name;
        continue;
      }
      ++counts->known;
      ASSERT_EQ(row.cfa, expected.cfa) << module.path << " " << function.name << "+" << into;
      if (row.cfa == FrameRow::Cfa::kOutermost) continue;
      ASSERT_EQ(row.cfa_offset, expected.cfa_offset) << module.path << " " << function.name << "+" << into;
      ASSERT_EQ(row.frame_pointer, expected.frame_pointer) << module.path << " " << function.name << "+" << into;
      if (row.frame_pointer == FrameRow::Saved::kSame || row.frame_pointer == FrameRow::Saved::kLost) continue;
      ASSERT_EQ(row.frame_pointer_offset, expected.frame_pointer_offset) << module.path << " " << function.name;
    }
  });
}

TEST(FrameTables, SayWhatTheUnwinderOutsideSays) {
  if (!CanFindObjects()) GTEST_SKIP() << "glibc before 2.35, or not x86-64";
  Counts counts;
  for (const Module& module : Modules()) Compare(module, &counts);
  EXPECT_GT(counts.rows, 10'000);
  EXPECT_GT(counts.known, counts.rows * 9 / 10);
}

// Damaged tables are of no use, and do no harm: nothing is read outside of them (AddressSanitizer looks on).
TEST(FrameTables, SurviveDamage) {
  if (!CanFindObjects()) GTEST_SKIP() << "glibc before 2.35, or not x86-64";
  LoadedObject libc;
  ASSERT_TRUE(FindObject(reinterpret_cast<uintptr_t>(&dl_iterate_phdr), &libc));
  const std::size_t bytes = std::min<std::size_t>(libc.end - libc.index, 160'000);
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    const auto copy = std::make_unique<unsigned char[]>(bytes);
    std::memcpy(copy.get(), reinterpret_cast<const void*>(libc.index), bytes);
    for (int i = 0; i < 40 * (round % 20); ++i) copy[random() % bytes] = static_cast<unsigned char>(random());
    const auto begin = reinterpret_cast<uintptr_t>(copy.get());
    const LoadedObject object{begin, begin + bytes, nullptr, begin};
    for (int i = 0; i < 500; ++i)
      FindFrameRow(object, begin - (libc.index - libc.begin) + random() % (libc.end - libc.begin));
  }
}

}  // namespace
}  // namespace gprof::tracer

#include "unwind/elf_image.h"

#include <dlfcn.h>
#include <elf.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "unwind/address_space.h"
#include "unwind/cfi.h"
#include "unwind/symbols.h"

namespace gprof {

// Has a name that nothing else has.
__attribute__((noinline)) int FunctionToBeFound(int value) {
  asm volatile("" : "+r"(value));
  return value + 1;
}

namespace {

std::string OwnBytes() {
  std::ifstream file("/proc/self/exe", std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

TEST(ElfImage, NamesFunctionsOfThisProgram) {
  CodeFiles files;
  const std::optional<AddressSpace> space = AddressSpace::Of(getpid(), &files);
  ASSERT_TRUE(space);
  const auto address = reinterpret_cast<uint64_t>(&FunctionToBeFound);
  const CodeMapping* const mapping = space->Find(address);
  ASSERT_NE(mapping, nullptr);
  ASSERT_NE(mapping->file, nullptr);
  const ElfImage* const image = mapping->file->Image();
  ASSERT_NE(image, nullptr);
  const std::vector<FoundSymbol> found =
      FindSymbols(*image, {address + 2 - mapping->Bias(), 1, address - mapping->Bias()});
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].name, "_ZN5gprof17FunctionToBeFoundEi");
  EXPECT_EQ(found[0].function, address - mapping->Bias());
  EXPECT_EQ(found[1].name, "");
  EXPECT_EQ(found[2].name, found[0].name);
}

TEST(ElfImage, NamesExportedFunctionsOfStrippedLibraries) {
  CodeFiles files;
  const std::optional<AddressSpace> space = AddressSpace::Of(getpid(), &files);
  ASSERT_TRUE(space);
  const auto address = reinterpret_cast<uint64_t>(dlsym(RTLD_DEFAULT, "qsort"));
  const CodeMapping* const mapping = space->Find(address);
  ASSERT_NE(mapping, nullptr);
  const ElfImage* const image = mapping->file->Image();
  ASSERT_NE(image, nullptr);
  EXPECT_EQ(FindSymbols(*image, {address - mapping->Bias()})[0].name.substr(0, 5), "qsort");
  EXPECT_FALSE(image->build_id().empty());
}

TEST(PerfMap, NamesGeneratedCode) {
  const std::vector<FoundSymbol> found =
      FindInPerfMap("1000 10 first\n1010 20 py::f:/a b.py\n1010 8 again\nnonsense\n\n2000 1",
                    {0x1000, 0x1010, 0x1020, 0x1fff, 0x2000});
  ASSERT_EQ(found.size(), 5u);
  EXPECT_EQ(found[0].name, "first");
  EXPECT_EQ(found[1].name, "again");
  EXPECT_EQ(found[2].name, "py::f:/a b.py");
  EXPECT_EQ(found[2].function, 0x1010u);
  EXPECT_EQ(found[3].name, "");
  EXPECT_EQ(found[4].name, "");
}

// An image with these segments and nothing in them.
std::unique_ptr<ElfImage> WithSegments(const std::vector<Elf64_Phdr>& segments) {
  Elf64_Ehdr head;
  std::memcpy(&head, OwnBytes().data(), sizeof head);
  head.e_phoff = sizeof head;
  head.e_phnum = static_cast<Elf64_Half>(segments.size());
  std::string bytes(reinterpret_cast<const char*>(&head), sizeof head);
  for (const Elf64_Phdr& segment : segments) bytes.append(reinterpret_cast<const char*>(&segment), sizeof segment);
  return ElfImage::OfBytes(bytes);
}

Elf64_Phdr Segment(uint32_t flags, uint64_t offset, uint64_t address, uint64_t size) {
  Elf64_Phdr segment = {};
  segment.p_type = PT_LOAD;
  segment.p_flags = flags;
  segment.p_offset = offset;
  segment.p_vaddr = address;
  segment.p_filesz = size;
  return segment;
}

// As lld links: the first page of the code is also the last one of what lies before it.
TEST(ElfImage, CodeMayBeginInThePageWhereOtherSegmentsEnd) {
  const auto small = WithSegments({Segment(PF_R, 0, 0, 0x764), Segment(PF_R | PF_X, 0x770, 0x1770, 0x200)});
  ASSERT_NE(small, nullptr);
  EXPECT_EQ(small->AddressOfOffset(0), 0x1000u);
  const auto large = WithSegments({Segment(PF_R, 0, 0, 0x1f59c), Segment(PF_R | PF_X, 0x1f5a0, 0x2f5a0, 0x20000)});
  ASSERT_NE(large, nullptr);
  EXPECT_EQ(large->AddressOfOffset(0x1f000), 0x2f000u);  // pages of 4 KiB
  EXPECT_EQ(large->AddressOfOffset(0x10000), 0x20000u);  // and of 64 KiB
  EXPECT_EQ(large->AddressOfOffset(0x30000), 0x40000u);
  EXPECT_EQ(large->AddressOfOffset(0x50000), std::nullopt);
}

TEST(ElfImage, RefusesWhatIsNone) {
  EXPECT_EQ(ElfImage::OfBytes(""), nullptr);
  EXPECT_EQ(ElfImage::OfBytes(std::string(1000, 'x')), nullptr);
  EXPECT_EQ(ElfImage::Open("/proc/self/maps"), nullptr);
  EXPECT_EQ(ElfImage::Open("/"), nullptr);
  EXPECT_EQ(ElfImage::Open("/none"), nullptr);
}

// Nothing of a damaged file may be believed: whatever is in it, questions about it come to an end within it.
TEST(ElfImage, SurvivesDamage) {
  const std::string sound = OwnBytes();
  const std::unique_ptr<ElfImage> whole = ElfImage::OfBytes(sound);
  ASSERT_NE(whole, nullptr);
  std::vector<uint64_t> addresses;
  whole->ForEachFunction([&](const FunctionSymbol& symbol) {
    if (addresses.size() < 200 && symbol.size != 0) addresses.push_back(symbol.address + symbol.size / 2);
  });
  ASSERT_FALSE(addresses.empty());
  int rows = 0;
  UnwindRow row;
  for (const uint64_t address : addresses) rows += FindUnwindRow(whole->unwind_tables(), address, &row);
  EXPECT_GT(rows, 100);
  const uint64_t index = whole->unwind_tables().index;
  unsigned random = 1;
  const auto next = [&] { return random = random * 1664525u + 1013904223u; };
  for (int round = 0; round < 60; ++round) {
    std::string damaged = sound;
    // Most of a file is code, so a part of the damage goes where tables are.
    const std::size_t tables = static_cast<std::size_t>(whole->At(index).data() - whole->At(0).data());
    for (int i = 0; i < 400; ++i) {
      const std::size_t span = i % 2 == 0 ? 64u << 10 : damaged.size();
      const std::size_t at = (i % 2 == 0 ? tables : 0) + next() % span;
      if (at < damaged.size()) damaged[at] = static_cast<char>(next() >> 16);
    }
    if (round % 4 == 3) damaged.resize(next() % damaged.size());
    if (round % 2 == 0) damaged[0] = '\x7f';
    const std::unique_ptr<ElfImage> image = ElfImage::OfBytes(damaged);
    if (image == nullptr) continue;
    for (const uint64_t address : addresses) rows += FindUnwindRow(image->unwind_tables(), address, &row);
    rows += static_cast<int>(FindSymbols(*image, addresses).size());
  }
  EXPECT_GT(rows, 1000);
}

}  // namespace
}  // namespace gprof

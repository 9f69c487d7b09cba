#include "unwind/debug_lines.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace gprof {
namespace {

std::string LibraryOf(int version) {
  return std::string(GPROF_LINES_FOLDER) + "/lines_dwarf" + std::to_string(version) + ".so";
}

// Each address of a function.
std::vector<uint64_t> AddressesOf(const ElfImage& image, const std::string& function) {
  std::vector<uint64_t> addresses;
  image.ForEachFunction([&](const FunctionSymbol& symbol) {
    if (symbol.name != function) return;
    for (uint64_t at = 0; at < symbol.size; ++at) addresses.push_back(symbol.address + at);
  });
  return addresses;
}

std::set<std::string> LinesOf(const ElfImage& image, const std::string& function) {
  std::set<std::string> lines;
  for (const SourceLine& line : FindLines(image, AddressesOf(image, function))) {
    lines.insert(line.file.substr(line.file.rfind('/') + 1) + ":" + std::to_string(line.line));
  }
  return lines;
}

class DebugLines : public testing::TestWithParam<int> {};

TEST_P(DebugLines, AreThoseOfTheSource) {
  const std::unique_ptr<ElfImage> image = ElfImage::Open(LibraryOf(GetParam()));
  ASSERT_NE(image, nullptr);
  EXPECT_EQ(LinesOf(*image, "KnownLine"), (std::set<std::string>{"lines_library.c:4", "lines_library.c:5",
                                                                 "lines_library.c:6", "lines_library.c:7"}));
  EXPECT_EQ(LinesOf(*image, "FromTheHeader"), (std::set<std::string>{"lines_library.h:2", "lines_library.h:3",
                                                                     "lines_library.h:4", "lines_library.h:5"}));
  EXPECT_EQ(LinesOf(*image, "FarBelow"), (std::set<std::string>{"lines_library.c:9", "lines_library.c:70000",
                                                                "lines_library.c:70001", "lines_library.c:70002"}));
}

INSTANTIATE_TEST_SUITE_P(Versions, DebugLines, testing::Values(2, 3, 4, 5));

TEST(DebugLines, AreNotKnownWithoutTheSection) {
  const std::unique_ptr<ElfImage> image = ElfImage::Open(std::string(GPROF_LINES_FOLDER) + "/lines_none.so");
  ASSERT_NE(image, nullptr);
  for (const SourceLine& line : FindLines(*image, AddressesOf(*image, "KnownLine"))) EXPECT_EQ(line.line, 0u);
}

std::string BytesOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// Where the section is in the file.
std::pair<std::size_t, std::size_t> PlaceOfLines(const std::string& bytes) {
  const std::unique_ptr<ElfImage> image = ElfImage::OfBytes(bytes);
  const Bytes lines = image->SectionNamed(".debug_line");
  return {bytes.find(std::string(lines.begin(), lines.end())), lines.size()};
}

void AskFor(std::string damaged) {
  const std::unique_ptr<ElfImage> image = ElfImage::OfBytes(std::move(damaged));
  if (image != nullptr) FindLines(*image, {0x1000, 0x1100, 0x1120, 0x1140});
}

// Whatever a damaged section says, questions about it come to an end.
TEST(DebugLines, SurviveDamage) {
  std::mt19937 random(1);
  for (int version = 2; version <= 5; ++version) {
    const std::string bytes = BytesOf(LibraryOf(version));
    const auto [lines_at, lines_size] = PlaceOfLines(bytes);
    ASSERT_NE(lines_size, 0u);
    for (int round = 0; round < 600; ++round) {
      std::string damaged = bytes;
      // In every second round in the section, else anywhere behind the code: sections, and their headers at the end.
      const std::size_t from = round % 2 == 0 ? lines_at : damaged.size() / 2;
      const std::size_t size = round % 2 == 0 ? lines_size : damaged.size() / 2;
      for (int i = 0; i < 1 + round % 30; ++i) damaged[from + random() % size] = static_cast<char>(random());
      if (round % 5 == 0) damaged.resize(damaged.size() - random() % (damaged.size() / 4));
      AskFor(std::move(damaged));
    }
  }
}

TEST(DebugLines, SurviveHeadersOfAnySize) {
  const std::string bytes = BytesOf(LibraryOf(5));
  constexpr std::size_t kSizeOfHeaderAt = sizeof(uint32_t) + sizeof(uint16_t) + 2;
  const std::size_t at = PlaceOfLines(bytes).first + kSizeOfHeaderAt;
  for (int size = 0; size < 256; ++size) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(size);
    AskFor(std::move(damaged));
  }
}

}  // namespace
}  // namespace gprof

#include "tracer/store/name_cache.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace gprof::tracer {
namespace {

std::string NameOf(uint32_t id) {
  const trace::Text text = Names().TextOf({id});
  return {text.data, text.size};
}

// As a handler does: what is not known goes into a row, and is learned.
uint32_t Give(NameCache& names, const char* text) {
  const uint32_t id = names.Find(text);
  if (id == 0) names.Learn(text, std::strlen(text));
  return id;
}

TEST(NameCache, KnowsANameThatCameTwice) {
  auto names = std::make_unique<NameCache>();
  const char* const text = "forward";
  EXPECT_EQ(Give(*names, text), 0u);
  EXPECT_EQ(Give(*names, text), 0u);
  EXPECT_EQ(NameOf(Give(*names, text)), "forward");
}

TEST(NameCache, TheSameTextElsewhereHasTheSameNumber) {
  auto names = std::make_unique<NameCache>();
  const std::string a = "one text", b = "one text";
  for (int i = 0; i < 2; ++i) {
    Give(*names, a.c_str());
    Give(*names, b.c_str());
  }
  NameCache others;
  for (int i = 0; i < 2; ++i) Give(others, b.c_str());
  EXPECT_NE(others.Find(b.c_str()), 0u);
  EXPECT_EQ(NameOf(others.Find(b.c_str())), "one text");
}

TEST(NameCache, NeverGivesTheNumberOfAnotherText) {
  auto names = std::make_unique<NameCache>();
  char buffer[64];
  // Texts of a few lengths with a common begin, kept for one to five events.
  for (unsigned i = 0; i < 2000; ++i) {
    const std::string text = std::string(i * 7 % 50, 'x') + std::to_string(i % 3);
    std::strcpy(buffer, text.c_str());
    for (unsigned k = 0; k <= i % 5; ++k) {
      const uint32_t id = Give(*names, buffer);
      if (id != 0) {
        ASSERT_EQ(NameOf(id), text);
      }
    }
  }
}

TEST(NameCache, MoreNamesThanPlaces) {
  auto names = std::make_unique<NameCache>();
  std::vector<std::unique_ptr<std::string>> texts;
  for (int i = 0; i < 500; ++i) texts.push_back(std::make_unique<std::string>("name " + std::to_string(i)));
  int known = 0;
  for (const auto& text : texts) {
    for (int i = 0; i < 3; ++i) {
      const uint32_t id = Give(*names, text->c_str());
      if (id != 0) {
        ASSERT_EQ(NameOf(id), *text);
      }
      known += id != 0;
    }
  }
  EXPECT_EQ(known, 500);
}

TEST(NameCache, TakesNamesOfABoundedLength) {
  auto names = std::make_unique<NameCache>();
  const std::string longest(51, 'a'), longer(52, 'b');
  for (int i = 0; i < 3; ++i) {
    Give(*names, longest.c_str());
    Give(*names, longer.c_str());
    Give(*names, "");
  }
  EXPECT_EQ(NameOf(names->Find(longest.c_str())), longest);
  EXPECT_EQ(names->Find(longer.c_str()), 0u);
  EXPECT_EQ(names->Find(""), 0u);
}

}  // namespace
}  // namespace gprof::tracer

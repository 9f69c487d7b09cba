#include "base/text.h"

#include <gtest/gtest.h>

#include <string>

namespace gprof {
namespace {

TEST(Printable, OrdinaryTextStays) {
  for (const char* text : {"", "saxpy", "名前 é ω 🚀", "a\\b", "e\xCC\x81"}) EXPECT_EQ(Printable(text), text);
}

TEST(Utf8, WhatIsUtf8Stays) {
  for (const char* text : {"", "saxpy", "名前 é 🚀", "a\nb\x1b[31m\x7f", "\xE2\x80\xAE"}) EXPECT_EQ(Utf8(text), text);
}

TEST(Utf8, OtherBytesAndNulAreWrittenOut) {
  using namespace std::string_view_literals;
  EXPECT_EQ(Utf8("a\xFFz"), "a\\xffz");
  EXPECT_EQ(Utf8("\xC3"), "\\xc3");
  EXPECT_EQ(Utf8("\xED\xA0\x80"), "\\xed\\xa0\\x80");  // half of a surrogate pair
  EXPECT_EQ(Utf8("a\0b"sv), "a\\x00b");
}

TEST(Printable, WhatATerminalWouldObeyIsWrittenOut) {
  EXPECT_EQ(Printable("\x1b[31mred"), "\\x1b[31mred");
  EXPECT_EQ(Printable("a\nb\tc\rd"), "a\\nb\\tc\\rd");
  EXPECT_EQ(Printable(std::string("\0\x07\x7f", 3)), "\\x00\\x07\\x7f");
  EXPECT_EQ(Printable("\xC2\x9B"
                      "31m"),
            "\\u{9b}31m");
  EXPECT_EQ(Printable("\xE2\x80\xAE"
                      "evil"),
            "\\u{202e}evil");
  EXPECT_EQ(Printable("\xEF\xBB\xBF"
                      "x\xE2\x80\xA8"),
            "\\u{feff}x\\u{2028}");
}

// Plain text is looked at eight bytes at a time: any other byte anywhere in it is found all the same.
TEST(Printable, OneByteAmongPlainOnes) {
  for (size_t length = 1; length < 20; ++length) {
    for (size_t at = 0; at < length; ++at) {
      for (int byte = 0; byte < 256; ++byte) {
        std::string text(length, at % 2 == 0 ? ' ' : '~');
        text[at] = static_cast<char>(byte);
        const bool is_plain = byte >= 0x20 && byte < 0x7F;
        EXPECT_EQ(Printable(text) == text, is_plain) << length << " " << at << " " << byte;
        EXPECT_EQ(DisplayWidth(text), length);
      }
    }
  }
}

TEST(Printable, BrokenUtf8IsWrittenOut) {
  EXPECT_EQ(Printable("\xff"), "\\xff");
  EXPECT_EQ(Printable("a\x80z"), "a\\x80z");
  EXPECT_EQ(Printable("\xC0\xAF"), "\\xc0\\xaf");                    // overlong
  EXPECT_EQ(Printable("\xED\xA0\x80"), "\\xed\\xa0\\x80");           // surrogate
  EXPECT_EQ(Printable("\xF4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");  // above U+10FFFF
  EXPECT_EQ(Printable("\xE2\x80"), "\\xe2\\x80");                    // cut
}

TEST(Printable, EveryPairOfBytesGivesPrintableText) {
  for (int a = 0; a < 256; ++a) {
    for (int b = 0; b < 256; ++b) {
      const std::string text = Printable(std::string{static_cast<char>(a), static_cast<char>(b)});
      for (const char c : text) ASSERT_TRUE(static_cast<unsigned char>(c) >= 0x20 && c != 0x7F) << a << " " << b;
    }
  }
}

TEST(DisplayWidth, CountsColumns) {
  EXPECT_EQ(DisplayWidth(""), 0u);
  EXPECT_EQ(DisplayWidth("saxpy"), 5u);
  EXPECT_EQ(DisplayWidth("é…"), 2u);
  EXPECT_EQ(DisplayWidth("名前"), 4u);
  EXPECT_EQ(DisplayWidth("e\xCC\x81"), 1u);
}

TEST(ShortenMiddle, KeepsBothEnds) {
  EXPECT_EQ(ShortenMiddle("abcdefgh", 8), "abcdefgh");
  EXPECT_EQ(ShortenMiddle("abcdefgh", 7), "abc…fgh");
  EXPECT_EQ(ShortenMiddle("abcdefgh", 4), "ab…h");
  EXPECT_EQ(ShortenMiddle("abcdefgh", 1), "…");
  EXPECT_EQ(ShortenMiddle("abcdefgh", 0), "");
}

TEST(ShortenMiddle, NeverTooWideNorCutWithinACharacter) {
  const std::string text = "名前が長いカーネル_e\xCC\x81_kernel_名前が長い";
  for (std::size_t width = 0; width <= DisplayWidth(text) + 1; ++width) {
    const std::string shortened = ShortenMiddle(text, width);
    EXPECT_LE(DisplayWidth(shortened), width);
    EXPECT_EQ(Printable(shortened), shortened);
  }
}

TEST(Wrap, BreaksAtSpaces) {
  EXPECT_EQ(Wrap("", 10), (std::vector<std::string>{""}));
  EXPECT_EQ(Wrap("one two three", 7), (std::vector<std::string>{"one two", "three"}));
  EXPECT_EQ(Wrap("  one   two ", 80), (std::vector<std::string>{"one two"}));
  EXPECT_EQ(Wrap("a verylongword b", 4), (std::vector<std::string>{"a", "verylongword", "b"}));
}

TEST(Nearest, FindsSlips) {
  const std::vector<std::string> words = {"report", "profile", "dump", "--force-overwrite", "--output", "--format"};
  EXPECT_EQ(Nearest("reprot", words), "report");
  EXPECT_EQ(Nearest("profil", words), "profile");
  EXPECT_EQ(Nearest("--ouput", words), "--output");
  EXPECT_EQ(Nearest("--overwrite", words), "--force-overwrite");
  EXPECT_EQ(Nearest("sideways", words), "");
  EXPECT_EQ(Nearest("--rule", {"--full"}), "");  // dashes are no letters that agree
  EXPECT_EQ(Nearest("", words), "");
  EXPECT_EQ(Nearest(std::string(100'000, 'x'), words), "");
}

}  // namespace
}  // namespace gprof

// What a full screen shows, and the keys that come back. Nothing here knows of a terminal.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gprof::cli {

struct ScreenSize {
  std::size_t rows = 24, columns = 80;
};

enum class Look : uint8_t { kPlain, kBold, kDim, kReverse };

// Of text that is Printable. No colours: every terminal has these.
struct ScreenLine {
  std::string text{};
  Look look = Look::kPlain;
};

// A character, or one of these.
using Key = char32_t;
namespace key {
inline constexpr Key kEnter = '\r', kEscape = 27, kBackspace = 127, kRedraw = 'L' - '@', kEnd = 0x110000,
                     kUp = 0x110001, kDown = 0x110002, kLeft = 0x110003, kRight = 0x110004, kPageUp = 0x110005,
                     kPageDown = 0x110006, kFirst = 0x110007, kLast = 0x110008, kResize = 0x110009, kOther = 0x11000a;
}  // namespace key

}  // namespace gprof::cli

// What is built from src/web and embedded in the program: one text, which is style, both scripts and template after
// each other, compressed by zstd. Written by embed.cmake.
#pragma once

#include <cstddef>
#include <string_view>

namespace gprof {

struct PageParts {
  const unsigned char* compressed;
  std::size_t compressed_bytes;
  std::size_t style_bytes, boot_bytes, script_bytes, template_bytes;
  std::string_view style_sha256, boot_sha256, script_sha256;  // in hexadecimal
};

// Sizes are 0 in a build without the page.
extern const PageParts kPageParts;

}  // namespace gprof

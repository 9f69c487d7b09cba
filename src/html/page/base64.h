#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace gprof {

// Appends base64 of a run of bytes that comes in pieces.
class Base64 {
 public:
  void Add(std::string_view bytes, std::string* out);
  void Finish(std::string* out);

 private:
  std::string rest_;  // fewer than three bytes
};

// The same as text of a UTF-8 page: seven bits a character, where base64 has six. docs/html.md
class Septets {
 public:
  void Add(std::string_view bytes, std::string* out);
  void Finish(std::string* out);

 private:
  void Append(uint32_t septet, std::string* out);

  uint32_t held_ = 0;      // bits that are not written yet, fewer than 7 of them
  uint32_t count_ = 0;     // of them
  uint32_t reserved_ = 0;  // 1 + index of a reserved character whose pair is still to come, 0 for none
};

}  // namespace gprof

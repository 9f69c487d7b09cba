#pragma once

#include <cstddef>
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

}  // namespace gprof

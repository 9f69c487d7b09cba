// Regular expressions that users give, on names that come out of traces: RE2, whose time grows with the length of the
// text and whose depth does not, whatever the expression is.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace re2 {
class RE2;
}

namespace gprof {

class RegularExpression {
 public:
  // Throws Error(kUsage), whose hint ends with `example`, for what RE2 does not take.
  RegularExpression(std::string_view text, const std::string& example);

  // Matches anywhere in it.
  bool operator()(std::string_view text) const;

 private:
  std::shared_ptr<const re2::RE2> expression_;
};

// Throws Error(kUsage) that begins with `option` for what is no extended regular expression of POSIX, or is one that
// the matcher of libc, which the tracer uses, may take without end for: back references and huge repetitions.
void RequirePosixExpression(std::string_view option, const std::string& text);

}  // namespace gprof

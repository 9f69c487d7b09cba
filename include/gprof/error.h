// The error type of everything that runs offline; main turns it into a message and an exit code.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace gprof {

// What `gprof-cli` exits with. `profile` returns the program's own code, or one of the 125 family.
enum class ExitCode : int {
  kGood = 0,
  kGateFailed = 1,
  kUsage = 2,
  kUnreadable = 3,
  kInconclusive = 4,
  kBug = 70,
  kLaunchFailed = 125,
  kNotExecutable = 126,
  kNotFound = 127,
};

// Says what failed and why, and in `hint` what to do about it.
class Error : public std::runtime_error {
 public:
  Error(ExitCode code, const std::string& what, std::string hint = {})
      : std::runtime_error(what), code_(code), hint_(std::move(hint)) {}
  ExitCode code() const { return code_; }
  const std::string& hint() const { return hint_; }

 private:
  ExitCode code_;
  std::string hint_;
};

}  // namespace gprof

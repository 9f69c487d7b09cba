#include "gate/check/verdict.h"

namespace gprof {

Verdict WorseOf(Verdict a, Verdict b) {
  const auto rank = [](Verdict verdict) {
    switch (verdict) {
      case Verdict::kPass:
        return 0;
      case Verdict::kWarn:
        return 1;
      case Verdict::kInconclusive:
        return 2;
      case Verdict::kFail:
        break;
    }
    return 3;
  };
  return rank(a) < rank(b) ? b : a;
}

std::string_view VerdictName(Verdict verdict) {
  switch (verdict) {
    case Verdict::kPass:
      return "pass";
    case Verdict::kWarn:
      return "warn";
    case Verdict::kFail:
      return "fail";
    case Verdict::kInconclusive:
      break;
  }
  return "inconclusive";
}

ExitCode ExitCodeOf(Verdict verdict) {
  switch (verdict) {
    case Verdict::kPass:
    case Verdict::kWarn:
      return ExitCode::kGood;
    case Verdict::kFail:
      return ExitCode::kGateFailed;
    case Verdict::kInconclusive:
      break;
  }
  return ExitCode::kInconclusive;
}

}  // namespace gprof

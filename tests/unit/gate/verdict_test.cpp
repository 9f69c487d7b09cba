#include "gate/check/verdict.h"

#include <gtest/gtest.h>

namespace gprof {
namespace {

TEST(Verdict, WorstWins) {
  EXPECT_EQ(WorseOf(Verdict::kPass, Verdict::kWarn), Verdict::kWarn);
  EXPECT_EQ(WorseOf(Verdict::kInconclusive, Verdict::kWarn), Verdict::kInconclusive);
  EXPECT_EQ(WorseOf(Verdict::kInconclusive, Verdict::kFail), Verdict::kFail);
  EXPECT_EQ(WorseOf(Verdict::kPass, Verdict::kPass), Verdict::kPass);
}

TEST(Verdict, ExitCodesOfTheDesign) {
  EXPECT_EQ(ExitCodeOf(Verdict::kPass), ExitCode::kGood);
  EXPECT_EQ(ExitCodeOf(Verdict::kWarn), ExitCode::kGood);
  EXPECT_EQ(ExitCodeOf(Verdict::kFail), ExitCode::kGateFailed);
  EXPECT_EQ(ExitCodeOf(Verdict::kInconclusive), ExitCode::kInconclusive);
}

}  // namespace
}  // namespace gprof

#include "launch/output_file.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <string>

#include "gprof/error.h"

namespace gprof {
namespace {

TEST(ExpandPattern, ReplacesWhatItKnows) {
  setenv("GPROF_TEST_RANK", "3", 1);
  EXPECT_EQ(ExpandPattern("run.trace", 12, 1), "run.trace");
  EXPECT_EQ(ExpandPattern("%p-%n-%q{GPROF_TEST_RANK}-100%%", 12, 7), "12-7-3-100%");
  EXPECT_EQ(ExpandPattern("%%p", 12, 7), "%p");
  EXPECT_EQ(ExpandPattern("", 12, 7), "");
}

TEST(ExpandPattern, RefusesTheRest) {
  for (const char* pattern : {"%", "a%", "%x", "%q", "%q{", "%q{GPROF_TEST_NOT_SET}", "%P"}) {
    EXPECT_THROW(ExpandPattern(pattern, 1, 1), Error) << pattern;
  }
}

}  // namespace
}  // namespace gprof

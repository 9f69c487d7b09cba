#include <gtest/gtest.h>
#include <stdlib.h>

#include <string>

#include "gprof/error.h"
#include "launch/run/trace_output.h"

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

TEST(WithNumber, LeavesEverythingElseAlone) {
  EXPECT_EQ(WithNumber("run-%n.trace", "03"), "run-03.trace");
  EXPECT_EQ(WithNumber("%n%n", "1"), "11");
  EXPECT_EQ(WithNumber("%%n-%p-%q{n}-%h", "1"), "%%n-%p-%q{n}-%h");
  EXPECT_EQ(WithNumber("%%%n%", "1"), "%%1%");
  EXPECT_EQ(WithNumber("", "1"), "");
}

TEST(RefuseExisting, WhatCannotOrMayNotBeReplaced) {
  EXPECT_NO_THROW(RefuseExisting("/nonexistent/run.trace", false));
  EXPECT_THROW(RefuseExisting("/proc/self/status", false), Error);
  EXPECT_NO_THROW(RefuseExisting("/proc/self/status", true));
  EXPECT_THROW(RefuseExisting("/proc/self", true), Error);
  EXPECT_THROW(RefuseExisting("/dev/null", true), Error);
}

}  // namespace
}  // namespace gprof

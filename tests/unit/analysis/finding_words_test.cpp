#include "analysis/findings/finding_words.h"

#include <gtest/gtest.h>

#include <string>

#include "trace_maker.h"

namespace gprof::test {
namespace {

TEST(FindingWords, APlaceEndsTheMessageWhereThereIsRoom) {
  Finding finding;
  finding.message = "GPU idle for 12.0% of the GPU window (1.20 s)";
  finding.evidence = {"7 calls"};
  AddPlace("mostly at train.py:12 (step)", &finding);
  EXPECT_EQ(WordsOf(&finding), "GPU idle for 12.0% of the GPU window (1.20 s); mostly at train.py:12 (step) | 7 calls");
  finding.message = std::string(150, 'x');
  AddPlace("mostly at train.py:12 (step)", &finding);
  EXPECT_EQ(WordsOf(&finding), std::string(150, 'x') + " | Mostly at train.py:12 (step) | 7 calls");
}

TEST(FindingWords, NamesOfAnyLengthLeaveAShortMessage) {
  EXPECT_EQ(InMessage("loader (4711)"), "loader (4711)");
  EXPECT_EQ(InMessage(std::string(1000, 'x')).size(), 39 + std::string("…").size());
  Finding finding;
  finding.message = "in " + std::string(1000, 'x');
  const std::string whole = finding.message;
  FitMessage(&finding);
  EXPECT_EQ(finding.message.size(), kLongestMessage - 1 + std::string("…").size());
  EXPECT_EQ(finding.evidence.front(), whole);
}

TEST(FindingWords, SharesAreOfTheRunFirst) {
  EXPECT_EQ(ShareOfTime(200, 1000, ""), "20.0% of the GPU window (200 ns)");
  EXPECT_EQ(ShareOfTime(200, 1000, " after warm-up"), "20.0% of the time after warm-up (200 ns)");
}

}  // namespace
}  // namespace gprof::test

// Where on the timeline findings are seen.
#include <gtest/gtest.h>

#include <string>

#include "html/page/finding_places.h"

namespace gprof::test {
namespace {

std::string QueryFor(const std::string& id, const Subject& subject = {}) {
  Finding finding;
  finding.id = id;
  finding.subject = subject;
  const std::vector<FindingPlace> places = PlacesOf(std::span(&finding, 1));
  return places.empty() ? "none" : places.front().query;
}

TEST(Places, NameWhatTheFindingIsAbout) {
  Subject subject;
  subject.kernel = "void a<int>(int)";
  subject.range = "epoch/\"step\" \\";
  subject.stream = "copy (stream 14)";
  EXPECT_EQ(QueryFor("critical.kernel", subject), "kind:kernel name:\"void a<int>(int)\"");
  EXPECT_EQ(QueryFor("steps.trend", subject), "kind:nvtx nvtx:\"epoch/\\\"step\\\" \\\\\"");
  EXPECT_EQ(QueryFor("streams.one_used", subject), "kind:kernel,copy,pageable track:\"copy (stream 14)\"");
  EXPECT_EQ(QueryFor("kernels.small", subject), "kind:kernel max:10us");
}

TEST(Places, DirectionsAreKindsOfTheirOwn) {
  Subject subject;
  EXPECT_EQ(QueryFor("memcpy.pageable", subject), "kind:pageable");
  subject.direction = "host to device";
  EXPECT_EQ(QueryFor("memcpy.pageable", subject), "kind:pageable_h2d");
  subject.direction = "device to host";
  EXPECT_EQ(QueryFor("memcpy.pageable", subject), "kind:pageable_d2h");
  EXPECT_EQ(QueryFor("idle.dependency"), "cause:dependency");
}

TEST(Places, CallsOfTheOperatingSystemAreThoseOfTheThread) {
  Subject subject;
  subject.function = "read";
  subject.thread = "loader 2 (4711)";
  EXPECT_EQ(QueryFor("os.file", subject), "kind:os_call name:\"read\" thread:4711");
  EXPECT_EQ(QueryFor("host.preempted", subject), "kind:thread_preempted thread:4711");
  subject.thread = "thread 12";
  EXPECT_EQ(QueryFor("host.preempted", subject), "kind:thread_preempted thread:12");
  subject.thread.clear();
  EXPECT_EQ(QueryFor("os.file", subject), "kind:os_call name:\"read\"");
}

TEST(Places, SomeFindingsHaveNone) {
  EXPECT_EQ(QueryFor("health.bad_times"), "none");
  EXPECT_EQ(QueryFor("traces.straggler"), "none");
  EXPECT_EQ(QueryFor("no.such_finding"), "none");
}

TEST(Places, WithoutASubjectAFindingHasAWiderPlace) { EXPECT_EQ(QueryFor("critical.kernel"), "kind:kernel"); }

}  // namespace
}  // namespace gprof::test

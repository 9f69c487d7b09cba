#include "gate/runs/run_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "gprof/error.h"

namespace gprof {
namespace {

using nlohmann::ordered_json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

RunFile Example() {
  RunFile file;
  file.path = "perf/new.runs.json";
  file.label = "new";
  file.counterpart = "perf/base.runs.json";
  file.command = {"./app", "--size", "a b", "\xff"};
  file.planned_runs = 3;
  file.planned_warm_ups = 1;
  file.runs = {{"", true, 1, 2, RunOutcome::kGood, 0, 0, 1'700'000'000'000'000'000, 5'000'000'000},
               {"perf/new-1.trace", false, 1, 3, RunOutcome::kGood, 0, 0, 1'700'000'010'000'000'000, 4'000'000'000},
               {"perf/new-2.trace", false, 2, 6, RunOutcome::kFailed, 137, 9, 1'700'000'020'000'000'000, 17}};
  return file;
}

ordered_json ExampleJson() { return ordered_json::parse(RunFileText(Example())); }

// What is said of a document that `change` spoiled.
template <typename Change>
std::string Complaint(const Change& change) {
  ordered_json json = ExampleJson();
  change(json);
  try {
    ParseRunFile(json.dump(), "x.runs.json");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kUnreadable);
    EXPECT_THAT(error.what(), HasSubstr("'x.runs.json'"));
    EXPECT_NE(error.hint(), "");
    return error.what();
  }
  ADD_FAILURE() << "taken: " << json.dump();
  return {};
}

TEST(RunFile, ComesBackAsItWasWritten) {
  const RunFile written = Example();
  const RunFile read = ParseRunFile(RunFileText(written), written.path);
  EXPECT_EQ(read.label, "new");
  EXPECT_EQ(read.counterpart, "perf/base.runs.json");
  EXPECT_THAT(read.command, ElementsAre("./app", "--size", "a b", "\xef\xbf\xbd"));
  EXPECT_EQ(read.planned_runs, 3u);
  EXPECT_EQ(read.planned_warm_ups, 1u);
  ASSERT_EQ(read.runs.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    const RecordedRun &a = written.runs[i], &b = read.runs[i];
    EXPECT_EQ(a.trace, b.trace);
    EXPECT_EQ(a.is_warm_up, b.is_warm_up);
    EXPECT_EQ(a.number, b.number);
    EXPECT_EQ(a.order, b.order);
    EXPECT_EQ(a.outcome, b.outcome);
    EXPECT_EQ(a.exit_code, b.exit_code);
    EXPECT_EQ(a.signal, b.signal);
    EXPECT_EQ(a.start_unix_ns, b.start_unix_ns);
    EXPECT_EQ(a.wall_ns, b.wall_ns);
  }
  EXPECT_FALSE(read.runs[0].Counts());
  EXPECT_TRUE(read.runs[1].Counts());
  EXPECT_FALSE(read.runs[2].Counts());
}

TEST(RunFile, NamesTracesBesideItself) {
  const ordered_json json = ExampleJson();
  EXPECT_EQ(json["runs"][0]["trace"], nullptr);
  EXPECT_EQ(json["runs"][1]["trace"], "new-1.trace");
  EXPECT_EQ(json["counterpart"], "base.runs.json");
  RunFile here;
  here.path = "run.runs.json";
  here.runs = {{"run-1.trace", false, 1, 1, RunOutcome::kGood, 0, 0, 1, 1}};
  EXPECT_EQ(ParseRunFile(RunFileText(here), "run.runs.json").runs[0].trace, "run-1.trace");
  EXPECT_EQ(ParseRunFile(RunFileText(here), "/moved/to/run.runs.json").runs[0].trace, "/moved/to/run-1.trace");
}

TEST(RunFile, SetWithoutRunsIsOne) {
  RunFile file = Example();
  file.runs.clear();
  EXPECT_THAT(ParseRunFile(RunFileText(file), file.path).runs, IsEmpty());
}

TEST(RunFile, PassesOverWhatItDoesNotKnow) {
  ordered_json json = ExampleJson();
  json["since_then"] = {{"a", 1}};
  json["runs"][0]["temperature"] = 60;
  EXPECT_EQ(ParseRunFile(json.dump(), "x").runs.size(), 3u);
}

TEST(RunFile, SaysWhatItCannotRead) {
  for (const char* text : {"",
                           "\x7f"
                           "ELF",
                           "{\"schema\": \"gprof.runs/1\"", "nan"}) {
    EXPECT_THROW(
        try { ParseRunFile(text, "x"); } catch (const Error& error) {
          EXPECT_THAT(error.what(), HasSubstr("'x' is not a valid run file: invalid JSON at byte"));
          throw;
        },
        Error);
  }
  EXPECT_THAT(Complaint([](ordered_json& j) { j = ordered_json::array(); }),
              HasSubstr("the document is not an object"));
  EXPECT_THAT(Complaint([](ordered_json& j) { j["schema"] = "gprof.report/1"; }), HasSubstr("'gprof.report/1'"));
  EXPECT_THAT(Complaint([](ordered_json& j) { j["schema"] = "gprof.runs/2"; }), HasSubstr("gprof.runs/2"));
  EXPECT_THAT(Complaint([](ordered_json& j) { j["command"] = "./app"; }), HasSubstr("'command' is not a list"));
  EXPECT_THAT(Complaint([](ordered_json& j) { j["command"][0] = 1; }), HasSubstr("'command'"));
  EXPECT_THAT(Complaint([](ordered_json& j) { j["runs"] = 1; }), HasSubstr("'runs' is not a list"));
  EXPECT_THAT(Complaint([](ordered_json& j) { j["runs"][1] = 1; }), HasSubstr("runs[1] is not an object"));
  EXPECT_THAT(Complaint([](ordered_json& j) { j["runs"][1]["trace"] = ""; }), HasSubstr("is not a path"));
  EXPECT_THAT(Complaint([](ordered_json& j) { j["runs"][1]["trace"] = 3; }), HasSubstr("is not a string"));
  EXPECT_THAT(Complaint([](ordered_json& j) { j["runs"][1]["outcome"] = "odd"; }), HasSubstr("'odd'"));
  EXPECT_THAT(Complaint([](ordered_json& j) { j["runs"][1]["warm_up"] = 0; }), HasSubstr("neither true nor false"));
  EXPECT_THAT(Complaint([](ordered_json& j) { j["runs"][1]["number"] = 0; }), HasSubstr("'number' of runs[1]"));
  EXPECT_THAT(Complaint([](ordered_json& j) { j["runs"][1]["wall_ns"] = -1; }), HasSubstr("'wall_ns' of runs[1]"));
  EXPECT_THAT(Complaint([](ordered_json& j) { j["runs"][1]["wall_ns"] = 1.5; }), HasSubstr("'wall_ns' of runs[1]"));
  EXPECT_THAT(Complaint([](ordered_json& j) { j["runs"][1]["wall_ns"] = 18446744073709551615u; }),
              HasSubstr("'wall_ns' of runs[1]"));
  EXPECT_THAT(Complaint([](ordered_json& j) { j["runs"][1]["exit_code"] = 256; }), HasSubstr("'exit_code'"));
}

TEST(RunFile, EveryKeyIsNeeded) {
  const ordered_json whole = ExampleJson();
  for (const auto& item : whole.items()) {
    if (item.key() == "gprof_cli") continue;  // who wrote it, for people
    EXPECT_THAT(Complaint([&](ordered_json& j) { j.erase(item.key()); }), HasSubstr("has no '" + item.key() + "'"));
  }
  for (const auto& item : whole["runs"][0].items()) {
    EXPECT_THAT(Complaint([&](ordered_json& j) { j["runs"][0].erase(item.key()); }),
                HasSubstr("runs[0] has no '" + item.key() + "'"));
  }
}

TEST(RunFile, RunThatIsThereTwiceIsRefused) {
  EXPECT_THAT(Complaint([](ordered_json& j) { j["runs"][2]["trace"] = "new-1.trace"; }), HasSubstr("two runs share"));
  EXPECT_THAT(Complaint([](ordered_json& j) { j["runs"][2]["number"] = 1; }), HasSubstr("two runs with number 1"));
  EXPECT_THAT(Complaint([](ordered_json& j) { j["runs"][1]["warm_up"] = true; }), HasSubstr("two warm-up runs"));
}

TEST(RunFile, IsReadFromDisk) {
  char name[] = "/tmp/gprof-run-file-XXXXXX";
  ASSERT_NE(mkdtemp(name), nullptr);
  const std::string folder = name;
  RunFile file = Example();
  file.path = folder + "/run.runs.json";
  file.counterpart.clear();
  file.runs.resize(2);
  file.runs[1].trace = folder + "/run-1.trace";
  std::ofstream(file.path) << RunFileText(file);
  EXPECT_EQ(ReadRunFile(file.path).runs[1].trace, folder + "/run-1.trace");
  EXPECT_EQ(ReadRunFile(file.path).counterpart, "");
  EXPECT_THROW(ReadRunFile(folder + "/absent.json"), Error);
  EXPECT_THROW(ReadRunFile(folder), Error);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace gprof

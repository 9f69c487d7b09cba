// Sets of runs from files: recorded traces, reports, baselines, folders, and what is none of them.
#include "gate/runs/run_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>

#include "base/expression/regular_expression.h"
#include "gate/baseline/baseline.h"
#include "gate/budget/init_budget.h"
#include "gate/budget/rule_words.h"
#include "gate/budget/scope_pattern.h"
#include "gate/check/check.h"
#include "gate/runs/run_file.h"
#include "gprof/error.h"
#include "runs.h"

namespace gprof {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

const fs::path kData = fs::path(GPROF_SOURCE_DIR) / "tests" / "data";
const std::string kReport = GPROF_SOURCE_DIR "/tests/unit/gate/data/normalise_v1.report.json";

std::string Trace(const char* name) { return (kData / (std::string(name) + ".trace")).string(); }

class RunSets : public testing::Test {
 protected:
  RunSets() {
    std::string name = (fs::temp_directory_path() / "gprof-runs-XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  ~RunSets() override { fs::remove_all(folder_); }

  std::string Write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
    return (folder_ / name).string();
  }
  std::string Copy(const char* trace, const std::string& name) const {
    fs::copy_file(Trace(trace), folder_ / name);
    return (folder_ / name).string();
  }

  fs::path folder_;
};

ExitCode CodeOf(const std::vector<std::string>& paths, std::string* message, const RunSetOptions& options = {}) {
  try {
    LoadRunSet(paths, options);
  } catch (const Error& error) {
    *message = error.what();
    return error.code();
  }
  *message = "";
  return ExitCode::kGood;
}

TEST_F(RunSets, MeasureATrace) {
  const RunSet set = LoadRunSet({Trace("normalise_v1")});
  ASSERT_EQ(set.runs.size(), 1u);
  const Measurement& run = set.runs[0];
  EXPECT_EQ(FindIn(run, "kernels.count")->value, 240);
  EXPECT_EQ(FindIn(run, "memcpy.pageable_bytes")->value, 1342177280);
  EXPECT_NE(FindIn(run, "gpu.idle_percent", "gpu0"), nullptr);
  EXPECT_NE(
      FindIn(run, "kernels.median_ns", "kernel:gprof::kernels::DivideByKernel(float*, unsigned long, float const*)"),
      nullptr)
      << "per kernel";
  EXPECT_TRUE(run.is_complete);
  EXPECT_THAT(run.fingerprint.gpus, ElementsAre("NVIDIA H200"));
  EXPECT_EQ(run.fingerprint.driver_version, "13.0");
  EXPECT_EQ(run.fingerprint.clocks.substr(0, 8), "1980 MHz");
  EXPECT_GT(run.breakdown.wall_ns, 0);
  // Nobody recorded those.
  EXPECT_EQ(FindIn(run, "memory.peak_bytes"), nullptr);
  EXPECT_THAT(WhyNotRecorded(run, "memory.peak_bytes"), HasSubstr("--cuda-memory-usage"));
  EXPECT_THAT(WhyNotRecorded(run, "memory.gpu_page_faults"), HasSubstr("managed memory"));
  EXPECT_THAT(WhyNotRecorded(run, "nvtx.ranges"), HasSubstr("no NVTX range"));
}

TEST_F(RunSets, AProgramWithoutGpuWorkHasNoGpuFigures) {
  const Measurement run = LoadRunSet({Trace("nvtx_cpu")}).runs[0];
  EXPECT_EQ(FindIn(run, "kernels.count"), nullptr);
  EXPECT_EQ(FindIn(run, "memcpy.pageable_bytes"), nullptr);
  EXPECT_EQ(FindIn(run, "api.calls"), nullptr);
  EXPECT_NE(FindIn(run, "nvtx.ranges"), nullptr);
  EXPECT_EQ(WhyNotRecorded(run, "kernels.count"), "the trace has no GPU operations");
}

TEST_F(RunSets, EveryScopeThatThereIsCanBeGuarded) {
  for (const fs::directory_entry& entry : fs::directory_iterator(kData)) {
    if (entry.path().extension() != ".trace") continue;
    const RunSet set = LoadRunSet({entry.path().string()});
    for (const Metric& metric : set.runs[0].metrics) {
      const std::string figure = std::string(metric.id) + (metric.scope.empty() ? "" : "@" + metric.scope);
      const Rule rule = RuleFor(figure);
      EXPECT_TRUE(ScopePattern(rule.scope).Matches(metric.scope)) << figure;
    }
  }
}

TEST_F(RunSets, AReportGivesTheFiguresOfItsTrace) {
  const Measurement from_trace = LoadRunSet({Trace("normalise_v1")}).runs[0];
  const Measurement from_report = LoadRunSet({kReport}).runs[0];
  for (const char* id : {"kernels.count", "memcpy.bytes", "gpu.idle_ns", "sync.count"}) {
    ASSERT_NE(FindIn(from_report, id), nullptr) << id;
    EXPECT_EQ(FindIn(from_report, id)->value, FindIn(from_trace, id)->value) << id;
  }
  EXPECT_EQ(FindIn(from_report, "memory.peak_bytes"), nullptr);
  EXPECT_EQ(from_report.fingerprint.gpus, from_trace.fingerprint.gpus);
  EXPECT_EQ(from_report.fingerprint.driver_version, from_trace.fingerprint.driver_version);
}

TEST_F(RunSets, ABaselineIsWhatItWasMadeOf) {
  Baseline baseline;
  baseline.name = "main";
  baseline.set = LoadRunSet({Trace("normalise_v1"), Trace("normalise_v2")});
  baseline.made.time = "2026-11-21T00:00:00Z";
  const RunSet read = LoadRunSet({Write("main.json", BaselineText(baseline))});
  ASSERT_EQ(read.runs.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    const Measurement &was = baseline.set.runs[i], &is = read.runs[i];
    EXPECT_EQ(is.source, was.source);
    EXPECT_EQ(is.metrics.size(), was.metrics.size());
    for (const Metric& metric : was.metrics) {
      const Metric* found = FindIn(is, metric.id, metric.scope);
      ASSERT_NE(found, nullptr) << metric.id << "@" << metric.scope;
      EXPECT_EQ(found->value, metric.value) << metric.id;
    }
    EXPECT_EQ(is.fingerprint.clocks, was.fingerprint.clocks);
    EXPECT_EQ(is.breakdown.wall_ns, was.breakdown.wall_ns);
    EXPECT_EQ(is.breakdown.devices.size(), was.breakdown.devices.size());
    EXPECT_EQ(WhyNotRecorded(is, "memory.peak_bytes"), WhyNotRecorded(was, "memory.peak_bytes"));
  }
}

TEST_F(RunSets, AFolderIsTheTracesInIt) {
  Copy("normalise_v2", "b");
  Copy("normalise_v1", "a");
  Write("notes.txt", "hello");
  const RunSet set = LoadRunSet({folder_.string()});
  ASSERT_EQ(set.runs.size(), 2u);
  EXPECT_EQ(set.runs[0].source, (folder_ / "a").string());
  EXPECT_THAT(set.notes, ElementsAre("1 file in " + folder_.string() + " skipped: not a trace"));
}

TEST_F(RunSets, WarmUpAndFailedRunsAreLeftOut) {
  Copy("normalise_v1", "1.trace");
  Copy("normalise_v2", "2.trace");
  Copy("normalise_v1", "3.trace");
  const std::string path = Write("runs.json", "{}");
  RunFile file;
  file.path = path;
  const auto add = [&](const char* name, bool is_warm_up, RunOutcome outcome) {
    RecordedRun run;
    run.trace = (folder_ / name).string();
    run.is_warm_up = is_warm_up;
    run.outcome = outcome;
    run.number = is_warm_up ? 1 : static_cast<uint32_t>(file.runs.size());
    run.order = static_cast<uint32_t>(file.runs.size()) + 1;
    run.exit_code = outcome == RunOutcome::kFailed ? 7 : 0;
    file.runs.push_back(run);
  };
  add("1.trace", true, RunOutcome::kGood);
  add("2.trace", false, RunOutcome::kGood);
  add("3.trace", false, RunOutcome::kFailed);
  file.command = {"./app"};
  file.planned_runs = 2;
  file.planned_warm_ups = 1;
  Write("runs.json", RunFileText(file));
  for (const std::string& named : {path, folder_.string()}) {  // a folder with a run file is what the run file says
    const RunSet set = LoadRunSet({named});
    ASSERT_EQ(set.runs.size(), 1u);
    EXPECT_EQ(fs::path(set.runs[0].source).filename(), "2.trace");
    EXPECT_THAT(set.notes, Contains(HasSubstr("1 warm-up run")));
    EXPECT_THAT(set.notes, Contains(HasSubstr("failed with exit code 7")));
  }
}

TEST_F(RunSets, CountsOfAPartByTimeAreNotExact) {
  EXPECT_TRUE(LoadRunSet({Trace("captures")}).runs[0].is_exact) << "an NVTX range begins and ends them";
  RunSetOptions options;
  options.selection.time = Interval{0, 1'000'000'000};
  EXPECT_FALSE(LoadRunSet({Trace("normalise_v1")}, options).runs[0].is_exact);
}

TEST_F(RunSets, SelectAPartOfTraces) {
  RunSetOptions options;
  options.selection.kernel = {"DivideBy", RegularExpression("DivideBy", "")};
  options.selected = "kernels like 'DivideBy'";
  const RunSet set = LoadRunSet({Trace("normalise_v1")}, options);
  EXPECT_LT(FindIn(set.runs[0], "kernels.count")->value, 240);
  EXPECT_EQ(set.runs[0].selected, options.selected);
  std::string message;
  EXPECT_EQ(CodeOf({kReport}, &message, options), ExitCode::kUsage);
  EXPECT_THAT(message, HasSubstr("was measured as a whole, not in part (kernels like 'DivideBy')"));
}

TEST_F(RunSets, BadInputIsNamed) {
  std::string message;
  EXPECT_EQ(CodeOf({(folder_ / "none").string()}, &message), ExitCode::kUnreadable);
  EXPECT_THAT(message, HasSubstr("no such file: '"));
  EXPECT_EQ(CodeOf({}, &message), ExitCode::kUsage);
  EXPECT_EQ(CodeOf({folder_.string()}, &message), ExitCode::kInconclusive);
  EXPECT_THAT(message, HasSubstr("no runs to compare or check: no traces in the folder"));
  EXPECT_EQ(CodeOf({Trace("normalise_v1"), Trace("normalise_v1")}, &message), ExitCode::kUsage);
  EXPECT_THAT(message, HasSubstr("given twice"));
  EXPECT_EQ(CodeOf({Write("x.json", "{\"results\": []}")}, &message), ExitCode::kUnreadable);
  EXPECT_EQ(CodeOf({Write("b.json", "// a budget\n{\"schema\": \"gprof.budget/1\"}")}, &message), ExitCode::kUsage);
  EXPECT_THAT(message, HasSubstr("of the kind gprof.budget/1"));
  EXPECT_EQ(CodeOf({Write("n.json", "{\"schema\": \"gprof.baseline/2\"}")}, &message), ExitCode::kUnreadable);
  EXPECT_THAT(message, HasSubstr("has version 2"));
  for (
      const char* text :
      {"{\"schema\": \"gprof.baseline/1\"", "{\"schema\": \"gprof.baseline/1\"}",
       "{\"schema\": \"gprof.baseline/1\", \"name\": 5}", "{\"schema\": \"gprof.report/1\"}",
       "{\"schema\": \"gprof.report/1\", \"devices\": 5}",
       R"({"schema": "gprof.baseline/1", "name": "a", "made": {"time": ""}, "history": [], "runs": [], "metrics": {}})",
       R"({"schema": "gprof.baseline/1", "name": "a", "made": {"time": ""}, "history": [],
                               "runs": [{"source": "x", "fingerprint": {}, "complete": true}], "metrics": {"kernels.count": [1, 2]}})",
       R"({"schema": "gprof.baseline/1", "name": "a", "made": {"time": ""}, "history": [],
                               "runs": [{"source": "x", "fingerprint": {}, "complete": true}], "metrics": {"kernels.count": ["a"]}})"}) {
    EXPECT_EQ(CodeOf({Write("t.json", text)}, &message), ExitCode::kUnreadable) << text;
    EXPECT_THAT(message, HasSubstr("t.json"));
  }
}

TEST_F(RunSets, TruncatedBaselinesAreErrors) {
  Baseline baseline;
  baseline.name = "main";
  baseline.set = Runs("kernels.count", {1, 2});
  baseline.made.time = "2026-11-21T00:00:00Z";
  const std::string text = BaselineText(baseline);
  std::string message;
  ASSERT_EQ(CodeOf({Write("t.json", text)}, &message), ExitCode::kGood) << message;
  for (std::size_t size = 40; size + 2 < text.size(); size += 7) {
    EXPECT_EQ(CodeOf({Write("t.json", text.substr(0, size))}, &message), ExitCode::kUnreadable) << size;
  }
}

TEST_F(RunSets, ChangedDocumentsAreRunsOrErrors) {
  Baseline baseline;
  baseline.name = "main";
  baseline.set = LoadRunSet({Trace("normalise_v1")});
  baseline.made.time = "2026-11-21T00:00:00Z";
  const std::string good = BaselineText(baseline);
  std::mt19937 random(5);
  const std::string alphabet = "{}[]\",:0159.e-anul \n";
  for (int round = 0; round < 300; ++round) {
    std::string text = good;
    for (int i = 0; i < 2; ++i) text[40 + random() % (text.size() - 40)] = alphabet[random() % alphabet.size()];
    std::string message;
    const ExitCode code = CodeOf({Write("t.json", text)}, &message);
    EXPECT_TRUE(code == ExitCode::kGood || code == ExitCode::kUnreadable) << message;
  }
}

TEST(Baselines, AcceptKeepsWhatWasBefore) {
  Baseline baseline;
  baseline.name = "main";
  baseline.set = Runs("kernels.count", {1, 2, 9});
  baseline.made = {"2026-11-20T00:00:00Z", "ann", "first", "abc", 3, {}};
  Accept(Runs("kernels.count", {5}), {"2026-11-21T00:00:00Z", "bob", "larger batches", "def", 0, {}}, &baseline);
  const Baseline read = ParseBaseline(BaselineText(baseline), "main.json");
  EXPECT_EQ(read.made.reason, "larger batches");
  EXPECT_EQ(read.made.run_count, 1u);
  ASSERT_EQ(read.history.size(), 1u);
  EXPECT_EQ(read.history[0].who, "ann");
  EXPECT_EQ(read.history[0].reason, "first");
  EXPECT_EQ(read.history[0].medians.at("kernels.count"), 2);
  EXPECT_EQ(FindIn(read.set.runs[0], "kernels.count")->value, 5);
}

TEST(Baselines, KeepTheScopesWithMostTime) {
  Measurement run = RunOf({{"kernels.count", 1000}});
  for (int i = 0; i < 1000; ++i) {
    run.metrics.push_back({"kernels.total_ns", "kernel:k" + std::to_string(i), static_cast<double>(i)});
    run.metrics.push_back({"kernels.count", "kernel:k" + std::to_string(i), 1});
  }
  run.metrics.push_back({"gpu.idle_ns", "gpu0", 5});
  Baseline baseline;
  baseline.name = "main";
  baseline.set = SetOf({std::move(run)});
  const Measurement read = ParseBaseline(BaselineText(baseline), "main.json").set.runs[0];
  EXPECT_EQ(read.metrics.size(), 1 + 2 * 300 + 1u);
  EXPECT_NE(FindIn(read, "kernels.count", "kernel:k999"), nullptr);
  EXPECT_NE(FindIn(read, "kernels.count", "kernel:k700"), nullptr);
  EXPECT_EQ(FindIn(read, "kernels.count", "kernel:k699"), nullptr);
  EXPECT_NE(FindIn(read, "gpu.idle_ns", "gpu0"), nullptr);
  EXPECT_EQ(FindIn(read, "kernels.count")->value, 1000);
}

TEST(Baselines, NamesAreNoPaths) {
  EXPECT_NO_THROW(CheckBaselineName("h200-nightly_2.0"));
  for (const char* name : {"", "../x", "a/b", ".hidden", "a b", "caf\u00E9"})
    EXPECT_THROW(CheckBaselineName(name), Error) << name;
}

// What a run is judged by is what the run itself keeps.
TEST(InitBudgets, AreKeptByTheirOwnRuns) {
  for (const fs::directory_entry& entry : fs::directory_iterator(kData)) {
    if (entry.path().extension() != ".trace") continue;
    const RunSet set = LoadRunSet({entry.path().string()});
    const std::string text = InitBudget(set, "");
    const CheckResult result = Check(ParseBudget(text, "perf.json"), set, nullptr);
    if (set.runs[0].is_complete) {
      EXPECT_EQ(result.verdict, Verdict::kPass) << entry.path() << "\n" << text << result.line;
    }
  }
}

TEST(InitBudgets, HoldTimesAgainstABaselineWhereThereIsOne) {
  const RunSet set = LoadRunSet({Trace("normalise_v1"), Trace("normalise_v2")});
  const std::string text = InitBudget(set, "main.json");
  const Budget budget = ParseBudget(text, "perf.json");
  EXPECT_EQ(budget.baseline, "main.json");
  EXPECT_THAT(text, HasSubstr("\"kernels.total_ns\": {\"max_increase\": \"10%\", \"and\": \"100us\"}"));
  EXPECT_THAT(text, HasSubstr("to 1.34 GB in 2 runs; limit with headroom"));
}

}  // namespace
}  // namespace gprof

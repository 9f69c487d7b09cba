// Reports of results made by hand: what no real analysis would ever return must not break them.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "analysis/result/tables.h"
#include "base/text.h"
#include "cli/render/report/render_report.h"
#include "report/run_facts.h"
#include "report/trace_words.h"

namespace gprof::cli {
namespace {

Trace EmptyTrace() {
  Trace trace;
  trace.path = "x.trace";
  trace.strings = {""};
  return trace;
}

AnalysisResult OddResult() {
  AnalysisResult result;
  result.metrics = {{"health.lost_records", "", 3},
                    {"health.skipped_bytes", "gpu0", std::nan("")},
                    {"not.in.the.catalogue", "", 1.5}};
  Table table{"odd",
              "Odd \x1b[31m title",
              {{"name", "Name", Unit::kText, false}, {"total_ns", "Total", Unit::kNs, false}},
              {},
              ""};
  table.rows = {{std::string("\xff\x1b"), int64_t{1500}},
                {std::string("short row")},
                {std::monostate{}, std::numeric_limits<double>::infinity()},
                {std::string("long row"), int64_t{1}, int64_t{2}, int64_t{3}}};
  result.tables = {table, {"empty", "Never shown", {{"a", "A", Unit::kText, false}}, {}, "note"}};
  result.findings = {
      {"odd.finding", Severity::kWarning, std::string(300, 'x') + " \x1b[2J", "do \xff", 12'000, "a guess"}};
  return result;
}

Report OddReport(const Trace& trace) {
  static constexpr Analysis kOdd{"odd", "", [](const AnalysisInput&, const AnalysisOptions&) { return OddResult(); }};
  Report report = RunAnalyses(trace, {&kOdd}, {});
  report.is_full = true;
  return report;
}

TEST(ReportJson, IsJsonWhateverIsInIt) {
  const Trace trace = EmptyTrace();
  const auto json = nlohmann::json::parse(RenderReportJson(OddReport(trace)));
  EXPECT_EQ(json["schema"], "gprof.report/1");
  EXPECT_EQ(json["metrics"][0]["unit"], "count");
  EXPECT_TRUE(json["metrics"][1]["value"].is_null());
  EXPECT_FALSE(json["metrics"][2].contains("unit"));
  const auto& rows = json["tables"][0]["rows"];
  EXPECT_EQ(rows[0]["name"], "\xEF\xBF\xBD\x1b");
  EXPECT_EQ(rows[0]["total_ns"], 1500);
  EXPECT_FALSE(rows[1].contains("total_ns"));
  EXPECT_TRUE(rows[2]["name"].is_null());
  EXPECT_TRUE(rows[2]["total_ns"].is_null());
  EXPECT_EQ(rows[3].size(), 2u);
  EXPECT_TRUE(json["tables"][1]["rows"].empty());
  EXPECT_EQ(json["findings"][0]["gain_ns"], 12'000);
}

TEST(ReportText, PrintsNothingThatATerminalObeys) {
  const Trace trace = EmptyTrace();
  for (const std::size_t columns : {40u, 80u, 160u}) {
    const std::string text = RenderReportText(OddReport(trace), Terminal{false, false, columns});
    EXPECT_EQ(text.find('\x1b'), std::string::npos);
    EXPECT_EQ(text.find('\xff'), std::string::npos);
    EXPECT_NE(text.find("odd.finding"), std::string::npos);
    EXPECT_NE(text.find("1.50 us"), std::string::npos);
    EXPECT_EQ(text.find("Never shown"), std::string::npos);
    EXPECT_NE(text.find("No GPU work in this trace"), std::string::npos);
  }
}

TEST(ReportText, ColoursOnlyWhereTheTerminalHasThem) {
  const Trace trace = EmptyTrace();
  EXPECT_NE(RenderReportText(OddReport(trace), Terminal{true, true, 80}).find("\x1b[1m"), std::string::npos);
}

TEST(ReportMarkdown, WritesOutWhatMarkdownWouldTakeForMarks) {
  const Trace trace = EmptyTrace();
  Report report = OddReport(trace);
  report.sections[0].result.tables[0].rows = {{std::string("a|b <script> *x* _y_ `z`\n# h"), int64_t{1500}}};
  const std::string text = RenderReportMarkdown(report);
  EXPECT_NE(text.find("| a\\|b \\<script\\> \\*x\\* \\_y\\_ \\`z\\`"), std::string::npos) << text;
  EXPECT_NE(text.find("| 1.50 us |"), std::string::npos);
  EXPECT_NE(text.find("|---|---:|"), std::string::npos);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(text.find("\n# h"), std::string::npos);
  EXPECT_NE(text.find("`odd.finding`"), std::string::npos);
}

TEST(FormatRows, KernelsThatDifferReadDifferently) {
  const std::string add = "void apply<Add<float>, 4>(float*)", mul = "void apply<Mul<float>, 4>(float*)";
  const Table table{"kernels",
                    "",
                    {{"name", "Name", Unit::kText}, {"range", "Range", Unit::kText}},
                    {{add, add}, {mul, std::string("load (1)")}, {std::string("f(int)"), std::string()}},
                    ""};
  const auto rows = FormatRows(table, 10);
  EXPECT_EQ(rows[0][0], "apply<…Add…>");
  EXPECT_EQ(rows[1][0], "apply<…Mul…>");
  EXPECT_EQ(rows[2][0], "f(int)");  // has room
  EXPECT_EQ(rows[0][1], add);       // no kernel
  EXPECT_EQ(rows[1][1], "load (1)");
  EXPECT_EQ(FormatRows(table, 0)[0][0], add);
}

TEST(Reports, SayHowFarToTrustThem) {
  const Trace trace = EmptyTrace();
  const Report odd = OddReport(trace);
  Report whole = RunAnalyses(trace, {FindAnalysis("health")}, {});
  whole.is_full = true;
  EXPECT_EQ(RenderReportText(odd, {}).find("Data quality"), std::string::npos);
  EXPECT_NE(RenderReportText(whole, {}).find("Data quality"), std::string::npos);
  EXPECT_NE(RenderReportMarkdown(whole).find("## Data quality"), std::string::npos);
  for (const Report* report : {&odd, static_cast<const Report*>(&whole)}) {
    const auto trust = nlohmann::json::parse(RenderReportJson(*report))["trust"];
    EXPECT_EQ(trust["complete"], true);
    EXPECT_TRUE(trust["overhead"].is_null());
    EXPECT_TRUE(trust["clocks"]["agree_ns"].is_null());
  }
}

TEST(Csv, QuotesAndKeepsNumbersPlain) {
  Table table{"t",
              "",
              {{"name", "", Unit::kText}, {"total_ns", "", Unit::kNs}, {"percent", "", Unit::kPercent}},
              {{std::string("plain"), int64_t{9'007'199'254'740'993}, 0.1},
               {std::string("a,\"b\"\n"), std::monostate{}, std::nan("")},
               {std::string()}},
              ""};
  EXPECT_EQ(RenderCsv(table), "name,total_ns,percent\nplain,9007199254740993,0.1\n\"a,\"\"b\"\"\n\",,\n,,\n");
}

TEST(AllTables, AreNamedByTheirAnalysis) {
  const Trace trace = EmptyTrace();
  const std::vector<NamedTable> tables = AllTables(OddReport(trace));
  ASSERT_EQ(tables.size(), 5u);
  EXPECT_EQ(tables[0].name, "findings");
  EXPECT_EQ(tables[1].name, "metrics");
  EXPECT_EQ(tables[1].table.rows.size(), 3u);
  EXPECT_EQ(tables[2].name, "trust");
  EXPECT_EQ(tables[3].name, "odd.odd");
}

TEST(SortTables, NumbersFromLargeToSmallThenTextThenNothing) {
  const Trace trace = EmptyTrace();
  Report report = OddReport(trace);
  Table& table = report.sections[0].result.tables[0];
  table.rows = {{std::string("b"), int64_t{1}},
                {std::monostate{}, 2.5},
                {std::string("a"), int64_t{3}},
                {std::string("c"), std::monostate{}}};
  EXPECT_TRUE(SortTables("total_ns", 3, &report));
  ASSERT_EQ(table.rows.size(), 3u);
  EXPECT_EQ(std::get<std::string>(table.rows[0][0]), "a");
  EXPECT_EQ(std::get<double>(table.rows[1][1]), 2.5);
  EXPECT_NE(NoteOf(table).find("1 more row"), std::string::npos);
  EXPECT_TRUE(SortTables("name", 0, &report));
  EXPECT_EQ(std::get<std::string>(table.rows[0][0]), "a");
  EXPECT_EQ(table.rows[2][0].index(), 0u);
  EXPECT_FALSE(SortTables("no_such_column", 0, &report));
}

TEST(FormatCell, EveryUnit) {
  EXPECT_EQ(FormatCell(int64_t{1'500'000}, Unit::kNs), "1.50 ms");
  EXPECT_EQ(FormatCell(2e9, Unit::kBytesPerSecond), "2.00 GB/s");
  EXPECT_EQ(FormatCell(int64_t{2048}, Unit::kBytes), "2.05 kB");
  EXPECT_EQ(FormatCell(12.34, Unit::kPercent), "12.3%");
  EXPECT_EQ(FormatCell(int64_t{1234}, Unit::kCount), "1,234");
  EXPECT_EQ(FormatCell(int64_t{1234}, Unit::kPerSecond), "1,234 /s");
  EXPECT_EQ(FormatCell(std::string("x"), Unit::kNs), "x");
  EXPECT_EQ(FormatCell(std::monostate{}, Unit::kNs), "-");
}

TEST(WhyNoGpuWork, SaysSo) {
  Trace trace = EmptyTrace();
  EXPECT_EQ(WhyNoGpuWork(trace).size(), 1u);
  trace.processes.emplace_back();
  EXPECT_NE(WhyNoGpuWork(trace).front().find("no CUDA call"), std::string::npos);
  trace.api_calls.push_back({});
  EXPECT_NE(WhyNoGpuWork(trace).front().find("1 CUDA call"), std::string::npos);
  trace.strings.push_back("no CUDA driver: NVTX alone is recorded");
  trace.notices.push_back({0, 0, trace::NoticeLevel::kWarning, NameId{1}});
  EXPECT_EQ(WhyNoGpuWork(trace).front(), "no CUDA driver: NVTX alone is recorded");
  trace.ops.push_back({});
  EXPECT_TRUE(WhyNoGpuWork(trace).empty());
}

}  // namespace
}  // namespace gprof::cli

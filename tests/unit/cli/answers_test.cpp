// Answers for agents: bounded whatever a trace holds, and queries that only read.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "analysis/findings/finding_catalogue.h"
#include "analysis/registry/run_analyses.h"
#include "cli/agent/mcp_server.h"
#include "export/query/query.h"
#include "export/query/query_tables.h"
#include "export/tables/record_tables.h"
#include "gprof/error.h"
#include "report/answers/brief.h"
#include "report/answers/explanation.h"

namespace gprof::cli {
namespace {

using Json = nlohmann::json;

Trace TraceOfNothing() {
  Trace trace;
  trace.path = "it's here/run.trace";
  trace.strings = {""};
  return trace;
}

// Every finding of the catalogue, with texts that are long, or no UTF-8, or all control characters.
AnalysisResult EveryFinding(const std::string& text) {
  AnalysisResult result;
  for (const FindingInfo& info : FindingCatalogue()) {
    Finding finding = NewFinding(info.id);
    finding.message = finding.advice = finding.basis = finding.subject.line = text;
    finding.gain_ns = 1'000'000'000'000;
    result.findings.push_back(finding);
    result.findings.push_back(finding);
  }
  return result;
}

template <const char* kText>
Report ReportWith(const Trace& trace) {
  static constexpr Analysis kOdd{"odd", "", [](const AnalysisInput&, const AnalysisOptions&) {
                                   return EveryFinding(std::string(20'000, *kText));
                                 }};
  return RunAnalyses(trace, {&kOdd}, {});
}

constexpr char kLetter[] = "x", kControl[] = "\x01", kNoUtf8[] = "\xff";

TEST(Brief, IsBoundedWhateverIsInIt) {
  Trace trace = TraceOfNothing();
  trace.path = std::string(4096, '"');
  for (const Report& report : {ReportWith<kLetter>(trace), ReportWith<kControl>(trace), ReportWith<kNoUtf8>(trace)}) {
    const std::string brief = RenderBrief(report);
    EXPECT_LE(brief.size(), kMostBriefBytes);
    const Json json = Json::parse(brief);
    EXPECT_GE(json["findings"].size(), 1U);
    EXPECT_LE(json["findings"].size(), 5U);
    EXPECT_GT(json["findings_left_out"], 100);
  }
}

TEST(Brief, NothingRecordedIsNoCleanBill) {
  const Trace trace = TraceOfNothing();
  const Json json = Json::parse(RenderBrief(RunAnalyses(trace, {}, {})));
  EXPECT_EQ(json["outcome"], "cannot tell");
  EXPECT_TRUE(json["time"]["gpu"].is_null());
  EXPECT_NE(std::find(json["not_recorded"].begin(), json["not_recorded"].end(), "operations"),
            json["not_recorded"].end());
}

TEST(Explanation, EvidenceNamesOneFinding) {
  const Trace trace = TraceOfNothing();
  const Report report = ReportWith<kLetter>(trace);
  const Explanation second = Explain(report, "memcpy.small#2");
  ASSERT_EQ(second.answer, AnswerKind::kFound);
  EXPECT_EQ(second.named->evidence, "memcpy.small#2");
  EXPECT_EQ(Explain(report, "memcpy.small").named->evidence, "memcpy.small#1");
  EXPECT_EQ(Explain(report, "1").named->evidence, NamedFindings(report).front().evidence);
  EXPECT_EQ(Explain(report, "memcpy.small#3").answer, AnswerKind::kCannotTell);
  EXPECT_EQ(Explain(report, "no.such").answer, AnswerKind::kNoSuchWord);
  EXPECT_EQ(Explain(report, "operations").answer, AnswerKind::kNotRecorded);
}

TEST(Explanation, TheCheckOfEveryFindingIsAQuery) {
  const Trace trace = TraceOfNothing();
  for (const FindingInfo& info : FindingCatalogue()) {
    Finding finding = NewFinding(info.id);
    finding.subject.kernel = finding.subject.function = finding.subject.direction = "it's";
    const FindingCheck check = CheckOf(finding, info.table);
    if (check.sql.empty() || check.sql.find("report_") != std::string::npos) continue;
    try {
      RunQuery(trace, check.sql, {});
    } catch (const Error& error) {  // nothing is recorded in this trace
      EXPECT_EQ(error.code(), ExitCode::kInconclusive) << info.id << ": " << error.what() << "\n" << check.sql;
    }
  }
}

ExitCode CodeOfQuery(const std::string& sql) {
  const Trace trace = TraceOfNothing();
  try {
    RunQuery(trace, sql, {.time = std::chrono::milliseconds(200)});
  } catch (const Error& error) {
    return error.code();
  }
  return ExitCode::kGood;
}

TEST(Query, OnlyReads) {
  for (const char* sql : {"DELETE FROM kernel",
                          "INSERT INTO thread VALUES (1, 2, 3)",
                          "UPDATE thread SET pid = 1",
                          "DROP TABLE kernel",
                          "CREATE TABLE t (a)",
                          "CREATE TEMP TABLE t (a)",
                          "ATTACH 'x.db' AS x",
                          "PRAGMA journal_mode = WAL",
                          "PRAGMA user_version",
                          "VACUUM INTO 'x.db'",
                          "BEGIN",
                          "COMMIT",
                          "REINDEX",
                          "ANALYZE",
                          "SELECT load_extension('x')",
                          "DETACH main",
                          "SELECT 1; SELECT 2",
                          "CREATE TRIGGER t AFTER INSERT ON kernel BEGIN SELECT 1; END",
                          "SAVEPOINT s",
                          "",
                          ";",
                          "SELEC",
                          "SELECT * FROM no_such_table",
                          "SELECT no_such_column FROM thread",
                          "CREATE VIRTUAL TABLE v USING fts5(a)",
                          "SELECT * FROM pragma_database_list"}) {
    EXPECT_EQ(CodeOfQuery(sql), ExitCode::kUsage) << sql;
  }
  EXPECT_EQ(CodeOfQuery("SELECT count(*) FROM thread"), ExitCode::kGood);
  EXPECT_EQ(CodeOfQuery("WITH t(a) AS (VALUES (1), (2)) SELECT sum(a) FROM t ;  \n"), ExitCode::kGood);
}

TEST(Query, EndsAndStaysSmall) {
  EXPECT_EQ(CodeOfQuery("WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT sum(x) FROM c"),
            ExitCode::kInconclusive);
  EXPECT_EQ(CodeOfQuery("SELECT length(zeroblob(1000000000))"), ExitCode::kInconclusive);
}

TEST(Query, RowsAreBounded) {
  const Trace trace = TraceOfNothing();
  const std::string sql =
      "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 10) SELECT x, printf('%.*c', x * 1000, "
      "'y') FROM c";
  const QueryResult some = RunQuery(trace, sql, {.rows = 3});
  EXPECT_EQ(some.rows.size(), 3U);
  EXPECT_TRUE(some.has_more);
  EXPECT_EQ(std::get<std::string>(some.rows[2][1]).size(), QueryLimits{}.text_bytes);
  const QueryResult all = RunQuery(trace, sql, {.rows = 10});
  EXPECT_EQ(all.rows.size(), 10U);
  EXPECT_FALSE(all.has_more);
}

TEST(Query, WhatWasNotRecordedIsNoEmptyTable) {
  EXPECT_EQ(CodeOfQuery("SELECT count(*) FROM kernel"), ExitCode::kInconclusive);
  EXPECT_EQ(CodeOfQuery("SELECT count(*) FROM gpu_gap"), ExitCode::kInconclusive);
}

// A new table has to say whether it may be missing.
TEST(Query, EveryTableSaysWhatItIsOf) {
  const std::vector<std::string_view> always_there = {
      "process",     "thread",       "context",   "stream",      "capture",     "loss",           "notice",
      "module",      "tensor_block", "gpu_pause", "in_progress", "metric_loss", "delay_window",   "request_event",
      "engine_step", "step_request", "base_time", "base_call",   "base_graph",  "generated_lines"};
  for (const RecordTable& table : AllRecordTables()) {
    const bool is_always = std::find(always_there.begin(), always_there.end(), table.name) != always_there.end();
    EXPECT_EQ(FactsOfTable(table.name).IsEmpty(), is_always) << table.name;
  }
}

Json Ask(McpServer& server, const std::string& line) {
  const auto answer = server.Answer(line);
  return answer ? Json::parse(*answer) : Json();
}

TEST(Mcp, SpeaksJsonRpc) {
  McpServer server({});
  EXPECT_EQ(Ask(server, "{")["error"]["code"], -32700);
  EXPECT_EQ(Ask(server, "[]")["error"]["code"], -32600);
  EXPECT_EQ(Ask(server, "7")["error"]["code"], -32600);
  EXPECT_EQ(Ask(server, R"({"jsonrpc":"1.0","id":1,"method":"ping"})")["error"]["code"], -32600);
  EXPECT_EQ(Ask(server, R"({"jsonrpc":"2.0","id":null,"method":"ping"})")["error"]["code"], -32600);
  EXPECT_EQ(Ask(server, R"({"jsonrpc":"2.0","id":"a","method":"nonsense"})")["error"]["code"], -32601);
  EXPECT_EQ(Ask(server, R"({"jsonrpc":"2.0","id":"a","method":"ping"})"),
            Json::parse(R"({"jsonrpc":"2.0","id":"a","result":{}})"));
  EXPECT_TRUE(Ask(server, R"({"jsonrpc":"2.0","method":"notifications/initialized"})").is_null());
  EXPECT_TRUE(Ask(server, R"({"jsonrpc":"2.0","id":1,"result":{}})").is_null());
}

TEST(Mcp, AgreesOnAVersion) {
  McpServer server({});
  const auto version_for = [&](const std::string& asked) {
    return Ask(server, R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":")" + asked +
                           R"("}})")["result"]["protocolVersion"];
  };
  EXPECT_EQ(version_for("2024-11-05"), "2024-11-05");
  EXPECT_EQ(version_for("1999-01-01"), "2025-11-25");
}

TEST(Mcp, RunsProgramsOnlyWhereItMay) {
  const auto tools_of = [](bool may_record) {
    McpServer server({.may_record = may_record});
    std::vector<std::string> names;
    const Json answer = Ask(server, R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})");
    for (const Json& tool : answer["result"]["tools"]) {
      EXPECT_EQ(tool["inputSchema"]["type"], "object");
      names.push_back(tool["name"]);
    }
    return names;
  };
  const std::vector<std::string> reading = tools_of(false), all = tools_of(true);
  EXPECT_EQ(reading, (std::vector<std::string>{"report", "explain", "query", "diff"}));
  EXPECT_NE(std::find(all.begin(), all.end(), "record"), all.end());
  McpServer server({});
  const std::string call = R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"record","arguments":)"
                           R"({"command":["touch","made"],"output":"x.trace"}}})";
  EXPECT_EQ(Ask(server, call)["error"]["code"], -32602);
}

}  // namespace
}  // namespace gprof::cli

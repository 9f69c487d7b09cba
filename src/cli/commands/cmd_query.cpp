// gprof-cli query: SQL over the records of a trace. docs/commands/query.md
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "base/terminal.h"
#include "base/text.h"
#include "cli/arguments/options.h"
#include "cli/commands/commands.h"
#include "cli/pager.h"
#include "cli/recording/leftovers.h"
#include "cli/render/answers/render_answers.h"
#include "cli/traces.h"
#include "export/query/query.h"
#include "export/query/query_tables.h"

namespace gprof::cli {
namespace {

class QueryCommand : public Command {
 public:
  void AddOptions(CLI::App& app) override {
    app.add_option("TRACE", path_, "trace to query")->type_name("");
    app.add_option("SQL", sql_, "one SELECT, - for stdin; with --schema, the name of a table")->type_name("");
    app.add_flag("--schema", wants_schema_, "list tables, columns and examples; with a trace also report_ tables")
        ->group("Display");
    app.add_option("--most", rows_, "maximum rows (default 100)")
        ->type_name("N")
        ->check(WholeNumber(1, 10'000'000))
        ->group("Display");
    app.add_option("--time-limit", seconds_, "end the query after this time (default 30)")
        ->type_name("SECONDS")
        ->check(WholeNumber(1, 86'400))
        ->group("Display");
    AddPagerOption(app);
    app.add_option("--format", format_, "table (default), csv or json")
        ->type_name("table|csv|json")
        ->check(OneOf({"table", "csv", "json"}))
        ->group("Output");
    AddRawCsvOption(app);
    AddMemoryLimitOption(app);
  }

  int Run() override {
    if (path_.empty() && !wants_schema_) Refuse("no trace given");
    if (sql_.empty() && !wants_schema_) Refuse("no query given");
    RecoverEarlierRuns();
    if (wants_schema_) return Schema();
    if (sql_ == "-") sql_.assign(std::istreambuf_iterator<char>(std::cin), {});
    std::vector<TraceSummary> none;
    const Input input = LoadInput({path_}, &none);
    const QueryLimits limits{.rows = rows_, .time = std::chrono::seconds(seconds_)};
    const QueryResult result = RunQuery(RequireRecords(input, "a query"), sql_, limits);
    const Terminal terminal = DetectTerminal(STDOUT_FILENO);
    WritePaged(format_ == "json"  ? RenderQueryJson(result)
               : format_ == "csv" ? RenderQueryCsv(result)
                                  : RenderQueryText(result, terminal));
    return CodeOf(ExitCode::kGood);
  }

 private:
  [[noreturn]] static void Refuse(const char* what) {
    throw Error(ExitCode::kUsage, what, "usage: gprof-cli query TRACE 'SELECT ...', or gprof-cli query --schema");
  }

  int Schema() const {
    std::vector<TraceSummary> none;
    std::vector<QueryTable> tables;
    if (path_.empty()) {
      tables = QueryTables(nullptr);
    } else {
      const Input input = LoadInput({path_}, &none);
      tables = QueryTables(&RequireRecords(input, "a query"));
    }
    if (!sql_.empty()) KeepOne(&tables);
    WritePaged(format_ == "json" ? RenderSchemaJson(tables) : RenderSchemaText(tables, DetectTerminal(STDOUT_FILENO)));
    return CodeOf(ExitCode::kGood);
  }

  void KeepOne(std::vector<QueryTable>* tables) const {
    std::vector<std::string> names;
    for (const QueryTable& table : *tables) names.push_back(table.name);
    std::erase_if(*tables, [this](const QueryTable& table) { return table.name != sql_; });
    if (tables->empty())
      throw Error(ExitCode::kUsage, "there is no table '" + sql_ + "'",
                  NearestHint(sql_, names, "gprof-cli query TRACE --schema lists the tables"));
  }

  std::string path_, sql_;
  std::string format_ = "table";
  uint64_t rows_ = QueryLimits{}.rows;
  uint64_t seconds_ = 30;
  bool wants_schema_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeQuery() { return std::make_unique<QueryCommand>(); }

}  // namespace gprof::cli

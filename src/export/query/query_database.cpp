#include "export/query/query_database.h"

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "analysis/registry/run_analyses.h"
#include "export/query/query_tables.h"
#include "gprof/error.h"

namespace gprof {
namespace {

// SQLite's own: the trace lies beside it. Rows that do not fit are on disk, in a file without a name.
constexpr sqlite3_int64 kMostMemoryBytes = 256 << 20;
constexpr const char* kOnlyReads = "a query can only read: SELECT, WITH, VALUES";
constexpr const char* kToChange = "gprof-cli export --format sqlite makes a database that can be changed";
constexpr int kMostTextBytes = 1 << 20, kMostPatternBytes = 200, kStepsBetweenLooks = 1000;

std::string QuotedName(std::string_view name) {
  std::string quoted = "\"";
  for (const char c : name) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

template <class Names>
std::string CreateTable(std::string_view table, const Names& columns) {
  std::string sql = "CREATE TABLE " + QuotedName(table) + " (";
  const char* separator = "";
  for (const auto& column : columns) sql += std::exchange(separator, ", ") + QuotedName(column);
  return sql + ")";
}

std::string InsertInto(std::string_view table, std::size_t columns) {
  std::string sql = "INSERT INTO " + QuotedName(table) + " VALUES (?";
  for (std::size_t i = 1; i < columns; ++i) sql += ",?";
  return sql + ")";
}

// Rows of a table; columns that nobody reads stay empty, as most of the time goes into their texts.
class QueryRows : public RowWriter {
 public:
  QueryRows(sqlite3* handle, std::string_view table, std::vector<bool> wanted) : wanted_(std::move(wanted)) {
    const std::string sql = InsertInto(table, wanted_.size());
    sqlite3_prepare_v2(handle, sql.c_str(), -1, &statement_, nullptr);
  }
  ~QueryRows() override { sqlite3_finalize(statement_); }
  QueryRows(const QueryRows&) = delete;
  QueryRows& operator=(const QueryRows&) = delete;

  void Integer(int64_t value) override {
    if (IsWanted()) sqlite3_bind_int64(statement_, place_, value);
  }
  // Addresses beyond the signed integers of SQLite come out negative, as in its export.
  void Unsigned(uint64_t value) override { Integer(static_cast<int64_t>(value)); }
  void Real(double value) override {
    if (IsWanted()) sqlite3_bind_double(statement_, place_, value);
  }
  void Truth(bool value) override { Integer(value ? 1 : 0); }
  void Text(std::string_view value) override {
    if (!IsWanted()) return;
    const char* text = value.data() == nullptr ? "" : value.data();
    sqlite3_bind_text(statement_, place_, text, static_cast<int>(value.size()), SQLITE_TRANSIENT);
  }
  void Nothing() override { ++place_; }
  void EndRow() override {
    is_full_ = is_full_ || sqlite3_step(statement_) != SQLITE_DONE;
    sqlite3_reset(statement_);
    sqlite3_clear_bindings(statement_);
    place_ = 0;
    ++rows_;
  }

  uint64_t rows() const { return rows_; }
  bool is_full() const { return is_full_; }

 private:
  bool IsWanted() { return wanted_[static_cast<std::size_t>(place_++)]; }

  sqlite3_stmt* statement_ = nullptr;
  std::vector<bool> wanted_;
  int place_ = 0;
  uint64_t rows_ = 0;
  bool is_full_ = false;
};

void AddCell(const Cell& cell, RowWriter& row) {
  if (const auto* text = std::get_if<std::string>(&cell)) return row.Text(*text);
  if (const auto* whole = std::get_if<int64_t>(&cell)) return row.Integer(*whole);
  if (const auto* real = std::get_if<double>(&cell)) return row.Real(*real);
  row.Nothing();
}

bool IsEndOf(const char* rest) { return std::strspn(rest, " \t\r\n;") == std::strlen(rest); }

}  // namespace

std::vector<Table> TablesOfReport(const Trace& trace) {
  std::vector<const Analysis*> analyses;
  for (const Analysis& analysis : AllAnalyses()) analyses.push_back(&analysis);
  AnalysisOptions options;
  options.max_rows = kMostReportRows;
  std::vector<Table> tables;
  for (AnalysisResult& result : RunAll(AnalysisInput(trace), analyses, options)) {
    for (Table& table : result.tables) tables.push_back(std::move(table));
  }
  return tables;
}

QueryDatabase::QueryDatabase() {
  sqlite3_hard_heap_limit64(kMostMemoryBytes);
  if (sqlite3_open_v2("", &handle_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr) !=
      SQLITE_OK) {
    Fail();
  }
  sqlite3_limit(handle_, SQLITE_LIMIT_LENGTH, kMostTextBytes);
  sqlite3_limit(handle_, SQLITE_LIMIT_ATTACHED, 0);
  sqlite3_limit(handle_, SQLITE_LIMIT_LIKE_PATTERN_LENGTH, kMostPatternBytes);  // a match is one step, however long
  Execute("PRAGMA journal_mode = OFF");
  Execute("PRAGMA synchronous = OFF");
  Execute("BEGIN");
  for (const RecordTable& table : AllRecordTables()) Execute(CreateTable(table.name, table.columns));
  for (const QueryView& view : QueryViews())
    Execute("CREATE VIEW " + std::string(view.name) + " AS " + std::string(view.sql));
}

QueryDatabase::~QueryDatabase() {
  sqlite3_finalize(statement_);
  sqlite3_close(handle_);
}

void QueryDatabase::Execute(const std::string& sql) {
  if (sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) Fail();
}

void QueryDatabase::Add(const Table& table) {
  const std::string name = "report_" + table.id;
  std::vector<std::string> columns;
  for (const Column& column : table.columns) columns.push_back(column.key);
  Execute(CreateTable(name, columns));
  QueryRows rows(handle_, name, std::vector<bool>(columns.size(), true));
  for (const std::vector<Cell>& row : table.rows) {
    for (std::size_t i = 0; i < columns.size(); ++i) i < row.size() ? AddCell(row[i], rows) : rows.Nothing();
    rows.EndRow();
  }
  if (rows.is_full()) Fail();
}

void QueryDatabase::Prepare(const std::string& sql) {
  sqlite3_finalize(std::exchange(statement_, nullptr));
  read_.clear();
  AllowReading();
  const char* rest = "";
  const int code = sqlite3_prepare_v2(handle_, sql.c_str(), static_cast<int>(sql.size() + 1), &statement_, &rest);
  AllowAll();
  if (code != SQLITE_OK) Fail();
  if (statement_ == nullptr) throw Error(ExitCode::kUsage, "the query is empty");
  // VACUUM and REINDEX ask nobody before they run.
  if (sqlite3_stmt_readonly(statement_) == 0 || sqlite3_column_count(statement_) == 0)
    throw Error(ExitCode::kUsage, kOnlyReads, kToChange);
  if (!IsEndOf(rest)) throw Error(ExitCode::kUsage, "more than one statement", "give one SELECT at a time");
}

std::vector<std::string> QueryDatabase::Columns() const {
  std::vector<std::string> names;
  for (int i = 0; i < sqlite3_column_count(statement_); ++i) {
    const char* const name = sqlite3_column_name(statement_, i);
    names.emplace_back(name == nullptr ? "" : name);
  }
  return names;
}

uint64_t QueryDatabase::Fill(const RecordTable& table, RecordContext& context) {
  const std::set<std::string>& read = read_[std::string(table.name)];
  std::vector<bool> wanted;
  for (const std::string_view column : table.columns) wanted.push_back(read.contains(std::string(column)));
  QueryRows rows(handle_, table.name, std::move(wanted));
  table.write(context, rows);
  if (rows.is_full()) Fail();
  return rows.rows();
}

void QueryDatabase::Start(std::chrono::milliseconds limit) {
  limit_ = limit;
  end_ = std::chrono::steady_clock::now() + limit;
  AllowReading();
  sqlite3_progress_handler(handle_, kStepsBetweenLooks, HasToStop, this);
}

bool QueryDatabase::Step() {
  const int code = sqlite3_step(statement_);
  if (code != SQLITE_ROW && code != SQLITE_DONE) Fail();
  return code == SQLITE_ROW;
}

Cell QueryDatabase::At(int column, std::size_t longest) const {
  switch (sqlite3_column_type(statement_, column)) {
    case SQLITE_INTEGER:
      return int64_t{sqlite3_column_int64(statement_, column)};
    case SQLITE_FLOAT:
      return sqlite3_column_double(statement_, column);
    case SQLITE_NULL:
      return {};
    default: {
      const auto* const bytes = static_cast<const char*>(sqlite3_column_blob(statement_, column));
      const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_, column));
      return bytes == nullptr ? std::string() : std::string(bytes, std::min(size, longest));
    }
  }
}

void QueryDatabase::AllowAll() { sqlite3_set_authorizer(handle_, nullptr, nullptr); }
void QueryDatabase::AllowReading() { sqlite3_set_authorizer(handle_, Authorize, this); }

int QueryDatabase::Authorize(void* self, int action, const char* first, const char* second, const char*, const char*) {
  auto* const database = static_cast<QueryDatabase*>(self);
  constexpr std::string_view kLoad = "load_extension";
  if (action == SQLITE_READ) database->read_[first].insert(second);
  const bool is_load = action == SQLITE_FUNCTION && second == kLoad;
  const bool only_reads =
      action == SQLITE_SELECT || action == SQLITE_READ || action == SQLITE_FUNCTION || action == SQLITE_RECURSIVE;
  if (only_reads && !is_load) return SQLITE_OK;
  database->refused_ = kOnlyReads;
  return SQLITE_DENY;
}

int QueryDatabase::HasToStop(void* self) {
  return std::chrono::steady_clock::now() >= static_cast<QueryDatabase*>(self)->end_ ? 1 : 0;
}

void QueryDatabase::Fail() const {
  const int code = handle_ == nullptr ? SQLITE_NOMEM : sqlite3_errcode(handle_);
  const std::string why = handle_ == nullptr ? "out of memory" : sqlite3_errmsg(handle_);
  if (!refused_.empty()) throw Error(ExitCode::kUsage, refused_, kToChange);
  switch (code & 0xFF) {
    case SQLITE_INTERRUPT:
      throw Error(ExitCode::kInconclusive, "the query took longer than " + std::to_string(limit_.count() / 1000) + " s",
                  "join on fewer rows, or give it longer with --time-limit");
    case SQLITE_NOMEM:
    case SQLITE_TOOBIG:
      throw Error(ExitCode::kInconclusive,
                  "the query needs more than " + std::to_string(kMostMemoryBytes >> 20) + " MiB",
                  "group or limit its rows; gprof-cli export --format parquet is for larger ones");
    case SQLITE_FULL:
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
      throw Error(ExitCode::kUnreadable, "cannot hold the rows of the query: " + why,
                  "free some space in the folder for temporary files, or name another with SQLITE_TMPDIR");
    default:
      throw Error(ExitCode::kUsage, "the query is not understood: " + why,
                  "gprof-cli query TRACE --schema lists tables and columns");
  }
}

}  // namespace gprof

#include "export/sqlite/sqlite_database.h"

#include <sqlite3.h>

#include <algorithm>
#include <stdexcept>

#include "gprof/error.h"

namespace gprof {

SqliteDatabase::SqliteDatabase(const std::string& path) : path_(path) {
  if (sqlite3_open_v2(path.c_str(), &handle_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                      nullptr) != SQLITE_OK) {
    const std::string why = handle_ == nullptr ? "out of memory" : sqlite3_errmsg(handle_);
    sqlite3_close(handle_);
    throw Error(ExitCode::kUnreadable, "cannot write " + path + " - " + why);
  }
  // Nobody reads the file before it is whole, and one that is not is thrown away: a journal would be written for
  // nothing.
  Execute("PRAGMA journal_mode = OFF");
  Execute("PRAGMA synchronous = OFF");
  Execute("PRAGMA locking_mode = EXCLUSIVE");
  Execute("BEGIN");
}

SqliteDatabase::~SqliteDatabase() { sqlite3_close(handle_); }

void SqliteDatabase::Execute(const std::string& sql) {
  if (sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) Fail();
}

void SqliteDatabase::Commit() { Execute("COMMIT"); }

void SqliteDatabase::Fail() const {
  const bool is_full = sqlite3_errcode(handle_) == SQLITE_FULL;
  throw Error(ExitCode::kUnreadable, "cannot write " + path_ + " - " + sqlite3_errmsg(handle_),
              is_full ? "free some space, or write to another disk" : "");
}

SqliteTable::SqliteTable(SqliteDatabase& database, std::string_view name, std::string_view columns)
    : database_(database),
      name_(name),
      columns_(columns),
      column_count_(static_cast<std::size_t>(std::count(columns.begin(), columns.end(), ',')) + 1) {}

SqliteTable::~SqliteTable() { sqlite3_finalize(statement_); }

void SqliteTable::Begin(std::size_t value_count) {
  if (statement_ != nullptr) return;
  if (value_count != column_count_) throw std::logic_error("wrong number of values for the table " + name_);
  database_.Execute("CREATE TABLE " + name_ + " (" + columns_ + ")");
  std::string sql = "INSERT INTO " + name_ + " VALUES (?";
  for (std::size_t i = 1; i < value_count; ++i) sql += ",?";
  sql += ")";
  if (sqlite3_prepare_v2(database_.handle(), sql.c_str(), -1, &statement_, nullptr) != SQLITE_OK) database_.Fail();
}

void SqliteTable::End() {
  if (sqlite3_step(statement_) != SQLITE_DONE) database_.Fail();
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
}

void SqliteTable::BindInteger(int place, int64_t value) {
  if (sqlite3_bind_int64(statement_, place, value) != SQLITE_OK) database_.Fail();
}

void SqliteTable::BindReal(int place, double value) {
  if (sqlite3_bind_double(statement_, place, value) != SQLITE_OK) database_.Fail();
}

void SqliteTable::BindText(int place, std::string_view value) {
  // The text lives until the row is added, so it need not be copied. An empty text may have no address: that is no
  // NULL.
  const char* text = value.data() == nullptr ? "" : value.data();
  if (sqlite3_bind_text(statement_, place, text, static_cast<int>(value.size()), SQLITE_STATIC) != SQLITE_OK) {
    database_.Fail();
  }
}

}  // namespace gprof

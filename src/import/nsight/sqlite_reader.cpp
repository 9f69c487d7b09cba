#include "import/nsight/sqlite_reader.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <utility>

#include "gprof/error.h"

namespace gprof {
namespace {

constexpr int kMaxTextBytes = 64 << 20;  // of a text; names are much shorter
constexpr int kCacheKib = 16 * 1024;
constexpr int64_t kMapBytes = int64_t{1} << 40;
constexpr uint64_t kLeastRowBytes = 4;  // a cell has a size, a row id and a header
constexpr std::size_t kMaxTables = 10'000;

constexpr std::string_view kExportAgain =
    "export it again: nsys export --type sqlite --force-overwrite true FILE.nsys-rep";

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower;
}

std::string Quoted(std::string_view name) {
  std::string quoted = "\"";
  for (const char c : name) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

// file:///a/b%20c?mode=ro: characters that mean something in a URI are escaped.
std::string UriOf(const std::string& path, const std::string& options) {
  std::string uri = "file:";
  for (const char c : std::filesystem::absolute(path).string()) {
    const auto u = static_cast<unsigned char>(c);
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '/' ||
                          c == '.' || c == '-' || c == '_';
    uri += is_plain ? std::string(1, c) : fmt::format("%{:02X}", u);
  }
  return uri + "?" + options;
}

bool HasBytes(const std::string& path) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  return !error && size > 0;
}

// Pages that the header promises and the file has not: SQLite itself notices only where it needs one of them.
bool IsCutShort(const std::string& path, uint64_t file_bytes) {
  std::array<char, 100> bytes{};
  std::ifstream file(path, std::ios::binary);
  if (!file.read(bytes.data(), bytes.size())) return true;
  const auto number = [&](std::size_t at, int size) {
    uint64_t value = 0;
    for (int i = 0; i < size; ++i)
      value = value << 8 | static_cast<unsigned char>(bytes[at + static_cast<std::size_t>(i)]);
    return value;
  };
  const uint64_t page_bytes = number(16, 2) == 1 ? 65536 : number(16, 2), pages = number(28, 4);
  const bool is_count_good = number(24, 4) == number(92, 4);
  return is_count_good && pages * page_bytes > file_bytes;
}

struct Finalizer {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Statement = std::unique_ptr<sqlite3_stmt, Finalizer>;

}  // namespace

SqliteReader::SqliteReader(const std::string& path) : path_(path) {
  std::error_code error;
  file_bytes_ = std::filesystem::file_size(path, error);
  if (error) {
    throw Error(ExitCode::kUnreadable, fmt::format("cannot read '{}': an SQLite database must be a regular file", path),
                "copy it to a file first");
  }
  if (!HasBytes(path + "-wal") && IsCutShort(path, file_bytes_)) {
    throw Error(ExitCode::kUnreadable, fmt::format("cannot read '{}': the database is truncated", path),
                std::string(kExportAgain));
  }
  try {
    Open();
    ReadSchema();
  } catch (...) {
    sqlite3_close_v2(db_);
    throw;
  }
}

SqliteReader::~SqliteReader() { sqlite3_close_v2(db_); }

bool SqliteReader::TryOpen(const std::string& options) {
  sqlite3_close_v2(std::exchange(db_, nullptr));
  constexpr int kFlags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE;
  if (sqlite3_open_v2(UriOf(path_, options).c_str(), &db_, kFlags, nullptr) != SQLITE_OK) return false;
  sqlite3_db_config(db_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(db_, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(db_, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(db_, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  sqlite3_limit(db_, SQLITE_LIMIT_LENGTH, kMaxTextBytes);
  sqlite3_exec(
      db_,
      fmt::format("PRAGMA cell_size_check=ON; PRAGMA cache_size=-{}; PRAGMA mmap_size={};", kCacheKib, kMapBytes)
          .c_str(),
      nullptr, nullptr, nullptr);
  // The schema is read here, and with it the first page: what is no database is known now.
  return sqlite3_exec(db_, "SELECT count(*) FROM sqlite_master", nullptr, nullptr, nullptr) == SQLITE_OK;
}

void SqliteReader::Open() {
  // Without a log or a journal beside it the file is all there is: no locks, and no files of SQLite's own.
  const bool is_at_rest = !HasBytes(path_ + "-wal") && !HasBytes(path_ + "-journal");
  if (TryOpen(is_at_rest ? "mode=ro&immutable=1" : "mode=ro")) return;
  const int code = sqlite3_errcode(db_);
  if (HasBytes(path_ + "-journal")) {
    throw Error(ExitCode::kUnreadable,
                fmt::format("cannot read '{}': its export was interrupted or is still running (there is a {}-journal)",
                            path_, std::filesystem::path(path_).filename().string()),
                std::string(kExportAgain));
  }
  if (code != SQLITE_CANTOPEN && code != SQLITE_READONLY && code != SQLITE_BUSY && code != SQLITE_LOCKED) Fail("");
  // A write-ahead log needs a file beside the database to be read, which a read-only folder does not allow.
  if (!TryOpen("mode=ro&immutable=1")) Fail("");
  if (HasBytes(path_ + "-wal")) {
    notice_ = "The last rows may be missing: they are in a write-ahead log that cannot be read here";
  }
}

void SqliteReader::ReadSchema() {
  sqlite3_stmt* raw = nullptr;
  constexpr std::string_view kTables =
      "SELECT m.name, c.name, c.pk FROM sqlite_master m, pragma_table_info(m.name) c "
      "WHERE m.type = 'table' AND m.rootpage > 0 ORDER BY m.name, c.cid";
  if (sqlite3_prepare_v2(db_, kTables.data(), static_cast<int>(kTables.size()), &raw, nullptr) != SQLITE_OK) Fail("");
  const Statement statement(raw);
  int code = 0;
  while ((code = sqlite3_step(raw)) == SQLITE_ROW) {
    const auto text = [&](int column) {
      const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(raw, column));
      return std::string(bytes == nullptr ? "" : bytes);
    };
    const std::string name = text(0);
    Table& table = tables_[Lower(name)];
    table.name = name;
    table.columns.push_back({Lower(text(1)), sqlite3_column_int(raw, 2) > 0});
    if (tables_.size() > kMaxTables) {
      throw Error(ExitCode::kUnreadable, fmt::format("cannot read '{}': more than {} tables", path_, kMaxTables));
    }
  }
  if (code != SQLITE_DONE) Fail("");
}

void SqliteReader::Fail(const std::string& where) const {
  const int code = db_ == nullptr ? SQLITE_NOMEM : sqlite3_errcode(db_);
  const char* said = db_ == nullptr ? "out of memory" : sqlite3_errmsg(db_);
  const bool is_damaged = code == SQLITE_CORRUPT || code == SQLITE_NOTADB;
  throw Error(ExitCode::kUnreadable,
              fmt::format("cannot read '{}'{}: {}", path_, where.empty() ? "" : ", table " + where,
                          is_damaged ? fmt::format("the database is damaged or truncated ({})", said) : said),
              is_damaged ? std::string(kExportAgain) : "");
}

const SqliteReader::Table* SqliteReader::FindTable(std::string_view table) const {
  const auto at = tables_.find(Lower(table));
  return at == tables_.end() ? nullptr : &at->second;
}

const SqliteReader::Column* SqliteReader::FindColumn(std::string_view table, std::string_view column) const {
  const Table* const found = FindTable(table);
  if (found == nullptr) return nullptr;
  const std::string name = Lower(column);
  const auto at =
      std::find_if(found->columns.begin(), found->columns.end(), [&](const Column& c) { return c.name == name; });
  return at == found->columns.end() ? nullptr : &*at;
}

bool SqliteReader::HasTable(std::string_view table) const { return FindTable(table) != nullptr; }

bool SqliteReader::HasColumn(std::string_view table, std::string_view column) const {
  return FindColumn(table, column) != nullptr;
}

bool SqliteReader::HasPrimaryKey(std::string_view table, std::string_view column) const {
  const Column* const found = FindColumn(table, column);
  return found != nullptr && found->is_primary_key;
}

uint64_t SqliteReader::RowsAtMost(std::string_view table) const {
  constexpr uint64_t kUsualRowBytes = 16;
  const Table* const found = FindTable(table);
  if (found == nullptr) return 0;
  sqlite3_stmt* raw = nullptr;
  const std::string sql = "SELECT max(rowid) FROM main." + Quoted(found->name);
  if (sqlite3_prepare_v2(db_, sql.c_str(), -1, &raw, nullptr) != SQLITE_OK) return 0;  // WITHOUT ROWID
  const Statement statement(raw);
  const int64_t rows = sqlite3_step(raw) == SQLITE_ROW ? sqlite3_column_int64(raw, 0) : 0;
  return std::min(static_cast<uint64_t>(std::max<int64_t>(rows, 0)), file_bytes_ / kUsualRowBytes);
}

std::vector<std::string> SqliteReader::UnreadTables() const {
  std::vector<std::string> names;
  for (const auto& [key, table] : tables_) {
    if (!table.was_read) names.push_back(table.name);
  }
  return names;
}

SqliteRows::SqliteRows(const SqliteReader& reader, std::string_view table, std::span<const std::string_view> columns,
                       std::string_view where)
    : reader_(reader), table_(table) {
  const auto* const found = reader.FindTable(table);
  std::string sql = "SELECT ";
  int count = 0;
  for (const std::string_view column : columns) {
    const bool has_column = reader.HasColumn(table, column);
    if (has_column) sql += (count > 0 ? ", " : "") + Quoted(column);
    at_.push_back(has_column ? count++ : kLacks);
  }
  if (count == 0) sql += "NULL";
  if (found == nullptr) return;
  found->was_read = true;
  sql += " FROM main." + Quoted(table);
  // NOT INDEXED keeps the order of storage, in which reading is fastest.
  sql += where.empty() ? " NOT INDEXED" : " WHERE " + Quoted(where) + " = ?1";
  if (sqlite3_prepare_v2(reader.db_, sql.c_str(), -1, &statement_, nullptr) != SQLITE_OK) reader.Fail(table_);
}

SqliteRows::~SqliteRows() { sqlite3_finalize(statement_); }

bool SqliteRows::Next() {
  is_bad_ = false;
  const int code = statement_ == nullptr ? SQLITE_DONE : sqlite3_step(statement_);
  if (code == SQLITE_DONE) return false;
  if (code != SQLITE_ROW) reader_.Fail(table_);
  // Pages of a damaged or hostile file may hold each other many times over.
  if (++rows_ > reader_.file_bytes() / kLeastRowBytes) {
    throw Error(
        ExitCode::kUnreadable,
        fmt::format("cannot read '{}', table {}: it claims more rows than fit in the file", reader_.path(), table_),
        std::string(kExportAgain));
  }
  return true;
}

void SqliteRows::Seek(int64_t key) {
  sqlite3_reset(statement_);
  sqlite3_bind_int64(statement_, 1, key);
  rows_ = 0;
}

bool SqliteRows::IsNull(std::size_t column) const {
  return !Has(column) || sqlite3_column_type(statement_, at_[column]) == SQLITE_NULL;
}

int64_t SqliteRows::Int(std::size_t column, int64_t otherwise) {
  if (!Has(column)) return otherwise;
  sqlite3_value* const value = sqlite3_column_value(statement_, at_[column]);
  const int type = sqlite3_value_type(value);
  if (type == SQLITE_INTEGER) return sqlite3_value_int64(value);
  is_bad_ = is_bad_ || type != SQLITE_NULL;
  return otherwise;
}

double SqliteRows::Real(std::size_t column) {
  if (!Has(column)) return 0;
  const int at = at_[column];
  const int type = sqlite3_column_type(statement_, at);
  is_bad_ = is_bad_ || type == SQLITE_TEXT || type == SQLITE_BLOB;
  return type == SQLITE_FLOAT || type == SQLITE_INTEGER ? sqlite3_column_double(statement_, at) : 0;
}

std::string_view SqliteRows::Text(std::size_t column) {
  if (!Has(column)) return {};
  const int at = at_[column];
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_, at));
  return bytes == nullptr ? std::string_view()
                          : std::string_view(bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_, at)));
}

}  // namespace gprof

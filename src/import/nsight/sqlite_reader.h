// An SQLite database that somebody else wrote, read table by table and row by row.
//
// Nothing in it is trusted: views and triggers are not run, sizes are bounded, values of another type than asked for
// mark their row as bad.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

struct sqlite3;
struct sqlite3_stmt;

namespace gprof {

class SqliteReader {
 public:
  // Throws Error (kUnreadable) where `path` is no database, or cannot be read as it is.
  explicit SqliteReader(const std::string& path);
  ~SqliteReader();
  SqliteReader(const SqliteReader&) = delete;
  SqliteReader& operator=(const SqliteReader&) = delete;

  // Names of tables and columns are compared without regard to case, as SQL does.
  bool HasTable(std::string_view table) const;
  bool HasColumn(std::string_view table, std::string_view column) const;
  bool HasPrimaryKey(std::string_view table, std::string_view column) const;

  // For reserving memory: as many as the last row's number says, where the file has room for that many. 0: not known.
  uint64_t RowsAtMost(std::string_view table) const;

  // Tables that SqliteRows was not asked for, by name.
  std::vector<std::string> UnreadTables() const;

  uint64_t file_bytes() const { return file_bytes_; }
  const std::string& path() const { return path_; }
  // Not empty: what the file could not give.
  const std::string& notice() const { return notice_; }

 private:
  friend class SqliteRows;
  struct Column {
    std::string name;
    bool is_primary_key = false;
  };
  struct Table {
    std::string name;
    std::vector<Column> columns;
    mutable bool was_read = false;
  };
  void Open();
  bool TryOpen(const std::string& options);
  void ReadSchema();
  const Table* FindTable(std::string_view table) const;
  const Column* FindColumn(std::string_view table, std::string_view column) const;
  [[noreturn]] void Fail(const std::string& where) const;

  std::string path_, notice_;
  uint64_t file_bytes_ = 0;
  sqlite3* db_ = nullptr;
  std::map<std::string, Table> tables_;  // by name in lower case
};

// The names of columns, each of which stands for its place: the compiler looks for it.
template <std::size_t kCount>
class Columns {
 public:
  template <class... Name>
  constexpr explicit Columns(Name... names) : names_{names...} {}
  // These, and more behind them.
  template <class... Name>
  constexpr auto With(Name... more) const {
    return std::apply([&](auto... names) { return Columns<kCount + sizeof...(Name)>(names..., more...); }, names_);
  }
  consteval std::size_t operator[](std::string_view name) const {
    std::size_t at = 0;
    while (names_[at] != name) ++at;  // one that is not there is an error of the compiler
    return at;
  }
  static constexpr std::size_t size() { return kCount; }
  constexpr operator std::span<const std::string_view>() const { return names_; }

 private:
  std::array<std::string_view, kCount> names_;
};
template <class... Name>
explicit Columns(Name...) -> Columns<sizeof...(Name)>;

// The rows of a table, in the order in which they are stored.
class SqliteRows {
 public:
  // Columns that the table lacks are NULL in every row; a table that the file lacks has no rows.
  // `where`: the name of an integer column that has to be `key` (see Seek), empty for all rows.
  SqliteRows(const SqliteReader& reader, std::string_view table, std::span<const std::string_view> columns,
             std::string_view where = {});
  ~SqliteRows();
  SqliteRows(const SqliteRows&) = delete;
  SqliteRows& operator=(const SqliteRows&) = delete;

  // Throws Error where the database is damaged.
  bool Next();
  // Starts anew with the rows of this key.
  void Seek(int64_t key);

  bool Has(std::size_t column) const { return at_[column] != kLacks; }  // the table has the column
  bool IsNull(std::size_t column) const;
  // `otherwise` for NULL. A value of another type marks the row as bad.
  int64_t Int(std::size_t column, int64_t otherwise = 0);
  double Real(std::size_t column);
  // Good until the next call of Next. Empty for NULL.
  std::string_view Text(std::size_t column);

  // 0 for what does not fit, `otherwise` for NULL.
  uint32_t Int32(std::size_t column, uint32_t otherwise = 0) {
    const int64_t value = Int(column, otherwise);
    return value < 0 || value > 0xFFFFFFFFll ? 0 : static_cast<uint32_t>(value);
  }
  uint64_t Unsigned(std::size_t column) { return static_cast<uint64_t>(Int(column)); }

  bool IsBad() const { return is_bad_; }

 private:
  const SqliteReader& reader_;
  std::string table_;
  static constexpr int kLacks = -1;
  std::vector<int> at_;  // where the result has a column
  sqlite3_stmt* statement_ = nullptr;
  uint64_t rows_ = 0;
  bool is_bad_ = false;
};

}  // namespace gprof

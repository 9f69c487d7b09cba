// A database that is written once, from beginning to end, in one transaction.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

struct sqlite3;
struct sqlite3_stmt;

namespace gprof {

class SqliteDatabase {
 public:
  // Makes the file, which must not be there. Throws Error, here and everywhere.
  explicit SqliteDatabase(const std::string& path);
  ~SqliteDatabase();
  SqliteDatabase(const SqliteDatabase&) = delete;
  SqliteDatabase& operator=(const SqliteDatabase&) = delete;

  void Execute(const std::string& sql);
  // Ends the transaction: nothing is in the file before.
  void Commit();
  [[noreturn]] void Fail() const;
  sqlite3* handle() const { return handle_; }

 private:
  std::string path_;
  sqlite3* handle_ = nullptr;
};

// Adds rows to a table, which is made with the first of them: readers ask whether a table is there.
class SqliteTable {
 public:
  // `columns`: as in CREATE TABLE, separated by commas.
  SqliteTable(SqliteDatabase& database, std::string_view name, std::string_view columns);
  ~SqliteTable();
  SqliteTable(const SqliteTable&) = delete;
  SqliteTable& operator=(const SqliteTable&) = delete;

  // One value for each column: integers, double, text, std::nullopt for NULL, std::optional of those.
  template <class... Values>
  void Add(const Values&... values) {
    Begin(sizeof...(Values));
    int place = 0;
    (Bind(++place, values), ...);
    End();
  }

 private:
  void Begin(std::size_t value_count);
  void End();
  void BindInteger(int place, int64_t value);
  void BindReal(int place, double value);
  void BindText(int place, std::string_view value);

  template <class V>
  void Bind(int place, const V& value) {
    if constexpr (std::is_same_v<V, std::nullopt_t>) {
      // A statement that was reset and cleared binds NULL.
    } else if constexpr (std::is_floating_point_v<V>) {
      BindReal(place, value);
    } else if constexpr (std::is_enum_v<V>) {
      BindInteger(place, static_cast<int64_t>(value));
    } else if constexpr (std::is_integral_v<V>) {
      // SQLite has signed integers of 64 bits: addresses and handles beyond them come out negative, as in Nsight
      // Systems.
      BindInteger(place, static_cast<int64_t>(value));
    } else if constexpr (std::is_convertible_v<V, std::string_view>) {
      BindText(place, value);
    } else if (value.has_value()) {
      Bind(place, *value);
    }
  }

  SqliteDatabase& database_;
  std::string name_, columns_;
  std::size_t column_count_ = 0;
  sqlite3_stmt* statement_ = nullptr;
};

}  // namespace gprof

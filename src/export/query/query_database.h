// The database behind a query: private to it, on disk where it is large, and closed to everything but reading.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "export/tables/record_tables.h"
#include "gprof/analysis.h"

struct sqlite3;
struct sqlite3_stmt;

namespace gprof {

// All tables that the analyses make of the trace, each with at most so many rows.
inline constexpr uint32_t kMostReportRows = 100'000;
std::vector<Table> TablesOfReport(const Trace& trace);

class QueryDatabase {
 public:
  // Has the record tables, without rows, and the views. Throws Error, here and everywhere.
  QueryDatabase();
  ~QueryDatabase();
  QueryDatabase(const QueryDatabase&) = delete;
  QueryDatabase& operator=(const QueryDatabase&) = delete;

  // A table of the report with its rows.
  void Add(const Table& table);

  // One statement that only reads. What it reads is known then.
  void Prepare(const std::string& sql);
  std::vector<std::string> Columns() const;
  const std::map<std::string, std::set<std::string>>& TablesRead() const { return read_; }

  // The rows of a record table that was read, and of these only the columns that were. How many there are comes back.
  uint64_t Fill(const RecordTable& table, RecordContext& context);

  // From here on the statement runs, for at most that long.
  void Start(std::chrono::milliseconds limit);
  // False at the end.
  bool Step();
  // Texts and blobs are cut to `longest` bytes.
  Cell At(int column, std::size_t longest) const;

 private:
  void Execute(const std::string& sql);
  [[noreturn]] void Fail() const;
  void AllowAll();
  void AllowReading();
  static int Authorize(void* self, int action, const char* first, const char* second, const char*, const char*);
  static int HasToStop(void* self);

  sqlite3* handle_ = nullptr;
  sqlite3_stmt* statement_ = nullptr;
  std::map<std::string, std::set<std::string>> read_;
  std::string refused_;  // what the statement wanted to do besides reading
  std::chrono::steady_clock::time_point end_{};
  std::chrono::milliseconds limit_{};
};

}  // namespace gprof

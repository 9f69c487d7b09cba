// Databases for tests, made of SQL.
#pragma once

#include <string>
#include <string_view>

namespace gprof {

// A file in a folder that goes with it.
class TestDatabase {
 public:
  explicit TestDatabase(std::string_view sql, std::string_view name = "capture.sqlite");
  ~TestDatabase();
  TestDatabase(const TestDatabase&) = delete;
  TestDatabase& operator=(const TestDatabase&) = delete;

  const std::string& path() const { return path_; }
  const std::string& folder() const { return folder_; }
  std::string Bytes() const;
  void SetBytes(std::string_view bytes) const;
  void Run(std::string_view sql) const;

 private:
  std::string folder_, path_;
};

// The tables of Nsight Systems 2024 and later, with nothing in them.
std::string_view NewSchema();
// Those of 2021: fewer columns, other names of tables.
std::string_view OldSchema();
// One process on one GPU: two kernels, a copy, a memset, calls, synchronisation, NVTX. Fits both schemas.
std::string_view SmallCapture();

}  // namespace gprof

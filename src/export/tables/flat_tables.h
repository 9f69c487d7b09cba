// Tables of others in the formats of record tables: a folder with a file for each.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "export/tables/record_tables.h"

namespace gprof {

struct FlatTable {
  std::string name;  // of the file
  std::vector<std::string_view> columns;
  std::function<void(RowWriter&)> write;
};

// False: `format` is none of csv, jsonl and parquet.
bool WriteFlatTables(std::string_view format, const std::vector<FlatTable>& tables, const std::string& folder);

}  // namespace gprof

#include "export/tables/flat_tables.h"

#include "export/exporters.h"

namespace gprof {

bool WriteFlatTables(std::string_view format, const std::vector<FlatTable>& tables, const std::string& folder) {
  void (*const write)(const FlatTable&, const std::string&) = format == "csv"       ? WriteCsvFile
                                                              : format == "jsonl"   ? WriteJsonlFile
                                                              : format == "parquet" ? WriteParquetFile
                                                                                    : nullptr;
  if (write == nullptr) return false;
  for (const FlatTable& table : tables) write(table, folder);
  return true;
}

}  // namespace gprof

// One Parquet file for each kind of record, with the columns of csv: a folder that DuckDB, Polars and Spark read.
#include <algorithm>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "export/exporters.h"
#include "export/output/output_file.h"
#include "export/parquet/parquet_file.h"
#include "export/tables/flat_tables.h"
#include "export/tables/record_tables.h"

namespace gprof {
namespace {

// Columns of text, also where a trace has nothing in them: files of several traces can then be read as one table. What
// is not here gets its type from its first value, and is a whole number without any.
constexpr std::string_view kTexts[] = {"name",          "command_line",
                                       "host",          "end",
                                       "capture_mode",  "tracer_version",
                                       "uuid",          "reason",
                                       "level",         "message",
                                       "short_name",    "mangled_name",
                                       "function",      "nvtx_path",
                                       "direction",     "source_memory",
                                       "memory",        "destination_memory",
                                       "domain",        "stack",
                                       "managed_kind",  "overhead_kind",
                                       "sync_kind",     "node_type",
                                       "entry_kind",    "operation",
                                       "path",          "style",
                                       "category_name", "schema",
                                       "key",           "text",
                                       "unit",          "metric",
                                       "sample_kind",   "object_kind",
                                       "build_id",      "module_kind",
                                       "origin",        "device_uuid",
                                       "metric_kind",   "scope",
                                       "source",        "chip",
                                       "library",       "metric_set",
                                       "replay",        "nvtx",
                                       "kernel",        "file",
                                       "payload",       "trace",
                                       "program",       "gpu",
                                       "gpu_uuid",      "cause",
                                       "place",         "communicator_name",
                                       "kind"};
// Of 64 bits without a sign.
constexpr std::string_view kUnsigned[] = {"address", "event",    "pool",   "graph_node",
                                          "node",    "original", "object", "cubin"};

template <class List>
bool IsIn(const List& list, std::string_view name) {
  return std::find(std::begin(list), std::end(list), name) != std::end(list);
}

ParquetType TypeOf(std::string_view table, std::string_view column) {
  if (column.starts_with("is_")) return ParquetType::kTruth;
  if (IsIn(kTexts, column) || (column == "event" && table == "nvtx_payload")) return ParquetType::kText;
  if (column == "value" && table != "managed_memory") return ParquetType::kReal;
  return IsIn(kUnsigned, column) ? ParquetType::kUnsigned : ParquetType::kInteger;
}

std::vector<ParquetColumn> ColumnsOf(std::string_view table, std::span<const std::string_view> names) {
  std::vector<ParquetColumn> columns;
  for (const std::string_view name : names) columns.emplace_back(std::string(name), TypeOf(table, name));
  return columns;
}

}  // namespace

void WriteParquetFolder(const Trace& trace, const ExportOptions& options, const std::string& folder) {
  RecordContext context(trace, options);
  for (const RecordTable& table : AllRecordTables()) {
    WriteFileInFolder(folder, std::string(table.name) + ".parquet", [&](OutputStream& out) {
      ParquetFile file(ColumnsOf(table.name, table.columns), out);
      table.write(context, file);
      file.Finish();
    });
  }
}

void WriteParquetFile(const FlatTable& table, const std::string& folder) {
  WriteFileInFolder(folder, table.name + ".parquet", [&](OutputStream& out) {
    ParquetFile file(ColumnsOf(table.name, table.columns), out);
    table.write(file);
    file.Finish();
  });
}

}  // namespace gprof

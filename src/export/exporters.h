// What writes each format; the table of them is in export.cpp.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "export/export.h"

namespace gprof {

void WritePerfetto(const Trace& trace, const ExportOptions& options, OutputStream& out);
void WriteChrome(const Trace& trace, const ExportOptions& options, OutputStream& out);
void WriteSqlite(const Trace& trace, const ExportOptions& options, const std::string& path);
void WriteCsv(const Trace& trace, const ExportOptions& options, OutputStream& out);
void WriteCsvFolder(const Trace& trace, const ExportOptions& options, const std::string& folder);
void WriteJsonl(const Trace& trace, const ExportOptions& options, OutputStream& out);
void WriteJsonlFolder(const Trace& trace, const ExportOptions& options, const std::string& folder);
void WriteParquetFolder(const Trace& trace, const ExportOptions& options, const std::string& folder);
void WriteNcu(const Trace& trace, const ExportOptions& options, OutputStream& out);
void WriteFolded(const Trace& trace, const ExportOptions& options, OutputStream& out);
void WriteSpeedscope(const Trace& trace, const ExportOptions& options, OutputStream& out);
void WriteOtlp(const Trace& trace, const ExportOptions& options, OutputStream& out);
void WritePprof(const Trace& trace, const ExportOptions& options, OutputStream& out);

// Throw Error where a profile would be empty: a viewer would show it as if the program had done nothing.
void RefuseWithoutSamples(const Trace& trace);
void RefuseWithoutStacks(const Trace& trace);

struct FlatTable;  // tables/flat_tables.h
void WriteCsvFile(const FlatTable& table, const std::string& folder);
void WriteJsonlFile(const FlatTable& table, const std::string& folder);
void WriteParquetFile(const FlatTable& table, const std::string& folder);

// The kinds of record that csv and jsonl have, and a line about each.
struct RecordTableInfo {
  std::string_view name, meaning;
};
std::vector<RecordTableInfo> RecordTables();

}  // namespace gprof

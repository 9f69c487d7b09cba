// A JSON object in each line. Every line of a table has the same keys in the same order; null is "not known" or "none".
#include <fmt/format.h>

#include <iterator>

#include "export/exporters.h"
#include "export/output/json_text.h"
#include "export/output/output_file.h"
#include "export/tables/flat_tables.h"
#include "export/tables/record_tables.h"

namespace gprof {
namespace {

class JsonlWriter : public RowWriter {
 public:
  JsonlWriter(std::span<const std::string_view> columns, OutputStream& out) : columns_(columns), out_(out) {}

  void Integer(int64_t value) override { fmt::format_to(std::back_inserter(Key()), "{}", value); }
  void Unsigned(uint64_t value) override { fmt::format_to(std::back_inserter(Key()), "{}", value); }
  void Real(double value) override { AppendJsonNumber(value, &Key()); }
  void Truth(bool value) override { Key() += value ? "true" : "false"; }
  void Text(std::string_view value) override { AppendJsonString(value, &Key()); }
  void Nothing() override { Key() += "null"; }

  void EndRow() override {
    line_ += "}\n";
    out_.Write(line_);
    line_.clear();
    column_ = 0;
  }

 private:
  std::string& Key() {
    line_ += column_ == 0 ? "{\"" : ",\"";
    line_ += columns_[column_++];
    return line_ += "\":";
  }

  std::span<const std::string_view> columns_;
  OutputStream& out_;
  std::string line_;
  std::size_t column_ = 0;
};

void WriteJsonlTable(const RecordTable& table, RecordContext& context, OutputStream& out) {
  JsonlWriter writer(table.columns, out);
  table.write(context, writer);
}

}  // namespace

void WriteJsonl(const Trace& trace, const ExportOptions& options, OutputStream& out) {
  const std::span<const RecordTable> tables = TablesOfKind(options.kind);
  RecordContext context(trace, options);
  WriteJsonlTable(tables.front(), context, out);
}

void WriteJsonlFolder(const Trace& trace, const ExportOptions& options, const std::string& folder) {
  RecordContext context(trace, options);
  for (const RecordTable& table : AllRecordTables()) {
    WriteFileInFolder(folder, std::string(table.name) + ".jsonl",
                      [&](OutputStream& out) { WriteJsonlTable(table, context, out); });
  }
}

void WriteJsonlFile(const FlatTable& table, const std::string& folder) {
  WriteFileInFolder(folder, table.name + ".jsonl", [&](OutputStream& out) {
    JsonlWriter writer(table.columns, out);
    table.write(writer);
  });
}

}  // namespace gprof

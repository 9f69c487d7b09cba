// RFC 4180, with lines that end as they do on Unix. Integers are whole, an empty field is "not known" or "none".
#include <fmt/format.h>

#include <cmath>
#include <iterator>

#include "base/csv_text.h"
#include "export/exporters.h"
#include "export/output/output_file.h"
#include "export/tables/flat_tables.h"
#include "export/tables/record_tables.h"

namespace gprof {
namespace {

class CsvWriter : public RowWriter {
 public:
  explicit CsvWriter(OutputStream& out) : out_(out) {}

  void Header(std::span<const std::string_view> columns) {
    for (const std::string_view column : columns) Text(column);
    EndRow();
  }

  void Integer(int64_t value) override { Field("{}", value); }
  void Unsigned(uint64_t value) override { Field("{}", value); }
  void Real(double value) override {
    if (!std::isfinite(value)) return Nothing();
    Field("{}", value);
  }
  void Truth(bool value) override { Field("{}", value ? 1 : 0); }
  void Nothing() override { Separate(); }

  void Text(std::string_view value) override {
    Separate();
    AppendCsvText(value, ',', CsvQuotes::kWhereNeeded, &line_);
  }

  void EndRow() override {
    line_ += '\n';
    out_.Write(line_);
    line_.clear();
    is_first_ = true;
  }

 private:
  void Separate() {
    if (!is_first_) line_ += ',';
    is_first_ = false;
  }
  template <class V>
  void Field(fmt::format_string<const V&> format, const V& value) {
    Separate();
    fmt::format_to(std::back_inserter(line_), format, value);
  }

  OutputStream& out_;
  std::string line_;
  bool is_first_ = true;
};

void WriteCsvTable(const RecordTable& table, RecordContext& context, OutputStream& out) {
  CsvWriter writer(out);
  writer.Header(table.columns);
  table.write(context, writer);
}

}  // namespace

void WriteCsv(const Trace& trace, const ExportOptions& options, OutputStream& out) {
  const std::span<const RecordTable> tables = TablesOfKind(options.kind);
  RecordContext context(trace, options);
  WriteCsvTable(tables.front(), context, out);
}

void WriteCsvFolder(const Trace& trace, const ExportOptions& options, const std::string& folder) {
  RecordContext context(trace, options);
  for (const RecordTable& table : AllRecordTables()) {
    WriteFileInFolder(folder, std::string(table.name) + ".csv",
                      [&](OutputStream& out) { WriteCsvTable(table, context, out); });
  }
}

void WriteCsvFile(const FlatTable& table, const std::string& folder) {
  WriteFileInFolder(folder, table.name + ".csv", [&](OutputStream& out) {
    CsvWriter writer(out);
    writer.Header(table.columns);
    table.write(writer);
  });
}

}  // namespace gprof

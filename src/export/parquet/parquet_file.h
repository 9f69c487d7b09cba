// A Parquet file with a flat table: https://parquet.apache.org/docs/file-format. Every value may be absent; text is
// dictionary-encoded; pages are compressed with zstd.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "export/output/output_stream.h"
#include "export/parquet/parquet_column.h"
#include "export/tables/record_tables.h"

namespace gprof {

class ThriftWriter;

class ParquetFile : public RowWriter {
 public:
  ParquetFile(std::vector<ParquetColumn> columns, OutputStream& out);

  void Integer(int64_t value) override { Next().AddInteger(value); }
  void Unsigned(uint64_t value) override { Next().AddUnsigned(value); }
  void Real(double value) override { Next().AddReal(value); }
  void Truth(bool value) override { Next().AddTruth(value); }
  void Text(std::string_view value) override { Next().AddText(value); }
  void Nothing() override { Next().AddNothing(); }
  void EndRow() override;

  // Nothing may be added afterwards.
  void Finish();

 private:
  // Where a column of a row group is.
  struct Chunk {
    int64_t dictionary_at = 0, data_at = 0, size = 0, uncompressed_size = 0;
  };
  struct Group {
    int64_t rows = 0;
    std::vector<Chunk> chunks;
  };

  ParquetColumn& Next() { return columns_[at_++]; }
  void Write(std::string_view bytes);
  int64_t WritePage(const ParquetPage& page, Chunk* chunk);
  void WriteGroup();
  void AddChunk(const Group& group, size_t column, ThriftWriter* footer) const;
  std::string Footer() const;

  std::vector<ParquetColumn> columns_;
  OutputStream& out_;
  std::vector<Group> groups_;
  size_t at_ = 0;
  int64_t written_ = 0;
};

}  // namespace gprof

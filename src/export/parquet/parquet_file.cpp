#include "export/parquet/parquet_file.h"

#include <utility>

#include "export/parquet/parquet_numbers.h"
#include "export/parquet/thrift_writer.h"
#include "gprof/version.h"

namespace gprof {
namespace {

constexpr std::string_view kMagic = "PAR1";
constexpr size_t kRowsOfAGroup = 1 << 17;  // 1 MiB a column of numbers

void AddSchema(const std::vector<ParquetColumn>& columns, ThriftWriter* footer) {
  footer->StructList(2, columns.size() + 1);
  footer->BeginElement();
  footer->Text(4, "schema");
  footer->Integer32(5, static_cast<int32_t>(columns.size()));
  footer->End();
  for (const ParquetColumn& column : columns) {
    footer->BeginElement();
    footer->Integer32(1, PhysicalTypeOf(column.type()));
    footer->Integer32(3, parquet::kOptional);
    footer->Text(4, column.name());
    if (column.type() == ParquetType::kText) footer->Integer32(6, parquet::kUtf8);
    if (column.type() == ParquetType::kUnsigned) footer->Integer32(6, parquet::kUint64);
    footer->End();
  }
}

}  // namespace

ParquetFile::ParquetFile(std::vector<ParquetColumn> columns, OutputStream& out)
    : columns_(std::move(columns)), out_(out) {
  Write(kMagic);
}

void ParquetFile::Write(std::string_view bytes) {
  out_.Write(bytes);
  written_ += static_cast<int64_t>(bytes.size());
}

void ParquetFile::EndRow() {
  at_ = 0;
  if (columns_.front().rows() == kRowsOfAGroup) WriteGroup();
}

// Returns where it begins.
int64_t ParquetFile::WritePage(const ParquetPage& page, Chunk* chunk) {
  const int64_t at = written_;
  chunk->size += static_cast<int64_t>(page.bytes.size());
  chunk->uncompressed_size += page.uncompressed_size;
  Write(page.bytes);
  return at;
}

void ParquetFile::WriteGroup() {
  Group group;
  group.rows = static_cast<int64_t>(columns_.front().rows());
  for (ParquetColumn& column : columns_) {
    Chunk chunk;
    if (column.has_dictionary()) chunk.dictionary_at = WritePage(column.DictionaryPage(), &chunk);
    chunk.data_at = WritePage(column.DataPage(), &chunk);
    group.chunks.push_back(chunk);
    column.Clear();
  }
  groups_.push_back(std::move(group));
}

void ParquetFile::AddChunk(const Group& group, size_t column, ThriftWriter* footer) const {
  const Chunk& chunk = group.chunks[column];
  const bool has_dictionary = columns_[column].has_dictionary();
  footer->BeginElement();
  footer->Integer64(2, has_dictionary ? chunk.dictionary_at : chunk.data_at);
  footer->Begin(3);
  footer->Integer32(1, PhysicalTypeOf(columns_[column].type()));
  footer->IntegerList(2, 2);
  footer->IntegerElement(has_dictionary ? parquet::kRleDictionary : parquet::kPlain);
  footer->IntegerElement(parquet::kRle);
  footer->TextList(3, 1);
  footer->TextElement(columns_[column].name());
  footer->Integer32(4, parquet::kZstd);
  footer->Integer64(5, group.rows);
  footer->Integer64(6, chunk.uncompressed_size);
  footer->Integer64(7, chunk.size);
  footer->Integer64(9, chunk.data_at);
  if (has_dictionary) footer->Integer64(11, chunk.dictionary_at);
  footer->End();
  footer->End();
}

std::string ParquetFile::Footer() const {
  ThriftWriter footer;
  footer.Integer32(1, parquet::kVersion);
  AddSchema(columns_, &footer);
  int64_t rows = 0;
  for (const Group& group : groups_) rows += group.rows;
  footer.Integer64(3, rows);
  footer.StructList(4, groups_.size());
  for (const Group& group : groups_) {
    footer.BeginElement();
    footer.StructList(1, group.chunks.size());
    int64_t size = 0;
    for (size_t i = 0; i < group.chunks.size(); ++i) {
      size += group.chunks[i].uncompressed_size;
      AddChunk(group, i, &footer);
    }
    footer.Integer64(2, size);
    footer.Integer64(3, group.rows);
    footer.End();
  }
  footer.Text(6, std::string("gprof-cli version ") + gprof::kVersion);
  return footer.Finish();
}

void ParquetFile::Finish() {
  if (columns_.front().rows() > 0) WriteGroup();
  const std::string footer = Footer();
  Write(footer);
  std::string size;
  for (int i = 0; i < 4; ++i) size.push_back(static_cast<char>(footer.size() >> (8 * i) & 0xFF));
  Write(size);
  Write(kMagic);
}

}  // namespace gprof

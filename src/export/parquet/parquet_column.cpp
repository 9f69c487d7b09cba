#include "export/parquet/parquet_column.h"

#include <fmt/format.h>
#include <zstd.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "export/parquet/parquet_numbers.h"
#include "export/parquet/thrift_writer.h"
#include "gprof/error.h"

namespace gprof {
namespace {

constexpr int kZstdLevel = 3;

void AppendVarint(uint64_t value, std::string* out) {
  for (; value >= 0x80; value >>= 7) out->push_back(static_cast<char>(value | 0x80));
  out->push_back(static_cast<char>(value));
}

void AppendLittleEndian(uint64_t value, int bytes, std::string* out) {
  for (int i = 0; i < bytes; ++i) out->push_back(static_cast<char>(value >> (8 * i) & 0xFF));
}

// Values of `width` bits, the first in the lowest ones, in groups of eight.
template <class F>
void AppendPacked(size_t count, int width, F value_of, std::string* out) {
  const size_t groups = (count + 7) / 8;
  AppendVarint(groups << 1 | 1, out);
  uint64_t bits = 0;
  int filled = 0;
  for (size_t i = 0; i < groups * 8; ++i) {
    bits |= (i < count ? static_cast<uint64_t>(value_of(i)) : 0) << filled;
    for (filled += width; filled >= 8; filled -= 8, bits >>= 8) out->push_back(static_cast<char>(bits & 0xFF));
  }
}

std::string Compressed(const std::string& bytes) {
  std::string out(ZSTD_compressBound(bytes.size()), '\0');
  const size_t size = ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), kZstdLevel);
  if (ZSTD_isError(size) != 0) throw Error(ExitCode::kBug, "zstd does not compress");
  out.resize(size);
  return out;
}

template <class F>
ParquetPage PageOf(int32_t type, const std::string& contents, F add_header) {
  const std::string packed = Compressed(contents);
  ThriftWriter header;
  header.Integer32(1, type);
  header.Integer32(2, static_cast<int32_t>(contents.size()));
  header.Integer32(3, static_cast<int32_t>(packed.size()));
  add_header(&header);
  std::string head = header.Finish();
  const auto size = static_cast<int64_t>(head.size() + contents.size());
  return {std::move(head) + packed, size};
}

}  // namespace

int32_t PhysicalTypeOf(ParquetType type) {
  switch (type) {
    case ParquetType::kInteger:
    case ParquetType::kUnsigned:
      return parquet::kInt64;
    case ParquetType::kReal:
      return parquet::kDouble;
    case ParquetType::kTruth:
      return parquet::kBoolean;
    case ParquetType::kText:
      break;
  }
  return parquet::kByteArray;
}

void ParquetColumn::AddWord(uint64_t bits) {
  is_there_.push_back(true);
  words_.push_back(bits);
}

void ParquetColumn::AddInteger(int64_t value) {
  if (type_ == ParquetType::kText) return AddText(std::to_string(value));
  if (type_ == ParquetType::kReal) return AddReal(static_cast<double>(value));
  AddWord(static_cast<uint64_t>(value));
}

void ParquetColumn::AddUnsigned(uint64_t value) {
  if (type_ == ParquetType::kText) return AddText(std::to_string(value));
  if (type_ == ParquetType::kReal) return AddReal(static_cast<double>(value));
  // Bytes and counts that no machine has: a damaged trace may say so.
  if (type_ == ParquetType::kInteger && value > INT64_MAX) return AddNothing();
  AddWord(value);
}

void ParquetColumn::AddReal(double value) {
  Become(ParquetType::kReal);
  if (type_ != ParquetType::kReal) return AddText(fmt::format("{}", value));
  AddWord(std::bit_cast<uint64_t>(value));
}

void ParquetColumn::AddTruth(bool value) {
  Become(ParquetType::kTruth);
  if (type_ != ParquetType::kTruth) return AddText(value ? "true" : "false");
  AddWord(value ? 1 : 0);
}

void ParquetColumn::AddText(std::string_view value) {
  Become(ParquetType::kText);
  const auto [at, is_new] = number_of_text_.try_emplace(std::string(value), static_cast<uint32_t>(texts_.size()));
  if (is_new) texts_.emplace_back(value);
  AddWord(at->second);
}

// The first value says of what type a column is, where nobody said text; what differs from it makes it text.
void ParquetColumn::Become(ParquetType type) {
  if (type_ == type || type_ == ParquetType::kText) return;
  if (words_.empty() && !has_written_) {
    type_ = type;
    return;
  }
  if (has_written_) throw Error(ExitCode::kBug, "the column '" + name_ + "' has values of several types");
  const std::vector<uint64_t> words = std::exchange(words_, {});
  const ParquetType from = std::exchange(type_, ParquetType::kText);
  for (const uint64_t word : words) {
    const std::string text = from == ParquetType::kReal      ? fmt::format("{}", std::bit_cast<double>(word))
                             : from == ParquetType::kInteger ? std::to_string(static_cast<int64_t>(word))
                                                             : std::to_string(word);
    const auto [at, is_new] = number_of_text_.try_emplace(text, static_cast<uint32_t>(texts_.size()));
    if (is_new) texts_.push_back(text);
    words_.push_back(at->second);
  }
}

void ParquetColumn::AddNothing() { is_there_.push_back(false); }

// Whether each value is there: one run where all are or none is.
std::string ParquetColumn::Levels() const {
  std::string runs;
  if (words_.empty() || words_.size() == rows()) {
    AppendVarint(rows() << 1, &runs);
    runs.push_back(words_.empty() ? '\0' : '\1');
  } else {
    AppendPacked(
        rows(), 1, [&](size_t i) { return is_there_[i] ? 1 : 0; }, &runs);
  }
  std::string levels;
  AppendLittleEndian(runs.size(), 4, &levels);
  return levels + runs;
}

std::string ParquetColumn::Values() const {
  std::string out;
  if (type_ == ParquetType::kText) {
    const int width = std::max(1, static_cast<int>(std::bit_width(texts_.empty() ? 0 : texts_.size() - 1)));
    out.push_back(static_cast<char>(width));
    if (!words_.empty())
      AppendPacked(
          words_.size(), width, [&](size_t i) { return words_[i]; }, &out);
  } else if (type_ == ParquetType::kTruth) {
    out.resize((words_.size() + 7) / 8);
    for (size_t i = 0; i < words_.size(); ++i) out[i / 8] = static_cast<char>(out[i / 8] | words_[i] << i % 8);
  } else {
    for (const uint64_t word : words_) AppendLittleEndian(word, 8, &out);
  }
  return out;
}

ParquetPage ParquetColumn::DictionaryPage() const {
  std::string contents;
  for (const std::string& text : texts_) {
    AppendLittleEndian(text.size(), 4, &contents);
    contents += text;
  }
  return PageOf(parquet::kDictionaryPage, contents, [&](ThriftWriter* header) {
    header->Begin(7);
    header->Integer32(1, static_cast<int32_t>(texts_.size()));
    header->Integer32(2, parquet::kPlain);
    header->End();
  });
}

ParquetPage ParquetColumn::DataPage() const {
  return PageOf(parquet::kDataPage, Levels() + Values(), [&](ThriftWriter* header) {
    header->Begin(5);
    header->Integer32(1, static_cast<int32_t>(rows()));
    header->Integer32(2, has_dictionary() ? parquet::kRleDictionary : parquet::kPlain);
    header->Integer32(3, parquet::kRle);
    header->Integer32(4, parquet::kRle);
    header->End();
  });
}

void ParquetColumn::Clear() {
  has_written_ = has_written_ || !words_.empty();
  is_there_.clear();
  words_.clear();
  texts_.clear();
  number_of_text_.clear();
}

}  // namespace gprof

// The values of a column, as many as a row group has, and the pages that they make.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace gprof {

enum class ParquetType : uint8_t { kInteger, kUnsigned, kReal, kTruth, kText };

// Numbers of the format.
int32_t PhysicalTypeOf(ParquetType type);

// A page as it stands in a file: its header, and what is in it, compressed.
struct ParquetPage {
  std::string bytes;
  int64_t uncompressed_size = 0;  // with the header
};

class ParquetColumn {
 public:
  ParquetColumn(std::string name, ParquetType type) : name_(std::move(name)), type_(type) {}

  // A number in a column of text is written out.
  void AddInteger(int64_t value);
  void AddUnsigned(uint64_t value);
  void AddReal(double value);
  void AddTruth(bool value);
  void AddText(std::string_view value);
  void AddNothing();

  const std::string& name() const { return name_; }
  ParquetType type() const { return type_; }
  bool has_dictionary() const { return type_ == ParquetType::kText; }
  size_t rows() const { return is_there_.size(); }

  // Text alone has one: its values are numbers of texts in it.
  ParquetPage DictionaryPage() const;
  ParquetPage DataPage() const;
  void Clear();

 private:
  void Become(ParquetType type);
  void AddWord(uint64_t bits);
  std::string Levels() const;
  std::string Values() const;

  std::string name_;
  ParquetType type_;
  std::vector<bool> is_there_;   // by row
  std::vector<uint64_t> words_;  // of what is there: bits of a number, or number of a text
  std::vector<std::string> texts_;
  std::unordered_map<std::string, uint32_t> number_of_text_;
  bool has_written_ = false;  // values of an earlier row group
};

}  // namespace gprof

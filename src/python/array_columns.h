// The tables of src/export as columns that NumPy can look at.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "export/tables/record_tables.h"

namespace gprof::python {

enum class ColumnType : uint8_t { kInteger, kUnsigned, kReal, kTruth, kText };

// A column as it is handed out: items of NumPy's type `format`, one only where all are alike.
struct FinishedColumn {
  std::string name, format;
  std::vector<unsigned char> items;
  std::vector<unsigned char> missing;  // a byte a row; empty where every row has a value
  std::vector<std::string> texts;      // text: what its codes stand for
  ColumnType type = ColumnType::kInteger;
  bool is_constant = false;
};

// Takes the values of one column. Most columns of most traces hold one value, which is kept once.
class ColumnBuilder {
 public:
  // `type`: what the column is unless its values say otherwise.
  ColumnBuilder(std::string_view name, ColumnType type) : name_(name), type_(type) {}

  void Integer(int64_t value);
  void Unsigned(uint64_t value);
  void Real(double value);
  void Truth(bool value);
  void Text(std::string_view value);
  void Nothing();
  FinishedColumn Finish();

 private:
  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };

  void Append(uint64_t bits, bool is_missing);
  void Become(ColumnType type);
  uint64_t CodeOf(std::string_view text);
  template <class F>
  void Change(const F& change);
  template <class Item, class F>
  std::vector<unsigned char> Items(const F& item) const;

  std::string name_;
  std::vector<uint64_t> bits_;  // a single one as long as all are alike
  std::vector<unsigned char> missing_;
  std::unordered_map<std::string, uint32_t, TextHash, std::equal_to<>> codes_;
  std::vector<std::string> texts_;
  uint64_t count_ = 0, missing_count_ = 0;
  uint32_t last_code_ = 0;  // neighbours are often alike
  ColumnType type_;
  bool is_constant_ = true;
  bool has_negative_ = false;
  bool has_value_ = false;  // one that says of which type the column is
};

// The finished columns of a table, and the number of rows.
struct Columns {
  uint64_t rows = 0;
  std::vector<FinishedColumn> columns;
};
Columns ColumnsOf(const Trace& trace, const std::string& kind);

}  // namespace gprof::python

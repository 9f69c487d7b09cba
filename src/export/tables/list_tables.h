// Tables of lists of the model whose values follow from the Fields() of its struct.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "analysis/facts/places/stack_names.h"
#include "analysis/result/display_names.h"
#include "export/tables/record_rows.h"
#include "gprof/fields.h"
#include "gprof/trace.h"

namespace gprof {

// A column and the field that is in it.
struct FieldColumn {
  std::string_view name;
  std::string_view field = {};                   // empty: the one whose column has this name anyway
  std::span<const std::string_view> words = {};  // for its numbers; empty: those of its type
};

// Whether the column is of the field.
constexpr bool IsOfField(const FieldColumn& column, const FieldOf& field) {
  if (!column.field.empty()) return column.field == field.name;
  switch (field.role) {
    case Role::kProcess:
      return column.name == "pid";
    case Role::kThread:
      return column.name == "tid";
    case Role::kEnd:
      return column.name == "duration_ns";
    case Role::kCall:
      return column.name == "correlation" || column.name == "function";
    case Role::kRange:
      return column.name == "nvtx_path";
    default:
      return column.name == field.name;
  }
}

inline constexpr std::size_t kNoField = ~std::size_t{0};

// The number of the field in Fields().
template <class T>
constexpr std::size_t FieldIn(const FieldColumn& column) {
  std::size_t found = kNoField, number = 0;
  T sample{};
  T::Fields(sample, [&](const FieldOf& field, auto&) {
    if (IsOfField(column, field)) found = number;
    ++number;
  });
  return found;
}

// Writes the fields of the elements of a list, in the order of the columns.
template <class T>
class ListRows {
 public:
  ListRows(RecordContext& context, RowWriter& row, std::span<const FieldColumn> columns)
      : context_(context), row_(row), stacks_(context.trace()) {
    for (const FieldColumn& column : columns) cells_.push_back({FieldIn<T>(column), column.name, column.words});
  }

  void Write(const T& item) {
    for (const Cell& cell : cells_) {
      std::size_t number = 0;
      T::Fields(item, [&](const FieldOf& field, const auto& value) {
        if (number++ != cell.field) return;
        if constexpr (requires { item.end_ns; }) {
          if (cell.name == "duration_ns") return row_.Integer(item.end_ns - item.start_ns);
        }
        Value(cell, field.role, value);
      });
    }
    row_.EndRow();
  }

 private:
  struct Cell {
    std::size_t field;
    std::string_view name;
    std::span<const std::string_view> words;
  };

  void Value(const Cell&, Role, bool value) { row_.Truth(value); }
  void Value(const Cell&, Role, NameId name) { row_.Text(context_.Clean(name)); }
  void Value(const Cell&, Role, int32_t value) { row_.Integer(value); }
  void Value(const Cell&, Role role, int64_t value) {
    const bool may_be_unknown = role == Role::kKnown || role == Role::kKnownTime;
    may_be_unknown&& value == 0 ? row_.Nothing() : row_.Integer(value);
  }
  void Value(const Cell&, Role role, uint64_t value) {
    role == Role::kKnown ? AddUnlessZero(value, row_) : row_.Unsigned(value);
  }
  void Value(const Cell& cell, Role, uint8_t value) {
    cell.words.empty() ? row_.Unsigned(value) : AddWord(cell.words, value, row_);
  }
  void Value(const Cell&, Role, trace::MemoryKind value) { row_.Text(MemoryName(value)); }
  template <class E>
  requires std::is_enum_v<E>
  void Value(const Cell& cell, Role, E value) {
    if constexpr (requires { WordsOf(value); }) {
      AddWord(WordsOf(value), static_cast<std::size_t>(value), row_);
    } else {
      AddWord(cell.words, static_cast<std::size_t>(value), row_);
    }
  }

  void Value(const Cell& cell, Role role, uint32_t value) {
    const Trace& trace = context_.trace();
    switch (role) {
      case Role::kProcess:
        return AddPid(trace, value, row_);
      case Role::kThread:
        return AddTid(trace, value, row_);
      case Role::kDevice:
        return AddDevice(trace, value, row_);
      case Role::kStream:
        return AddStream(trace, value, row_);
      case Role::kCall:
        return cell.name == "function" ? AddFunction(context_, value, row_) : AddCorrelation(trace, value, row_);
      case Role::kRange:
        return row_.Text(value == kNone ? std::string_view() : context_.Clean(trace.ranges[value].path));
      case Role::kStack:
        return row_.Text(stacks_(value));
      case Role::kMetricSource:
        return row_.Text(value == kNone ? std::string_view() : context_.Clean(trace.metric_sources[value].name));
      case Role::kKnown:
        return AddUnlessZero(value, row_);
      case Role::kOrNone:
        if (value == kNone) return row_.Nothing();
        [[fallthrough]];
      default:
        row_.Unsigned(value);
    }
  }

  RecordContext& context_;
  RowWriter& row_;
  StackNames stacks_;
  std::vector<Cell> cells_;
};

template <class List>
struct ElementOfList;
template <class T, class Owner>
struct ElementOfList<std::vector<T> Owner::*> {
  using Type = T;
};

template <const auto& kColumns>
inline constexpr auto kColumnNames = [] {
  std::array<std::string_view, std::size(kColumns)> names;
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = kColumns[i].name;
  return names;
}();

template <auto kList, const auto& kColumns>
void WriteList(RecordContext& context, RowWriter& row) {
  using T = typename ElementOfList<std::remove_cv_t<decltype(kList)>>::Type;
  ListRows<T> rows(context, row, kColumns);
  for (const T& item : context.trace().*kList) rows.Write(item);
}

// The table of a list, with these columns.
template <auto kList, const auto& kColumns>
constexpr RecordTable TableOfList(std::string_view name, std::string_view meaning) {
  using T = typename ElementOfList<std::remove_cv_t<decltype(kList)>>::Type;
  static_assert(std::ranges::all_of(kColumns, [](const FieldColumn& c) { return FieldIn<T>(c) != kNoField; }));
  return {name, meaning, kColumnNames<kColumns>, WriteList<kList, kColumns>};
}

}  // namespace gprof

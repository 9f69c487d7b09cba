#include "format_table.h"

#include <fmt/format.h>

#include <type_traits>

#include "gprof/trace/record.h"

namespace gprof {
namespace {

template <class T>
constexpr std::string_view TypeName() {
  if constexpr (std::is_same_v<T, trace::StringId>) return "string id";
  if constexpr (std::is_same_v<T, trace::ShapeId>) return "shape id";
  if constexpr (std::is_same_v<T, trace::Text>) return "bytes";
  if constexpr (std::is_same_v<T, uint8_t>) return "u8";
  if constexpr (std::is_same_v<T, uint32_t>) return "u32";
  if constexpr (std::is_same_v<T, uint64_t>) return "u64";
  if constexpr (std::is_same_v<T, int32_t>) return "i32";
  if constexpr (std::is_same_v<T, int64_t>) return "i64";
}

}  // namespace

std::string FormatTable() {
  std::string table;
  trace::ForEachKind([&](auto* null_record) {
    using R = std::decay_t<decltype(*null_record)>;
    table += fmt::format("\n### {} `{}`\n\n{}.\n\n", static_cast<int>(R::kKind), R::kName, R::kMeaning);
    table += "| column | field | type | meaning |\n|---|---|---|---|\n";
    int column = 0;
    R r;
    R::Fields(r, [&](const trace::FieldInfo& info, auto& field) {
      table += fmt::format("| {} | `{}` | {} | {} |\n", column++, info.name, TypeName<std::decay_t<decltype(field)>>(),
                           info.meaning);
    });
  });
  return table;
}

std::string WithTable(std::string_view page) {
  const std::size_t begin = page.find(kTableBegin), end = page.find(kTableEnd);
  if (begin == std::string_view::npos || end == std::string_view::npos || end < begin) return {};
  return fmt::format("{}{}\n{}", page.substr(0, begin + kTableBegin.size()), FormatTable(), page.substr(end));
}

}  // namespace gprof

#include "python/layouts.h"

#include <cstdint>
#include <iterator>
#include <string_view>
#include <type_traits>
#include <utility>

#include "gprof/error.h"
#include "gprof/lists.h"

namespace gprof::python {
namespace {

constexpr std::string_view kPacked[] = {"ops", "api_calls", "ranges"};

template <class T>
std::string FormatOf() {
  if constexpr (std::is_same_v<T, bool>) {
    return "?";
  } else if constexpr (std::is_same_v<T, NameId>) {
    return "<u4";
  } else if constexpr (std::is_enum_v<T>) {
    return FormatOf<std::underlying_type_t<T>>();
  } else {
    static_assert(std::is_integral_v<T>);
    return (std::is_signed_v<T> ? "<i" : "<u") + std::to_string(sizeof(T));
  }
}

template <class R>
std::vector<Field> FieldsOf() {
  R sample{};
  std::vector<Field> fields;
  R::Fields(sample, [&](FieldOf field, auto& value) {
    const auto offset =
        reinterpret_cast<const unsigned char*>(&value) - reinterpret_cast<const unsigned char*>(&sample);
    fields.push_back({field.name, FormatOf<std::decay_t<decltype(value)>>(), static_cast<std::size_t>(offset)});
  });
  return fields;
}

template <class R>
RecordView View(std::string_view name, const std::vector<R>& records) {
  return {std::string(name), FieldsOf<R>(), sizeof(R), records.size(), records.data(), nullptr};
}

template <class List>
auto Unpacked(const List& packed) {
  return std::make_shared<std::vector<typename List::value_type>>(packed.begin(), packed.end());
}

template <class R>
RecordView OwnedView(std::string_view name, const std::shared_ptr<std::vector<R>>& records) {
  RecordView view = View(name, std::as_const(*records));
  view.owner = records;
  return view;
}

// The correlation of an operation whose call is known as well.
RecordView ViewOfOps(const Trace& trace) {
  const auto ops = Unpacked(trace.ops);
  for (GpuOp& op : *ops) op.correlation = trace.CorrelationOf(op);
  return OwnedView("ops", ops);
}

}  // namespace

std::vector<std::string> RecordNames() {
  std::vector<std::string> names(std::begin(kPacked), std::end(kPacked));
  ForEachList([&](const auto& list) { names.emplace_back(list.name); });
  return names;
}

RecordView ViewOf(const Trace& trace, const std::string& name) {
  if (name == "ops") return ViewOfOps(trace);
  if (name == "ranges") return OwnedView(name, Unpacked(trace.ranges));
  if (name == "api_calls") return OwnedView(name, Unpacked(trace.api_calls));
  RecordView view;
  ForEachList([&](const auto& list) {
    if (list.name == name) view = View(list.name, trace.*list.list);
  });
  if (view.name.empty()) throw Error(ExitCode::kUsage, "there are no records '" + name + "'");
  return view;
}

}  // namespace gprof::python

// Lists of the head of a trace as rows of JSON: the fields of an item in their order, names as text.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <type_traits>
#include <vector>

#include "gprof/trace.h"
#include "trace/model/name_table.h"

namespace gprof {

// Calls f(key, member of TraceHead) for each list that a partial keeps.
template <class F>
void ForEachKeptList(F f) {
  f("processes", &TraceHead::processes);
  f("devices", &TraceHead::devices);
  f("captures", &TraceHead::captures);
  f("base_times", &TraceHead::base_times);
  f("threads", &TraceHead::threads);
  f("losses", &TraceHead::losses);
  f("notices", &TraceHead::notices);
  f("clocks", &TraceHead::clocks);
}

// Fields that the model has as a whole record: properties of a device, an anchor of a clock.
template <class T, class F>
void ForEachKeptField(T& item, F f) {
  std::remove_const_t<T>::Fields(item, [&](const auto&, auto& value) { f(value); });
  if constexpr (std::is_same_v<std::remove_const_t<T>, Device>) {
    trace::DeviceRecord::Fields(item.properties, [&](const auto&, auto& value) { f(value); });
  } else if constexpr (std::is_same_v<std::remove_const_t<T>, Clock>) {
    trace::ClockRecord::Fields(item.anchor, [&](const auto&, auto& value) { f(value); });
  }
}

template <class T>
nlohmann::json RowsJson(const TraceHead& trace, const std::vector<T>& list) {
  nlohmann::json rows = nlohmann::json::array();
  for (const T& item : list) {
    nlohmann::json row = nlohmann::json::array();
    ForEachKeptField(item, [&](const auto& value) {
      using Value = std::decay_t<decltype(value)>;
      if constexpr (std::is_same_v<Value, NameId>) {
        row.push_back(trace.Text(value));
      } else if constexpr (std::is_enum_v<Value>) {
        row.push_back(static_cast<uint32_t>(value));
      } else if constexpr (std::is_arithmetic_v<Value>) {
        row.push_back(value);
      }
    });
    rows.push_back(std::move(row));
  }
  return rows;
}

// Throws what nlohmann::json throws where there are fewer fields, or others.
template <class T>
void ReadRows(const nlohmann::json& rows, NameTable* names, std::vector<T>* list) {
  for (const nlohmann::json& row : rows) {
    T item;
    size_t at = 0;
    ForEachKeptField(item, [&](auto& value) {
      using Value = std::decay_t<decltype(value)>;
      if constexpr (std::is_same_v<Value, NameId>) {
        value = names->Intern(row.at(at++).get<std::string>());
      } else if constexpr (std::is_enum_v<Value>) {
        value = static_cast<Value>(row.at(at++).get<uint32_t>());
      } else if constexpr (std::is_arithmetic_v<Value>) {
        value = row.at(at++).get<Value>();
      }
    });
    list->push_back(item);
  }
}

}  // namespace gprof

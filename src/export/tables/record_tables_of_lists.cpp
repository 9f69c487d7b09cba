// Tables of the lists of the model that are named in gprof/lists.h: their columns are the fields, in their order.
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "export/tables/list_tables.h"
#include "gprof/lists.h"

namespace gprof {
namespace {

template <class List>
using ElementOf = typename ElementOfList<std::remove_cvref_t<decltype(std::declval<List>().list)>>::Type;

// other_thread is the column other_tid, end_ns is duration_ns as in all tables.
std::string ColumnOf(const FieldOf& field) {
  std::string name = field.name;
  const auto replace_end = [&](std::string_view word, std::string_view by) {
    if (name.ends_with(word)) name.replace(name.size() - word.size(), word.size(), by);
  };
  if (field.role == Role::kProcess) replace_end("process", "pid");
  if (field.role == Role::kThread) replace_end("thread", "tid");
  if (field.role == Role::kEnd) replace_end("end_ns", "duration_ns");
  return name;
}

// A source that has a process and the pid of one has one column of them.
template <class T>
bool IsColumn(const FieldOf& field) {
  constexpr bool kHasPid = requires(T t) { t.pid; };
  return field.role != Role::kBytes && !(kHasPid && field.role == Role::kProcess);
}

template <class T>
struct TableColumns {
  std::vector<std::string> names;
  std::vector<std::string_view> views;
  std::vector<FieldColumn> columns;
};

template <class T>
const TableColumns<T>& ColumnsOf() {
  static const TableColumns<T> kColumns = [] {
    TableColumns<T> table;
    std::vector<std::string_view> fields;
    T sample;
    T::Fields(sample, [&](const FieldOf& field, auto&) {
      if (!IsColumn<T>(field)) return;
      table.names.push_back(ColumnOf(field));
      fields.emplace_back(field.name);
    });
    table.views.assign(table.names.begin(), table.names.end());
    for (std::size_t i = 0; i < fields.size(); ++i) table.columns.push_back({table.views[i], fields[i]});
    return table;
  }();
  return kColumns;
}

// A sample by itself says nothing: what its source is of, and the value in its unit, are in its row.
constexpr std::string_view kMetricBlockColumns[] = {"start_ns", "duration_ns", "pid",  "tid",
                                                    "device",   "name",        "unit", "value"};

void WriteMetricBlocks(RecordContext& context, RowWriter& row) {
  const Trace& trace = context.trace();
  for (const MetricSample& sample : trace.metric_samples) {
    const MetricSource& source = trace.metric_sources[sample.source];
    row.Integer(sample.start_ns);
    row.Integer(sample.end_ns - sample.start_ns);
    AddUnlessZero(source.pid, row);
    AddTid(trace, source.thread, row);
    AddDevice(trace, source.device, row);
    row.Text(context.Clean(source.name));
    row.Text(context.Clean(source.unit));
    row.Real(ScaledValue(source, sample.value));
    row.EndRow();
  }
}

// The same holds of a counter: which kernel it is of, and its value in its unit, or as text.
constexpr std::string_view kCounterColumns[] = {"range", "name", "metric", "unit", "value", "text"};

void WriteCounters(RecordContext& context, RowWriter& row) {
  const Trace& trace = context.trace();
  for (const CounterValue& value : trace.counter_values) {
    row.Unsigned(value.range);
    row.Text(context.KernelName(trace.counter_ranges[value.range].name));
    row.Text(context.Clean(value.metric));
    row.Text(context.Clean(value.unit));
    const std::string_view text = context.Clean(value.text);
    text.empty() ? row.Real(NumberOf(value)) : row.Nothing();
    text.empty() ? row.Nothing() : row.Text(text);
    row.EndRow();
  }
}

// Of the list that is the number `kIndex` of kLists.
template <std::size_t kIndex>
void WriteElements(RecordContext& context, RowWriter& row) {
  constexpr auto& kList = std::get<kIndex>(kLists);
  using T = ElementOf<decltype(kList)>;
  ListRows<T> rows(context, row, ColumnsOf<T>().columns);
  for (const T& item : context.trace().*kList.list) rows.Write(item);
}

template <std::size_t kIndex>
void AddTable(std::vector<RecordTable>* tables) {
  constexpr auto& kList = std::get<kIndex>(kLists);
  using T = ElementOf<decltype(kList)>;
  if constexpr (std::is_same_v<T, MetricSample>) {
    tables->push_back({kList.table, kList.meaning, kMetricBlockColumns, WriteMetricBlocks});
  } else if constexpr (std::is_same_v<T, CounterValue>) {
    tables->push_back({kList.table, kList.meaning, kCounterColumns, WriteCounters});
  } else if constexpr (!kList.table.empty()) {
    tables->push_back({kList.table, kList.meaning, ColumnsOf<T>().views, WriteElements<kIndex>});
  }
}

}  // namespace

std::vector<RecordTable> TablesOfLists() {
  std::vector<RecordTable> tables;
  [&]<std::size_t... kIndex>(std::index_sequence<kIndex...>) { (AddTable<kIndex>(&tables), ...); }
  (std::make_index_sequence<std::tuple_size_v<decltype(kLists)>>());
  return tables;
}

}  // namespace gprof

// Tables of lists of the model (gprof/lists.h): their columns follow from the Fields() of its struct.
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "analysis/result/stack_names.h"
#include "export/tables/record_rows.h"
#include "gprof/lists.h"

namespace gprof {
namespace {

template <class List>
struct ElementOfList;
template <class T>
struct ElementOfList<ListOf<T>> {
  using Type = T;
};
template <class List>
using ElementOf = typename ElementOfList<std::remove_cvref_t<List>>::Type;

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
std::span<const std::string_view> ColumnsOf() {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names;
    T sample;
    T::Fields(sample, [&](const FieldOf& field, auto&) {
      if (IsColumn<T>(field)) names.push_back(ColumnOf(field));
    });
    return names;
  }();
  static const std::vector<std::string_view> kViews(kNames.begin(), kNames.end());
  return kViews;
}

std::string_view SourceName(const RecordContext& context, uint32_t source) {
  return source == kNone ? std::string_view() : context.Clean(context.trace().metric_sources[source].name);
}

// Writes the fields of one struct, in their order.
class FieldWriter {
 public:
  FieldWriter(RecordContext& context, RowWriter& row) : context_(context), row_(row), stacks_(context.trace()) {}

  template <class T>
  void Write(const T& item) {
    T::Fields(item, [&](const FieldOf& field, const auto& value) {
      if (!IsColumn<T>(field)) return;
      if constexpr (requires { item.end_ns; }) {
        if (field.role == Role::kEnd) return row_.Integer(item.end_ns - item.start_ns);
      }
      Value(field.role, value);
    });
    row_.EndRow();
  }

 private:
  void Value(Role, bool value) { row_.Truth(value); }
  void Value(Role, NameId name) { row_.Text(context_.Clean(name)); }
  void Value(Role, int32_t value) { row_.Integer(value); }
  void Value(Role role, int64_t value) {
    const bool may_be_unknown = role == Role::kKnown || role == Role::kKnownTime;
    may_be_unknown&& value == 0 ? row_.Nothing() : row_.Integer(value);
  }
  void Value(Role role, uint64_t value) { role == Role::kKnown ? AddUnlessZero(value, row_) : row_.Unsigned(value); }
  template <class E>
  requires std::is_enum_v<E>
  void Value(Role, E value) { AddWord(WordsOf(value), static_cast<std::size_t>(value), row_); }

  void Value(Role role, uint32_t value) {
    const Trace& trace = context_.trace();
    if (role == Role::kProcess) return AddPid(trace, value, row_);
    if (role == Role::kThread) return AddTid(trace, value, row_);
    if (role == Role::kDevice) return AddDevice(trace, value, row_);
    if (role == Role::kStack) return row_.Text(stacks_(value));
    if (role == Role::kMetricSource) return row_.Text(SourceName(context_, value));
    if (role == Role::kKnown) return AddUnlessZero(value, row_);
    if (role == Role::kOrNone && value == kNone) return row_.Nothing();
    row_.Unsigned(value);
  }

  RecordContext& context_;
  RowWriter& row_;
  StackNames stacks_;
};

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

// Of the list that is the number `kIndex` of kLists.
template <std::size_t kIndex>
void WriteList(RecordContext& context, RowWriter& row) {
  FieldWriter writer(context, row);
  for (const auto& item : context.trace().*std::get<kIndex>(kLists).list) writer.Write(item);
}

template <std::size_t kIndex>
void AddTable(std::vector<RecordTable>* tables) {
  constexpr auto& kList = std::get<kIndex>(kLists);
  using T = ElementOf<decltype(kList)>;
  if constexpr (std::is_same_v<T, MetricSample>) {
    tables->push_back({kList.table, kList.meaning, kMetricBlockColumns, WriteMetricBlocks});
  } else if constexpr (!kList.table.empty()) {
    tables->push_back({kList.table, kList.meaning, ColumnsOf<T>(), WriteList<kIndex>});
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

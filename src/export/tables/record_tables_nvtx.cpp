// Tables of NVTX ranges, marks and payloads.
#include <bit>

#include "export/tables/record_rows.h"

namespace gprof {
namespace {

constexpr std::string_view kRangeColumns[] = {
    "start_ns", "duration_ns", "pid",      "tid",           "end_tid", "domain",  "name",    "path",
    "style",    "depth",       "category", "category_name", "color",   "payload", "is_open", "is_cut"};

constexpr std::string_view kMarkColumns[] = {"time_ns",  "pid",           "tid",   "domain", "name",
                                             "category", "category_name", "color", "payload"};

constexpr std::string_view kPayloadColumns[] = {"time_ns", "pid",    "tid", "domain", "event",
                                                "name",    "schema", "key", "text",   "integer"};

constexpr std::string_view kEvents[] = {"not known", "mark", "push", "pop", "start", "end"};

void AddThread(const Trace& trace, uint32_t thread, RowWriter& row) {
  AddPid(trace, thread == kNone ? kNone : trace.threads[thread].process, row);
  AddTid(trace, thread, row);
}

std::string_view DomainName(const RecordContext& context, uint32_t domain) {
  return domain == kNone ? std::string_view() : context.Clean(context.trace().domains[domain].name);
}

void AddPayload(trace::PayloadType type, uint64_t bits, RowWriter& row) {
  using trace::PayloadType;
  switch (type) {
    case PayloadType::kUnsigned64:
      return row.Unsigned(bits);
    case PayloadType::kSigned64:
      return row.Integer(static_cast<int64_t>(bits));
    case PayloadType::kDouble:
      return row.Real(std::bit_cast<double>(bits));
    case PayloadType::kUnsigned32:
      return row.Unsigned(static_cast<uint32_t>(bits));
    case PayloadType::kSigned32:
      return row.Integer(static_cast<int32_t>(static_cast<uint32_t>(bits)));
    case PayloadType::kFloat:
      return row.Real(std::bit_cast<float>(static_cast<uint32_t>(bits)));
    case PayloadType::kNone:
    case PayloadType::kExtended:
      break;  // those that have a schema are in a table of their own
  }
  row.Nothing();
}

// Columns category and category_name, color and payload: the same of ranges and marks.
template <class Event>
void AddAttributes(const RecordContext& context, const Event& event, RowWriter& row) {
  AddUnlessZero(event.category, row);
  row.Text(context.CategoryName(event.domain, event.category));
  AddUnlessZero(event.color, row);
  AddPayload(event.payload_type, event.payload, row);
}

void WriteRanges(RecordContext& context, RowWriter& row) {
  const Trace& trace = context.trace();
  for (const NvtxRange& range : trace.ranges) {
    context.progress().Add();
    row.Integer(range.start_ns);
    row.Integer(range.DurationNs());
    AddThread(trace, range.thread, row);
    AddTid(trace, range.end_thread, row);
    row.Text(DomainName(context, range.domain));
    row.Text(context.Clean(range.name));
    row.Text(context.Clean(range.path));
    row.Text(range.is_push_pop ? "push_pop" : "start_end");
    row.Unsigned(range.depth);
    AddAttributes(context, range, row);
    row.Truth(range.is_open);
    row.Truth(range.is_cut);
    row.EndRow();
  }
}

void WriteMarks(RecordContext& context, RowWriter& row) {
  for (const NvtxMark& mark : context.trace().marks) {
    context.progress().Add();
    row.Integer(mark.time_ns);
    AddThread(context.trace(), mark.thread, row);
    row.Text(DomainName(context, mark.domain));
    row.Text(context.Clean(mark.name));
    AddAttributes(context, mark, row);
    row.EndRow();
  }
}

std::string_view NameOf(const RecordContext& context, const NvtxPayload& payload) {
  const Trace& trace = context.trace();
  if (payload.range != kNone) return context.Clean(trace.ranges[payload.range].name);
  return payload.mark == kNone ? std::string_view() : context.Clean(trace.marks[payload.mark].name);
}

void WritePayloads(RecordContext& context, RowWriter& row) {
  const Trace& trace = context.trace();
  for (const NvtxPayload& payload : trace.payloads) {
    for (uint32_t i = payload.first_value; i < payload.last_value; ++i) {
      const PayloadValue& value = trace.payload_values[i];
      row.Integer(payload.time_ns);
      AddThread(trace, payload.thread, row);
      row.Text(DomainName(context, payload.domain));
      AddWord(kEvents, static_cast<std::size_t>(payload.event), row);
      row.Text(NameOf(context, payload));
      row.Text(context.Clean(payload.schema));
      row.Text(context.Clean(value.key));
      row.Text(context.Clean(value.text));
      if (value.is_integer) {
        row.Integer(value.integer);
      } else {
        row.Nothing();
      }
      row.EndRow();
    }
  }
}

}  // namespace

const RecordTable kNvtxRangeTable{"nvtx_range", "NVTX ranges", kRangeColumns, WriteRanges};
const RecordTable kNvtxMarkTable{"nvtx_mark", "NVTX marks", kMarkColumns, WriteMarks};
const RecordTable kNvtxPayloadTable{"nvtx_payload", "values of NVTX payloads, one per row", kPayloadColumns,
                                    WritePayloads};

}  // namespace gprof

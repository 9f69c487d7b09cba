// NVTX_EVENTS: ranges with both their ends, marks, and names of domains, categories and threads.
#include <cstring>

#include "import/nsight/nsight_import.h"
#include "import/nsight/nsight_values.h"

namespace gprof {
namespace {

constexpr Columns kColumns{"start",        "end",         "eventType",  "text",       "textId",      "globalTid",
                           "endGlobalTid", "domainId",    "category",   "color",      "uint64Value", "int64Value",
                           "doubleValue",  "uint32Value", "int32Value", "floatValue", "jsonText",    "jsonTextId"};

// ENUM_NSYS_EVENT_TYPE: events of the program, and the same ones of a text file that was imported.
enum EventType : int64_t {
  kNvtxCategory = 33,
  kNvtxMark = 34,
  kNvtxThread = 39,
  kNvtxPushPop = 59,
  kNvtxStartEnd = 60,
  kTextCategory = 64,
  kTextMark = 65,
  kTextPushPop = 70,
  kTextStartEnd = 71,
  kDomainCreate = 75,
  kDomainDestroy = 76,
  kStreamName = 99
};

struct Payload {
  trace::PayloadType type = trace::PayloadType::kNone;
  uint64_t bits = 0;
};

Payload PayloadOf(SqliteRows& rows) {
  if (!rows.IsNull(kColumns["uint64Value"]))
    return {trace::PayloadType::kUnsigned64, rows.Unsigned(kColumns["uint64Value"])};
  if (!rows.IsNull(kColumns["int64Value"]))
    return {trace::PayloadType::kSigned64, rows.Unsigned(kColumns["int64Value"])};
  if (!rows.IsNull(kColumns["uint32Value"]))
    return {trace::PayloadType::kUnsigned32, rows.Int32(kColumns["uint32Value"])};
  if (!rows.IsNull(kColumns["int32Value"])) {
    const auto value = static_cast<uint32_t>(static_cast<int32_t>(rows.Int(kColumns["int32Value"])));
    return {trace::PayloadType::kSigned32, value};
  }
  if (!rows.IsNull(kColumns["doubleValue"])) {
    const double value = rows.Real(kColumns["doubleValue"]);
    Payload payload{trace::PayloadType::kDouble, 0};
    std::memcpy(&payload.bits, &value, sizeof value);
    return payload;
  }
  if (rows.IsNull(kColumns["floatValue"])) return {};
  const auto value = static_cast<float>(rows.Real(kColumns["floatValue"]));
  Payload payload{trace::PayloadType::kFloat, 0};
  std::memcpy(&payload.bits, &value, sizeof value);
  return payload;
}

}  // namespace

void NsightImport::ReadNvtx() {
  if (!file_.HasTable("NVTX_EVENTS")) return;
  SqliteRows rows(file_, "NVTX_EVENTS", kColumns);
  while (rows.Next()) {
    const int64_t type = rows.Int(kColumns["eventType"]);
    if (!IsGood(rows)) continue;
    Enter(rows, kColumns["globalTid"]);
    switch (type) {
      case kNvtxPushPop:
      case kTextPushPop:
      case kNvtxStartEnd:
      case kTextStartEnd:
        ReadRange(rows, type == kNvtxPushPop || type == kTextPushPop);
        break;
      case kNvtxMark:
      case kTextMark:
        ReadMark(rows);
        break;
      default:
        ReadNvtxName(rows, type);
    }
  }
  ranges_.Finish(&builder_);
}

uint32_t NsightImport::NvtxText(SqliteRows& rows) {
  if (!rows.IsNull(kColumns["text"])) return builder_.Text(rows.Text(kColumns["text"]));
  return rows.IsNull(kColumns["textId"]) ? 0 : TextOf(rows.Int(kColumns["textId"]));
}

// What the event has by a layout of its own.
std::optional<JsonPayloads::Payload> NsightImport::NvtxJson(SqliteRows& rows) {
  std::string_view json = rows.Text(kColumns["jsonText"]);
  if (json.empty() && !rows.IsNull(kColumns["jsonTextId"]))
    json = builder_.TextOf(TextOf(rows.Int(kColumns["jsonTextId"])));
  if (json.empty()) return std::nullopt;
  return payloads_.Read(json, rows.Int32(kColumns["domainId"]));
}

void NsightImport::ReadRange(SqliteRows& rows, bool is_push_pop) {
  ClosedRange range;
  Span span;
  range.process = builder_.process();
  range.tid = ThreadOf(rows.Int(kColumns["globalTid"]));
  range.end_tid = rows.IsNull(kColumns["endGlobalTid"]) ? 0 : ThreadOf(rows.Int(kColumns["endGlobalTid"]));
  range.domain = rows.Int32(kColumns["domainId"]);
  range.category = rows.Int32(kColumns["category"]);
  range.color = rows.Int32(kColumns["color"]);
  range.text = NvtxText(rows);
  const Payload payload = PayloadOf(rows);
  range.payload = payload.bits;
  range.payload_type = payload.type;
  range.is_push_pop = is_push_pop;
  const bool is_open = rows.IsNull(kColumns["end"]);
  if (is_open ? !TakeTime(rows, kColumns["start"], &span.start_ns) : !TakeSpan(rows, &span)) return;
  range.start_ns = static_cast<int64_t>(span.start_ns);
  if (!is_open) range.end_ns = static_cast<int64_t>(span.start_ns + span.duration_ns);
  if (auto json = NvtxJson(rows)) range.attached = ranges_.Attach(*std::move(json));
  NoteThread(range.tid);
  ranges_.Add(range);
}

void NsightImport::ReadMark(SqliteRows& rows) {
  trace::NvtxRecord r;
  r.tid = ThreadOf(rows.Int(kColumns["globalTid"]));
  r.event = static_cast<uint8_t>(trace::NvtxEvent::kMark);
  r.domain = rows.Int32(kColumns["domainId"]);
  r.category = rows.Int32(kColumns["category"]);
  r.color = rows.Int32(kColumns["color"]);
  const uint32_t text = NvtxText(rows);
  const Payload payload = PayloadOf(rows);
  r.payload = payload.bits;
  r.payload_type = static_cast<uint8_t>(payload.type);
  if (!TakeTime(rows, kColumns["start"], &r.time_ns)) return;
  r.message = builder_.Name(text);
  NoteThread(r.tid);
  builder_.Add(r);
  if (const auto json = NvtxJson(rows)) builder_.Add(PayloadRecordOf(r, *json));
}

void NsightImport::ReadNvtxName(SqliteRows& rows, int64_t type) {
  const trace::StringId name = builder_.Name(NvtxText(rows));
  const uint32_t domain = rows.Int32(kColumns["domainId"]);
  if (type == kDomainCreate) {
    builder_.Add(trace::NvtxDomainRecord{domain, name});
  } else if (type == kNvtxCategory || type == kTextCategory) {
    builder_.Add(trace::NvtxCategoryRecord{domain, rows.Int32(kColumns["category"]), name});
  } else if (type == kNvtxThread) {
    trace::NvtxNameRecord r;
    r.object = static_cast<uint8_t>(trace::NvtxNameKind::kThread);
    r.handle = ThreadOf(rows.Int(kColumns["globalTid"]));
    r.name = name;
    builder_.Add(r);
  } else if (type == kStreamName) {
    ReadStreamName(rows, name);
  } else if (type != kDomainDestroy) {
    ++skipped_nvtx_;
  }
}

// The stream is the number, its context the short one. Streams without work are not in the model.
void NsightImport::ReadStreamName(SqliteRows& rows, trace::StringId name) {
  const uint32_t stream = rows.Int32(kColumns["uint64Value"]), context = rows.Int32(kColumns["uint32Value"]);
  if (streams_.Find(uint64_t{builder_.process()} << 32 | context, stream) == kNone) {
    ++skipped_nvtx_;
    return;
  }
  builder_.NameStream(context, stream, name);
}

}  // namespace gprof

// NVTX_EVENTS: ranges with both their ends, marks, and names of domains, categories and threads.
#include <cstring>

#include "import/nsight/nsight_import.h"
#include "import/nsight/nsight_values.h"

namespace gprof {
namespace {

enum Column : std::size_t {
  kStart,
  kEnd,
  kType,
  kText,
  kTextId,
  kThread,
  kEndThread,
  kDomain,
  kCategory,
  kColor,
  kUint64,
  kInt64,
  kDouble,
  kUint32,
  kInt32,
  kFloat,
  kJsonText,
  kJsonTextId
};
constexpr std::string_view kColumns[] = {"start",       "end",          "eventType",   "text",        "textId",
                                         "globalTid",   "endGlobalTid", "domainId",    "category",    "color",
                                         "uint64Value", "int64Value",   "doubleValue", "uint32Value", "int32Value",
                                         "floatValue",  "jsonText",     "jsonTextId"};

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
  if (!rows.IsNull(kUint64)) return {trace::PayloadType::kUnsigned64, rows.Unsigned(kUint64)};
  if (!rows.IsNull(kInt64)) return {trace::PayloadType::kSigned64, rows.Unsigned(kInt64)};
  if (!rows.IsNull(kUint32)) return {trace::PayloadType::kUnsigned32, rows.Int32(kUint32)};
  if (!rows.IsNull(kInt32)) {
    const auto value = static_cast<uint32_t>(static_cast<int32_t>(rows.Int(kInt32)));
    return {trace::PayloadType::kSigned32, value};
  }
  if (!rows.IsNull(kDouble)) {
    const double value = rows.Real(kDouble);
    Payload payload{trace::PayloadType::kDouble, 0};
    std::memcpy(&payload.bits, &value, sizeof value);
    return payload;
  }
  if (rows.IsNull(kFloat)) return {};
  const auto value = static_cast<float>(rows.Real(kFloat));
  Payload payload{trace::PayloadType::kFloat, 0};
  std::memcpy(&payload.bits, &value, sizeof value);
  return payload;
}

}  // namespace

void NsightImport::ReadNvtx() {
  if (!file_.HasTable("NVTX_EVENTS")) return;
  SqliteRows rows(file_, "NVTX_EVENTS", kColumns);
  while (rows.Next()) {
    const int64_t type = rows.Int(kType);
    if (!IsGood(rows)) continue;
    Enter(rows, kThread);
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
  if (!rows.IsNull(kText)) return builder_.Text(rows.Text(kText));
  return rows.IsNull(kTextId) ? 0 : TextOf(rows.Int(kTextId));
}

// What the event has by a layout of its own.
std::optional<JsonPayloads::Payload> NsightImport::NvtxJson(SqliteRows& rows) {
  std::string_view json = rows.Text(kJsonText);
  if (json.empty() && !rows.IsNull(kJsonTextId)) json = builder_.TextOf(TextOf(rows.Int(kJsonTextId)));
  if (json.empty()) return std::nullopt;
  return payloads_.Read(json, rows.Int32(kDomain));
}

void NsightImport::ReadRange(SqliteRows& rows, bool is_push_pop) {
  ClosedRange range;
  Span span;
  range.process = builder_.process();
  range.tid = ThreadOf(rows.Int(kThread));
  range.end_tid = rows.IsNull(kEndThread) ? 0 : ThreadOf(rows.Int(kEndThread));
  range.domain = rows.Int32(kDomain);
  range.category = rows.Int32(kCategory);
  range.color = rows.Int32(kColor);
  range.text = NvtxText(rows);
  const Payload payload = PayloadOf(rows);
  range.payload = payload.bits;
  range.payload_type = payload.type;
  range.is_push_pop = is_push_pop;
  const bool is_open = rows.IsNull(kEnd);
  if (is_open ? !TakeTime(rows, kStart, &span.start_ns) : !TakeSpan(rows, kStart, kEnd, &span)) return;
  range.start_ns = static_cast<int64_t>(span.start_ns);
  if (!is_open) range.end_ns = static_cast<int64_t>(span.start_ns + span.duration_ns);
  if (auto json = NvtxJson(rows)) range.attached = ranges_.Attach(*std::move(json));
  NoteThread(range.tid);
  ranges_.Add(range);
}

void NsightImport::ReadMark(SqliteRows& rows) {
  trace::NvtxRecord r;
  r.tid = ThreadOf(rows.Int(kThread));
  r.event = static_cast<uint8_t>(trace::NvtxEvent::kMark);
  r.domain = rows.Int32(kDomain);
  r.category = rows.Int32(kCategory);
  r.color = rows.Int32(kColor);
  const uint32_t text = NvtxText(rows);
  const Payload payload = PayloadOf(rows);
  r.payload = payload.bits;
  r.payload_type = static_cast<uint8_t>(payload.type);
  if (!TakeTime(rows, kStart, &r.time_ns)) return;
  r.message = builder_.Name(text);
  NoteThread(r.tid);
  builder_.Add(r);
  if (const auto json = NvtxJson(rows)) builder_.Add(PayloadRecordOf(r, *json));
}

void NsightImport::ReadNvtxName(SqliteRows& rows, int64_t type) {
  const trace::StringId name = builder_.Name(NvtxText(rows));
  const uint32_t domain = rows.Int32(kDomain);
  if (type == kDomainCreate) {
    builder_.Add(trace::NvtxDomainRecord{domain, name});
  } else if (type == kNvtxCategory || type == kTextCategory) {
    builder_.Add(trace::NvtxCategoryRecord{domain, rows.Int32(kCategory), name});
  } else if (type == kNvtxThread) {
    trace::NvtxNameRecord r;
    r.object = static_cast<uint8_t>(trace::NvtxNameKind::kThread);
    r.handle = ThreadOf(rows.Int(kThread));
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
  const uint32_t stream = rows.Int32(kUint64), context = rows.Int32(kUint32);
  if (streams_.Find(uint64_t{builder_.process()} << 32 | context, stream) == kNone) {
    ++skipped_nvtx_;
    return;
  }
  builder_.NameStream(context, stream, name);
}

}  // namespace gprof

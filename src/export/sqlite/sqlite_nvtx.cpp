// NVTX: ranges, marks, and the names of domains and categories, all in one table.
#include <bit>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "export/output/json_text.h"
#include "export/sqlite/sqlite_export.h"

namespace gprof {
namespace {

// ENUM_NSYS_EVENT_TYPE
enum class EventType : uint8_t {
  kCategory = 33,
  kMark = 34,
  kPushPop = 59,
  kStartEnd = 60,
  kDomain = 75,
  kStreamName = 99
};

constexpr std::string_view kColumns =
    "start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, rangeId INTEGER, category INTEGER, color "
    "INTEGER, "
    "text TEXT, globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER, domainId INTEGER, uint64Value INTEGER, "
    "int64Value INTEGER, doubleValue REAL, uint32Value INTEGER, int32Value INTEGER, floatValue REAL, jsonTextId "
    "INTEGER, "
    "jsonText TEXT, binaryData TEXT";

struct Event {
  int64_t start_ns = 0;
  std::optional<int64_t> end_ns{};
  EventType type{};
  std::optional<int64_t> range{}, category{}, color{};
  std::string_view text{};
  int64_t thread = 0;
  std::optional<int64_t> end_thread{};
  uint32_t domain = 0;
  uint64_t payload = 0;
  trace::PayloadType payload_type = trace::PayloadType::kNone;
  std::optional<int64_t> stream{}, context{};  // kStreamName
  std::optional<std::string> json{};
};

class NvtxWriter {
 public:
  explicit NvtxWriter(SqliteExport& out) : out_(out) {}

  void Add(const Event& e) {
    using trace::PayloadType;
    const auto when = [&](PayloadType type, auto value) {
      return e.payload_type == type ? std::optional(value) : std::nullopt;
    };
    const auto low = static_cast<uint32_t>(e.payload);
    table_.Add(e.start_ns, e.end_ns, e.type, e.range, e.category, e.color, e.text, e.thread, e.end_thread, std::nullopt,
               e.domain, e.stream ? e.stream : when(PayloadType::kUnsigned64, static_cast<int64_t>(e.payload)),
               when(PayloadType::kSigned64, static_cast<int64_t>(e.payload)),
               when(PayloadType::kDouble, std::bit_cast<double>(e.payload)),
               e.context ? e.context : when(PayloadType::kUnsigned32, int64_t{low}),
               when(PayloadType::kSigned32, static_cast<int32_t>(low)),
               when(PayloadType::kFloat, double{std::bit_cast<float>(low)}), std::nullopt, e.json, std::nullopt);
  }

  // Names of domains and categories are given by the process as a whole: its main thread stands for it.
  void AddName(EventType type, const NvtxDomain& domain, NameId name, std::optional<int64_t> category) {
    Event e{
        .type = type, .text = out_.clean(name), .thread = out_.ThreadId(domain.process, kNone), .domain = domain.id};
    e.category = category;
    Add(e);
  }

 private:
  SqliteExport& out_;
  SqliteTable table_{out_.database, "NVTX_EVENTS", kColumns};
};

// What programs attached to ranges and marks by a schema, as one JSON object for each.
class PayloadTexts {
 public:
  explicit PayloadTexts(const SqliteExport& out) : out_(out) {
    for (uint32_t i = 0; i < out.trace.payloads.size(); ++i) {
      const NvtxPayload& payload = out.trace.payloads[i];
      if (payload.range != kNone) of_range_[payload.range].push_back(i);
      if (payload.mark != kNone) of_mark_[payload.mark].push_back(i);
    }
  }
  std::optional<std::string> OfRange(std::size_t range) const { return Text(of_range_, range); }
  std::optional<std::string> OfMark(std::size_t mark) const { return Text(of_mark_, mark); }

 private:
  using Lists = std::unordered_map<std::size_t, std::vector<uint32_t>>;

  std::optional<std::string> Text(const Lists& lists, std::size_t key) const {
    const auto found = lists.find(key);
    if (found == lists.end()) return std::nullopt;
    std::string text;
    // A value that is attached to the begin and to the end of a range is there once.
    std::set<uint32_t> keys;
    for (const uint32_t payload : found->second) {
      const NvtxPayload& p = out_.trace.payloads[payload];
      for (uint32_t i = p.first_value; i < p.last_value; ++i) {
        const PayloadValue& value = out_.trace.payload_values[i];
        if (keys.insert(value.key.value).second) Append(value, &text);
      }
    }
    return text.empty() ? text + "{}" : text + "}";
  }

  void Append(const PayloadValue& value, std::string* text) const {
    *text += text->empty() ? '{' : ',';
    AppendJsonString(out_.clean(value.key), text);
    *text += ':';
    if (value.is_integer) {
      *text += std::to_string(value.integer);
    } else {
      AppendJsonString(out_.clean(value.text), text);
    }
  }

  const SqliteExport& out_;
  Lists of_range_, of_mark_;
};

uint32_t DomainId(const Trace& trace, uint32_t domain) { return domain == kNone ? 0 : trace.domains[domain].id; }

uint32_t ProcessOf(const Trace& trace, uint32_t thread) {
  return thread == kNone ? kNone : trace.threads[thread].process;
}

Event EventOf(const SqliteExport& out, const NvtxRange& range, std::size_t index) {
  Event e{.start_ns = out.Time(range.start_ns),
          .type = range.is_push_pop ? EventType::kPushPop : EventType::kStartEnd,
          .text = out.clean(range.name),
          .thread = out.ThreadId(ProcessOf(out.trace, range.thread), range.thread),
          .domain = DomainId(out.trace, range.domain),
          .payload = range.payload,
          .payload_type = range.payload_type};
  if (!range.is_open) e.end_ns = out.Time(range.end_ns);
  if (!range.is_push_pop) {
    e.range = static_cast<int64_t>(index) + 1;
    if (!range.is_open) e.end_thread = out.ThreadId(ProcessOf(out.trace, range.end_thread), range.end_thread);
  }
  e.category = UnlessZero(range.category);
  e.color = UnlessZero(range.color);
  return e;
}

Event EventOf(const SqliteExport& out, const NvtxMark& mark) {
  Event e{.start_ns = out.Time(mark.time_ns),
          .type = EventType::kMark,
          .text = out.clean(mark.name),
          .thread = out.ThreadId(ProcessOf(out.trace, mark.thread), mark.thread),
          .domain = DomainId(out.trace, mark.domain),
          .payload = mark.payload,
          .payload_type = mark.payload_type};
  e.category = UnlessZero(mark.category);
  e.color = UnlessZero(mark.color);
  return e;
}

}  // namespace

void WriteSqliteNvtx(SqliteExport& out) {
  NvtxWriter writer(out);
  const Trace& trace = out.trace;
  for (const NvtxDomain& domain : trace.domains) {
    if (domain.id != 0) writer.AddName(EventType::kDomain, domain, domain.name, std::nullopt);
  }
  for (const NvtxCategory& category : trace.categories) {
    writer.AddName(EventType::kCategory, trace.domains[category.domain], category.name, category.id);
  }
  for (const Stream& stream : trace.streams) {
    if (trace.Text(stream.name).empty()) continue;
    writer.Add({.type = EventType::kStreamName,
                .text = out.clean(stream.name),
                .thread = out.ThreadId(stream.process, kNone),
                .stream = stream.id,
                .context = stream.context});
  }
  const PayloadTexts payloads(out);
  for (std::size_t i = 0; i < trace.ranges.size(); ++i) {
    Event event = EventOf(out, trace.ranges[i], i);
    event.json = payloads.OfRange(i);
    writer.Add(event);
    out.progress.Add();
  }
  for (std::size_t i = 0; i < trace.marks.size(); ++i) {
    Event event = EventOf(out, trace.marks[i]);
    event.json = payloads.OfMark(i);
    writer.Add(event);
    out.progress.Add();
  }
}

}  // namespace gprof

#include "import/shared/json_payload.h"

#include <algorithm>
#include <charconv>

#include "import/shared/decimal.h"
#include "trace/model/payload_types.h"

namespace gprof {
namespace {

constexpr std::size_t kMostSchemas = 4096;
constexpr std::size_t kMostEntries = 64;  // as many as the decoder takes
constexpr std::size_t kMostTextBytes = 300;
constexpr int kMaxDepth = 8;

// Numbers of NVTX: int64_t, double, and characters up to the first 0.
constexpr uint64_t kInt64 = 17, kDouble = 20, kCharacters = 75;

template <class V>
std::string_view BytesOf(const V& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

bool IsWhole(std::string_view number) { return number.find_first_of(".eEnN") == std::string_view::npos; }

std::optional<double> RealIn(std::string_view text) {
  double value = 0;
  const auto [stop, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  return status == std::errc() && stop == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

}  // namespace

void JsonPayloads::Add(std::string key, Type type, std::string_view bytes) {
  if (entries_.size() >= kMostEntries) return;
  entries_.push_back({std::move(key), type});
  // As C aligns it, which is where the decoder looks.
  if (type != Type::kText) bytes_.resize((bytes_.size() + bytes.size() - 1) / bytes.size() * bytes.size());
  bytes_ += bytes;
}

void JsonPayloads::TakeValue(std::string key, const JsonPiece& value, int depth) {
  using Kind = JsonPiece::Kind;
  if (value.kind == Kind::kObject) return TakeObject(value.text, {}, key + ".", depth + 1);
  // Whole numbers beyond 63 bits, as identifiers are, stay exact as texts.
  if (value.kind == Kind::kNumber && IsWhole(value.text)) {
    if (const auto whole = ReadDecimal(value.text)) return Add(std::move(key), Type::kInteger, BytesOf(*whole));
  } else if (value.kind == Kind::kNumber) {
    if (const auto real = RealIn(value.text)) return Add(std::move(key), Type::kReal, BytesOf(*real));
  }
  if (value.kind == Kind::kNull || value.kind == Kind::kMissing) return;
  std::string text(value.IsText() ? Unescaped(value, &buffer_) : value.text);
  text.resize(std::min(text.find('\0'), std::min(text.size(), kMostTextBytes)));
  Add(std::move(key), Type::kText, text.append(1, '\0'));
}

void JsonPayloads::TakeObject(std::string_view json, std::string_view prefix, const std::string& outer, int depth) {
  if (depth > kMaxDepth) return;
  JsonScanner(json).ReadObject([&](std::string_view key, const JsonPiece& value) {
    if (!key.starts_with(prefix) || entries_.size() >= kMostEntries) return;
    JsonPiece name;
    name.text = key.substr(prefix.size());
    name.kind = JsonPiece::Kind::kString;
    name.has_escapes = name.text.find('\\') != std::string_view::npos;
    TakeValue(outer + std::string(Unescaped(name, &buffer_)), value, depth);
  });
}

std::optional<JsonPayloads::Payload> JsonPayloads::Read(std::string_view json, uint32_t domain) {
  return ReadMembers(json, {}, domain);
}

std::optional<JsonPayloads::Payload> JsonPayloads::ReadMembers(std::string_view json, std::string_view prefix,
                                                               uint32_t domain) {
  entries_.clear();
  bytes_.clear();
  TakeObject(json, prefix, {}, 0);
  return Finish(domain);
}

std::optional<JsonPayloads::Payload> JsonPayloads::Finish(uint32_t domain) {
  if (entries_.empty()) return std::nullopt;
  std::string layout(BytesOf(domain));
  for (const Entry& entry : entries_) (layout += static_cast<char>(entry.type)) += entry.key + '\0';
  auto at = schemas_.find({builder_.process(), layout});
  if (at == schemas_.end()) {
    if (schemas_.size() >= kMostSchemas) {
      ++left_out_count_;
      return std::nullopt;
    }
    const uint64_t schema = payload::kFirstSchema + schemas_.size();
    at = schemas_.emplace(std::pair{builder_.process(), std::move(layout)}, schema).first;
    AddSchema(schema, domain);
  }
  return Payload{at->second, bytes_};
}

void JsonPayloads::AddSchema(uint64_t schema, uint32_t domain) {
  trace::NvtxSchemaRecord r;
  r.domain = domain;
  r.schema = schema;
  r.schema_type = payload::kSchemaDynamic;
  r.entry_count = static_cast<uint32_t>(entries_.size());
  builder_.Add(r);
  for (uint32_t i = 0; i < entries_.size(); ++i) {
    trace::NvtxSchemaEntryRecord entry;
    entry.domain = domain;
    entry.schema = schema;
    entry.index = i;
    const Type type = entries_[i].type;
    entry.entry_type = type == Type::kInteger ? kInt64 : type == Type::kReal ? kDouble : kCharacters;
    entry.name = builder_.Name(entries_[i].key);
    builder_.Add(entry);
  }
}

trace::NvtxPayloadRecord PayloadRecordOf(const trace::NvtxRecord& event, const JsonPayloads::Payload& payload) {
  trace::NvtxPayloadRecord r;
  r.time_ns = event.time_ns;
  r.tid = event.tid;
  r.domain = event.domain;
  r.range = event.range;
  r.event = event.event;
  r.schema = payload.schema;
  r.data = {payload.bytes.data(), static_cast<uint32_t>(payload.bytes.size())};
  return r;
}

}  // namespace gprof

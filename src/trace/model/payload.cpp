#include "trace/model/payload.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace gprof {
namespace {

using payload::TypeClass;
using payload::TypeInfo;

// Far above what people write by hand, and small enough that a hostile schema cannot make a payload expensive.
constexpr int kMaxDepth = 8;
constexpr std::size_t kMaxValues = 64, kMaxSteps = 500;
constexpr uint64_t kMaxShown = 16;  // elements of an array
constexpr uint64_t kScanned = 64;   // elements that are one step when looking for the end of an array
constexpr std::size_t kMaxNameBytes = 100;
constexpr std::size_t kPointerBytes = 8;
constexpr std::size_t kEnumBytes = 4;  // where the program did not say

bool IsInteger(TypeClass c) { return c == TypeClass::kUnsigned || c == TypeClass::kSigned || c == TypeClass::kChar; }

// `count` elements from `at`; nothing where they are not all before `end`.
std::optional<std::size_t> EndOf(std::size_t at, uint64_t count, std::size_t element_bytes, std::size_t end) {
  if (at > end || (element_bytes != 0 && count > (end - at) / element_bytes)) return std::nullopt;
  return at + static_cast<std::size_t>(count) * element_bytes;
}

bool IsArray(const SchemaEntry& entry) { return (entry.record.flags & payload::kEntryArrayMask) != 0; }

// The data lie elsewhere: in the memory of the program, or in a place of the payload that only a deep copy fills.
bool IsElsewhere(const SchemaEntry& entry) {
  return (entry.record.flags &
          (payload::kEntryPointer | payload::kEntryOffsetFromBase | payload::kEntryOffsetFromHere)) != 0;
}

bool IsHidden(const SchemaEntry& entry) { return (entry.record.flags & payload::kEntryHide) != 0; }

bool IsStruct(const Schema& schema) {
  return schema.record.schema_type == payload::kSchemaStatic || schema.record.schema_type == payload::kSchemaDynamic;
}

// What the record says goes before what is usual, where it makes sense.
std::size_t SizeOf(const TypeInfo& type, uint32_t recorded_bytes) {
  const bool fits = IsInteger(type.type_class)             ? recorded_bytes <= 8
                    : type.type_class == TypeClass::kFloat ? recorded_bytes == 4 || recorded_bytes == 8
                                                           : type.type_class == TypeClass::kHex && recorded_bytes <= 16;
  return recorded_bytes != 0 && fits ? recorded_bytes : type.size_bytes;
}

}  // namespace

void PayloadDecoder::Decode(const RawPayload& raw) {
  Trace& t = unjoined_.trace;
  bytes_ = std::string_view(unjoined_.payload_bytes).substr(static_cast<std::size_t>(raw.first_byte), raw.size_bytes);
  first_value_ = t.payload_values.size();
  steps_ = 0;
  NvtxPayload p;
  p.time_ns = raw.time_ns;
  p.thread = raw.thread;
  p.domain = raw.domain;
  p.range = raw.of_range;
  p.mark = raw.of_mark;
  p.size_bytes = raw.size_bytes;
  p.event = raw.event;
  if (const Schema* schema = schemas_.Find(raw.domain, raw.schema)) {
    p.schema = schema->name;
    TakeSchema(*schema, {0, bytes_.size(), 0, {}});
  } else if (raw.schema < payload::kFirstSchema) {
    SchemaEntry entry;  // as if it were the only entry of a schema
    entry.domain = raw.domain;
    entry.record.entry_type = raw.schema;
    entry.name = unjoined_.names.Intern("value");
    const TypeInfo type = payload::InfoOfType(raw.schema);
    if (type.type_class == TypeClass::kString) {
      AddText("value", payload::ReadText(bytes_, type.size_bytes));
    } else if (type.size_bytes != 0 && bytes_.size() >= type.size_bytes) {
      TakeArray(entry, {type, nullptr, type.size_bytes}, {0, bytes_.size(), 0, {}}, 0, 1);
    }
  }
  p.first_value = static_cast<uint32_t>(first_value_);
  p.last_value = static_cast<uint32_t>(t.payload_values.size());
  t.payloads.push_back(p);
}

// False: the payload has had its share of work.
bool PayloadDecoder::TakeStep(std::size_t steps) {
  steps_ += steps;
  return steps_ <= kMaxSteps && unjoined_.trace.payload_values.size() - first_value_ < kMaxValues;
}

PayloadDecoder::Element PayloadDecoder::ElementOf(const SchemaEntry& entry) const {
  const trace::NvtxSchemaEntryRecord& r = entry.record;
  Element element;
  if (r.entry_type < payload::kFirstSchema) {
    element.type = payload::InfoOfType(r.entry_type);
    element.size_bytes = SizeOf(element.type, r.size_bytes);
    return element;
  }
  element.nested = schemas_.Find(entry.domain, r.entry_type);
  if (element.nested != nullptr) {
    element.size_bytes = element.nested->record.size_bytes;
  } else if (!schemas_.EnumOf(entry.domain, r.entry_type).empty()) {
    element.type = {TypeClass::kUnsigned, 0};
    element.size_bytes = r.size_bytes == 0 || r.size_bytes > 8 ? kEnumBytes : r.size_bytes;
  } else {
    element.size_bytes = r.size_bytes;  // not registered: can be stepped over at best
  }
  return element;
}

// As C aligns it: a structure as the member with the largest alignment.
std::size_t PayloadDecoder::AlignOf(const SchemaEntry& entry, int depth) {
  if (IsElsewhere(entry)) return kPointerBytes;
  const Element element = ElementOf(entry);
  if (element.type.type_class == TypeClass::kString) return element.type.size_bytes;
  if (element.nested == nullptr) return std::clamp<std::size_t>(element.size_bytes, 1, 16);
  const auto schema = static_cast<std::size_t>(element.nested - unjoined_.schemas.data());
  if (align_bytes_[schema] != 0 || depth > kMaxDepth) return std::max<std::size_t>(align_bytes_[schema], 1);
  align_bytes_[schema] = 1;  // for a schema that contains itself
  std::size_t entries = 0;
  for (const SchemaEntry& member : schemas_.EntriesOf(*element.nested)) {
    if (++entries > kMaxSteps) break;
    align_bytes_[schema] = std::max(align_bytes_[schema], static_cast<uint8_t>(AlignOf(member, depth + 1)));
  }
  return align_bytes_[schema];
}

PayloadDecoder::End PayloadDecoder::StartOf(const SchemaEntry& entry, const Place& place, End at) {
  const uint64_t offset = entry.record.offset_bytes;
  if (offset != 0 || entry.record.index == 0) return EndOf(place.begin, offset, 1, place.end);
  if (!at.has_value()) return std::nullopt;
  const std::size_t align = AlignOf(entry, 0);
  return EndOf(place.begin, (*at - place.begin + align - 1) / align * align, 1, place.end);
}

PayloadDecoder::End PayloadDecoder::TakeSchema(const Schema& schema, const Place& place) {
  // Which member of a union holds depends on rules of its own; its name says little without its value.
  const std::size_t size = schema.record.schema_type == payload::kSchemaDynamic ? 0 : schema.record.size_bytes;
  const End end = size == 0 ? End() : EndOf(place.begin, 1, size, place.end);
  if (place.depth > kMaxDepth || !IsStruct(schema)) return end;
  Integers integers;
  End at = place.begin;
  for (const SchemaEntry& entry : schemas_.EntriesOf(schema)) {
    if (!TakeStep()) return end;
    const End start = StartOf(entry, place, at);
    at = start.has_value() ? TakeEntry(schema, entry, place, *start, &integers) : End();
  }
  return size == 0 ? at : end;
}

PayloadDecoder::End PayloadDecoder::TakeEntry(const Schema& schema, const SchemaEntry& entry, const Place& place,
                                              std::size_t at, Integers* integers) {
  if (IsElsewhere(entry)) return EndOf(at, 1, kPointerBytes, place.end);
  const Element element = ElementOf(entry);
  if (element.type.type_class == TypeClass::kString) return TakeString(schema, entry, place, at, *integers);
  const auto count = CountOf(entry, element.size_bytes, at, place.end, *integers);
  if (!count.has_value()) return std::nullopt;
  const bool is_terminated = (entry.record.flags & payload::kEntryArrayMask) == payload::kEntryZeroTerminated;
  if (element.nested != nullptr) return TakeNested(entry, element, place, at, *count);
  if (element.size_bytes == 0) return std::nullopt;
  const End end = TakeArray(entry, element, place, at, *count);
  if (!end.has_value()) return end;
  const std::size_t index = entry.record.index;
  if (IsInteger(element.type.type_class) && !IsArray(entry) && index < kMaxSteps) {
    if (integers->size() <= index) integers->resize(index + 1);
    (*integers)[index] = payload::ReadUnsigned(bytes_.substr(at, element.size_bytes));
  }
  return is_terminated ? EndOf(*end, 1, element.size_bytes, place.end) : end;
}

// Characters in the payload itself. Without a length and without a flag a string is a pointer in a C structure, and
// ends with its first 0 in a layout that is made for a payload.
PayloadDecoder::End PayloadDecoder::TakeString(const Schema& schema, const SchemaEntry& entry, const Place& place,
                                               std::size_t at, const Integers& integers) {
  const std::size_t char_bytes = payload::InfoOfType(entry.record.entry_type).size_bytes;
  uint64_t array = entry.record.flags & payload::kEntryArrayMask;
  if (array == 0 && entry.record.array_length == 0) {
    if (schema.record.schema_type == payload::kSchemaStatic) return EndOf(at, 1, kPointerBytes, place.end);
    array = payload::kEntryZeroTerminated;
  }
  SchemaEntry characters = entry;
  characters.record.flags = array == 0 ? payload::kEntryFixedArray : array;
  const auto count = CountOf(characters, char_bytes, at, place.end, integers);
  const End end = count.has_value() ? EndOf(at, *count, char_bytes, place.end) : End();
  if (!end.has_value()) return end;
  if (!IsHidden(entry)) AddText(KeyOf(entry, place), payload::ReadText(bytes_.substr(at, *end - at), char_bytes));
  return array == payload::kEntryZeroTerminated ? std::min(*end + char_bytes, place.end) : end;
}

std::optional<uint64_t> PayloadDecoder::CountOf(const SchemaEntry& entry, std::size_t element_bytes, std::size_t at,
                                                std::size_t end, const Integers& integers) {
  switch (entry.record.flags & payload::kEntryArrayMask) {
    case 0:
      return 1;
    case payload::kEntryFixedArray:
      return entry.record.array_length;
    case payload::kEntryLengthIndex:
      if (entry.record.array_length >= integers.size()) return std::nullopt;
      return integers[static_cast<std::size_t>(entry.record.array_length)];
    case payload::kEntryZeroTerminated:
      break;
    default:
      return std::nullopt;  // the length is in another payload
  }
  if (element_bytes == 0) return std::nullopt;
  uint64_t count = 0;
  for (; at + element_bytes <= end; at += element_bytes, ++count) {
    const std::string_view element = bytes_.substr(at, element_bytes);
    if (element.find_first_not_of('\0') == std::string_view::npos) break;
    if (count % kScanned == kScanned - 1 && !TakeStep()) return std::nullopt;
  }
  return count;
}

PayloadDecoder::End PayloadDecoder::TakeArray(const SchemaEntry& entry, const Element& element, const Place& place,
                                              std::size_t at, uint64_t count) {
  const End end = EndOf(at, count, element.size_bytes, place.end);
  if (!end.has_value() || IsHidden(entry) || element.type.type_class == TypeClass::kUnknown) return end;
  const std::string key = KeyOf(entry, place);
  const std::string_view data = bytes_.substr(at, *end - at);
  if (!IsArray(entry)) {
    AddScalar(key, element.type, data, ScalarText(entry, element.type, data));
  } else if (element.type.type_class == TypeClass::kChar) {
    AddText(key, payload::ReadText(data, element.size_bytes));
  } else {
    std::string text;
    for (uint64_t i = 0; i < std::min(count, kMaxShown); ++i) {
      const std::string_view one = data.substr(static_cast<std::size_t>(i) * element.size_bytes, element.size_bytes);
      std::string value = ScalarText(entry, element.type, one);
      if (value.empty() && element.type.type_class == TypeClass::kUnsigned) {
        value = std::to_string(payload::ReadUnsigned(one));
      }
      if (value.empty()) value = std::to_string(payload::ReadSigned(one));
      text += (text.empty() ? "" : ", ") + value;
    }
    AddText(key, count > kMaxShown ? text + ", …" : text);
  }
  return end;
}

PayloadDecoder::End PayloadDecoder::TakeNested(const SchemaEntry& entry, const Element& element, const Place& place,
                                               std::size_t at, uint64_t count) {
  const std::string key = KeyOf(entry, place);
  const bool is_fixed = element.size_bytes != 0 && element.nested->record.schema_type != payload::kSchemaDynamic;
  const End known_end = is_fixed ? EndOf(at, count, element.size_bytes, place.end) : End();
  if ((is_fixed && !known_end.has_value()) || IsHidden(entry)) return known_end;
  End next = at;
  for (uint64_t i = 0; i < std::min(count, kMaxShown) && next.has_value() && TakeStep(); ++i) {
    const std::string prefix = IsArray(entry) ? fmt::format("{}[{}].", key, i) : key + ".";
    const std::size_t end = is_fixed ? *next + element.size_bytes : place.end;
    next = TakeSchema(*element.nested, {*next, end, place.depth + 1, prefix});
    if (is_fixed) next = end;
  }
  if (is_fixed) return known_end;
  return count > kMaxShown ? End() : next;
}

std::string PayloadDecoder::ScalarText(const SchemaEntry& entry, const TypeInfo& type, std::string_view bytes) const {
  switch (type.type_class) {
    case TypeClass::kFloat: {
      const double value = payload::ReadFloat(bytes);
      return bytes.size() == sizeof(float) ? fmt::format("{}", static_cast<float>(value)) : fmt::format("{}", value);
    }
    case TypeClass::kHex:
    case TypeClass::kByte:
      return payload::Hex(bytes);
    case TypeClass::kUnsigned:
    case TypeClass::kSigned:
    case TypeClass::kChar:
    case TypeClass::kString:
    case TypeClass::kUnknown:
      break;
  }
  return entry.record.entry_type < payload::kFirstSchema ? std::string() : EnumText(entry, bytes);
}

// The name of the value, or those of its bits; empty where there is none.
std::string PayloadDecoder::EnumText(const SchemaEntry& entry, std::string_view bytes) const {
  const uint64_t mask = bytes.size() >= 8 ? ~uint64_t{0} : (uint64_t{1} << (8 * bytes.size())) - 1;
  const uint64_t value = payload::ReadUnsigned(bytes) & mask;
  const auto values = schemas_.EnumOf(entry.domain, entry.record.entry_type);
  const auto name_of = [&](const EnumValue& v) {
    return std::string(unjoined_.names.Text(v.name).substr(0, kMaxNameBytes));
  };
  for (const EnumValue& v : values) {
    if ((v.record.value & mask) == value) return name_of(v);
  }
  std::string text;
  uint64_t rest = value;
  std::size_t named = 0;
  for (const EnumValue& v : values) {
    const uint64_t bits = v.record.value & mask;
    if (v.record.is_flag == 0 || bits == 0 || (value & bits) != bits || ++named > kMaxShown) continue;
    text += (text.empty() ? "" : " | ") + name_of(v);
    rest &= ~bits;
  }
  return text.empty() || rest == 0 ? text : text + fmt::format(" | {:#x}", rest);
}

std::string PayloadDecoder::KeyOf(const SchemaEntry& entry, const Place& place) const {
  const std::string_view name = unjoined_.names.Text(entry.name).substr(0, kMaxNameBytes);
  return place.prefix + (name.empty() ? fmt::format("#{}", entry.record.index) : std::string(name));
}

void PayloadDecoder::AddText(std::string_view key, std::string_view text) {
  unjoined_.trace.payload_values.push_back({unjoined_.names.Intern(key), unjoined_.names.Intern(text), 0, false});
}

void PayloadDecoder::AddScalar(std::string_view key, const TypeInfo& type, std::string_view bytes,
                               std::string_view text) {
  if (!IsInteger(type.type_class)) return AddText(key, text);
  const bool is_unsigned = type.type_class == TypeClass::kUnsigned;
  if (is_unsigned && payload::ReadUnsigned(bytes) > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    return AddText(key, text.empty() ? std::to_string(payload::ReadUnsigned(bytes)) : std::string(text));
  }
  const int64_t value = is_unsigned ? static_cast<int64_t>(payload::ReadUnsigned(bytes)) : payload::ReadSigned(bytes);
  unjoined_.trace.payload_values.push_back({unjoined_.names.Intern(key), unjoined_.names.Intern(text), value, true});
}

}  // namespace gprof

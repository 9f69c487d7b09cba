#include "tracer/nvtx/payload_capture.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>

#include "tracer/nvtx/nvtx_row.h"
#include "tracer/nvtx/payload_layout.h"
#include "tracer/store/interned_names.h"
#include "tracer/store/memory/arena.h"
#include "tracer/store/memory/kept_list.h"
#include "tracer/store/thread_log.h"
#include "tracer/system/system_calls.h"

namespace gprof::tracer {

constinit thread_local const NvtxPayloads* event_payloads = nullptr;

namespace {

constexpr std::size_t kMaxEntries = 4096;  // of one layout
constexpr std::size_t kMaxPayloads = 64;   // of one event

Lock payload_lock;
constinit KeptList<LayoutEntry, Region::kNames, 256, 256> layout_entries GPROF_IN_ARENA;
constinit std::atomic<uint64_t> next_number{NVTX_PAYLOAD_SCHEMA_ID_DYNAMIC_START};

// What a handler must know of a layout when an event comes with it.
struct Layout {
  uint32_t domain = 0;
  uint64_t number = 0;
  Extent extent;  // no bytes: they differ
  trace::StringId name;
  MessageForm message = MessageForm::kNone;
  uint64_t message_offset = 0;
  std::size_t message_bytes = 0;  // at most
};
struct PayloadSlot {
  std::atomic<bool> is_taken;
  Layout layout;
};
constexpr uint32_t kSlots = 4096;
PayloadSlot slots[kSlots];

uint32_t HashOf(uint32_t domain, uint64_t number) {
  return static_cast<uint32_t>((number + domain * 0x9E3779B97F4A7C15u) * 0xD6E8FEB86659FD93u >> 40);
}

const Layout* Find(uint32_t domain, uint64_t number) {
  for (uint32_t i = 0; i < kSlots; ++i) {
    const PayloadSlot& slot = slots[(HashOf(domain, number) + i) % kSlots];
    if (!slot.is_taken.load(std::memory_order_acquire)) return nullptr;
    if (slot.layout.number == number && slot.layout.domain == domain) return &slot.layout;
  }
  return nullptr;
}

// Under `payload_lock`. A full table leaves the layout out: its events keep their bytes, but no message.
void Remember(const Layout& layout) {
  for (uint32_t i = 0; i + 1 < kSlots; ++i) {
    PayloadSlot& slot = slots[(HashOf(layout.domain, layout.number) + i) % kSlots];
    if (slot.is_taken.load(std::memory_order_relaxed)) continue;
    slot.layout = layout;
    slot.is_taken.store(true, std::memory_order_release);
    return;
  }
}

// A program's own number must be one that it may choose; anything else gets one of ours.
uint64_t NumberOf(bool is_given, uint64_t number) {
  const bool is_good = is_given && number != 0 && number < NVTX_PAYLOAD_SCHEMA_ID_DYNAMIC_START;
  return is_good ? number : next_number.fetch_add(1, std::memory_order_relaxed);
}

Extent NestedIn(uint32_t domain, uint64_t type) {
  const Layout* nested = Find(domain, type);
  return nested == nullptr ? Extent{} : nested->extent;
}

uint32_t Cut(uint64_t n) { return static_cast<uint32_t>(std::min<uint64_t>(n, ~0u)); }

void NoteMessage(const nvtxPayloadSchemaEntry_t& entry, uint64_t offset, const Extent& extent, Layout* layout) {
  const MessageForm form = MessageFormOf(entry);
  if (form == MessageForm::kNone || layout->message != MessageForm::kNone) return;
  layout->message = form;
  layout->message_offset = offset;
  layout->message_bytes = extent.bytes != 0 ? std::min<uint64_t>(extent.bytes, kMaxNameBytes) : kMaxNameBytes;
}

// Entries first, so that a schema that is told has all of them. Under `payload_lock`.
void AppendEntries(const nvtxPayloadSchemaAttr_t& schema, std::size_t entries, Walk* walk, Layout* layout) {
  for (std::size_t i = 0; i < entries; ++i) {
    const nvtxPayloadSchemaEntry_t& given = schema.entries[i];
    const Extent nested = NestedIn(layout->domain, given.type);
    const Extent extent = ExtentOf(given, nested);
    LayoutEntry e{};
    e.kind = trace::RecordKind::kNvtxSchemaEntry;
    e.entry.domain = layout->domain;
    e.entry.schema = layout->number;
    e.entry.index = static_cast<uint32_t>(i);
    e.entry.flags = given.flags;
    e.entry.entry_type = given.type;
    e.entry.array_length = given.arrayOrUnionDetail;
    e.entry.offset_bytes = walk->Place(given, extent);
    e.entry.size_bytes = Cut(BytesOfType(given.type) != 0 ? BytesOfType(given.type) : nested.bytes);
    e.entry.name = Names().Intern(given.name);
    NoteMessage(given, e.entry.offset_bytes, extent, layout);
    layout_entries.Append(e);
  }
}

struct SchemaHead {
  uint64_t type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC, flags = 0, static_bytes = 0, pack_alignment = 0;
  std::size_t entries = 0;
};

SchemaHead HeadOf(const nvtxPayloadSchemaAttr_t& schema) {
  const auto has = [&](uint64_t field) { return (schema.fieldMask & field) != 0; };
  SchemaHead head;
  if (has(NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE)) head.type = schema.type;
  if (has(NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_FLAGS)) head.flags = schema.flags;
  if (has(NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE)) head.static_bytes = schema.payloadStaticSize;
  if (has(NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ALIGNMENT)) head.pack_alignment = schema.packAlign;
  const bool has_entries =
      has(NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES) && has(NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES);
  if (has_entries && schema.entries != nullptr) head.entries = std::min(schema.numEntries, kMaxEntries);
  return head;
}

// How many bytes a payload has that does not say: what its layout says, if that is fixed.
std::size_t BytesOf(uint32_t domain, const nvtxPayloadData_t& payload) {
  if (payload.payload == nullptr) return 0;
  if (payload.size != SIZE_MAX) return payload.size;
  const Layout* layout = Find(domain, payload.schemaId);
  return layout != nullptr ? layout->extent.bytes : BytesOfType(payload.schemaId);
}

void WritePayload(ThreadLog* log, NvtxPayloadRow row, const nvtxPayloadData_t& payload) {
  const uint32_t room = (row.data_bytes + 7) & ~7u;
  const auto bytes = static_cast<uint32_t>(sizeof row) + room;
  row.header.words = static_cast<uint16_t>(bytes / 8);
  row.schema = payload.schemaId;
  unsigned char* at = log->Reserve(bytes);
  if (at == nullptr) return;
  std::memcpy(at, &row, sizeof row);
  if (row.data_bytes != 0) std::memcpy(at + sizeof row, payload.payload, row.data_bytes);
  log->Commit(bytes);
}

// False where the bytes that should say it are not there.
bool ReadMessage(const Layout& layout, const nvtxPayloadData_t& payload, std::size_t bytes, NvtxText* text) {
  if (layout.message == MessageForm::kNone || layout.message_offset >= bytes) return false;
  const auto* at = static_cast<const char*>(payload.payload) + layout.message_offset;
  const std::size_t left = bytes - layout.message_offset;
  if (layout.message == MessageForm::kInside) {
    *text = {at, strnlen(at, std::min(left, layout.message_bytes)), 0};
    return true;
  }
  if (left < sizeof(void*)) return false;
  const char* pointer;
  std::memcpy(&pointer, at, sizeof pointer);
  if (layout.message == MessageForm::kPointer) {
    *text = PlainText(pointer);
  } else {
    text->id = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(pointer));
  }
  return true;
}

}  // namespace

uint64_t RegisterSchema(uint32_t domain, const nvtxPayloadSchemaAttr_t& schema) {
  const SchemaHead head = HeadOf(schema);
  Layout layout;
  layout.domain = domain;
  layout.number = NumberOf((schema.fieldMask & NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID) != 0, schema.schemaId);
  if ((schema.fieldMask & NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NAME) != 0) layout.name = Names().Intern(schema.name);
  Walk walk(head.type, head.pack_alignment);
  LockGuard guard(payload_lock);
  // Every shared object with the same header registers the same layout under the same number.
  if (Find(domain, layout.number) != nullptr) return layout.number;
  AppendEntries(schema, head.entries, &walk, &layout);
  const bool is_dynamic = head.type == NVTX_PAYLOAD_SCHEMA_TYPE_DYNAMIC;
  layout.extent = walk.Whole();
  if (is_dynamic) layout.extent.bytes = 0;
  if (!is_dynamic && head.static_bytes != 0) layout.extent.bytes = head.static_bytes;
  Remember(layout);
  LayoutEntry e{};
  e.kind = trace::RecordKind::kNvtxSchema;
  e.schema = {domain,     layout.number, Cut(head.type), Cut(head.flags), Cut(layout.extent.bytes), Cut(head.entries),
              layout.name};
  layout_entries.Append(e);
  return layout.number;
}

uint64_t RegisterEnum(uint32_t domain, const nvtxPayloadEnumAttr_t& enumeration) {
  const auto has = [&](uint64_t field) { return (enumeration.fieldMask & field) != 0; };
  Layout layout;
  layout.domain = domain;
  layout.number = NumberOf(has(NVTX_PAYLOAD_ENUM_ATTR_FIELD_SCHEMA_ID), enumeration.schemaId);
  const std::size_t size = has(NVTX_PAYLOAD_ENUM_ATTR_FIELD_SIZE) ? enumeration.sizeOfEnum : sizeof(int);
  const bool is_integer = size <= 8 && std::has_single_bit(size);
  layout.extent.bytes = layout.extent.alignment = is_integer ? size : sizeof(int);
  const bool has_entries = has(NVTX_PAYLOAD_ENUM_ATTR_FIELD_ENTRIES) && has(NVTX_PAYLOAD_ENUM_ATTR_FIELD_NUM_ENTRIES);
  const std::size_t entries =
      has_entries && enumeration.entries != nullptr ? std::min(enumeration.numEntries, kMaxEntries) : 0;
  LockGuard guard(payload_lock);
  if (Find(domain, layout.number) != nullptr) return layout.number;
  for (std::size_t i = 0; i < entries; ++i) {
    const nvtxPayloadEnum_t& given = enumeration.entries[i];
    LayoutEntry e{};
    e.kind = trace::RecordKind::kNvtxEnum;
    e.value = {domain, layout.number, given.value, static_cast<uint8_t>(given.isFlag != 0), Names().Intern(given.name)};
    layout_entries.Append(e);
  }
  Remember(layout);
  return layout.number;
}

const LayoutEntry* LayoutEntryAt(uint32_t i) { return layout_entries.At(i); }

void ResetLayoutsAfterFork() {
  payload_lock.ResetAfterFork();
  layout_entries.ResetAfterFork();
  if (NamesAreWhole()) return;
  for (PayloadSlot& slot : slots) slot.is_taken.store(false, std::memory_order_relaxed);
}

void WritePayloads(ThreadLog* log, trace::NvtxEvent event, uint32_t domain, uint64_t stamp, uint64_t range) {
  // Taken off first: a signal handler's event must not carry it too.
  const NvtxPayloads payloads = *event_payloads;
  event_payloads = nullptr;
  std::size_t left = kMaxPayloadBytes;
  for (std::size_t i = 0; i < payloads.count && i < kMaxPayloads; ++i) {
    const nvtxPayloadData_t& payload = payloads.first[i];
    NvtxPayloadRow row{};
    row.header = {RowType::kNvtxPayload, static_cast<uint8_t>(event), 0};
    row.domain = domain;
    row.stamp = stamp;
    row.range = range;
    row.data_bytes = static_cast<uint32_t>(std::min(BytesOf(domain, payload), left));
    WritePayload(log, row, payload);
    left -= row.data_bytes;
  }
}

NvtxText MessageOf(uint32_t domain, const NvtxPayloads& payloads) {
  NvtxText text;
  for (std::size_t i = 0; i < payloads.count && i < kMaxPayloads; ++i) {
    const nvtxPayloadData_t& payload = payloads.first[i];
    const Layout* layout = Find(domain, payload.schemaId);
    if (layout == nullptr) continue;
    if (text.id == 0) text.id = layout->name.value;
    NvtxText message;
    if (ReadMessage(*layout, payload, BytesOf(domain, payload), &message)) return message;
  }
  if (text.id == 0) text = PlainText("<payload>");
  return text;
}

}  // namespace gprof::tracer

// Writing NVTX rows, and hooking the handlers into the tables of the program's shared objects.
#include "tracer/nvtx/nvtx_hooks.h"

#include <cstring>

#include "tracer/capture/delay_windows.h"
#include "tracer/core/tracer.h"
#include "tracer/nvtx/nvtx_row.h"
#include "tracer/store/interned_names.h"

namespace gprof::tracer {
namespace {

template <class Table>
bool InstallModule(const Table* callbacks, NvtxCallbackModule module) {
  NvtxFunctionTable table = nullptr;
  unsigned int size = 0;
  if (callbacks->GetModuleFunctionTable(module, &table, &size) == 0 || table == nullptr) return false;
  const NvtxHandlers handlers = HandlersOf(static_cast<uint32_t>(module));
  for (std::size_t i = 0; i < handlers.count; ++i) {
    const NvtxHandler& h = handlers.first[i];
    if (h.id < size && table[h.id] != nullptr) *table[h.id] = h.function;
  }
  return true;
}

// Puts what follows an NvtxRow behind it.
class PartWriter {
 public:
  explicit PartWriter(unsigned char* row) : row_(row), at_(row + sizeof(NvtxRow)) {}
  template <class Part>
  void Put(const Part& part) {
    std::memcpy(at_, &part, sizeof part);
    at_ += sizeof part;
  }
  void PutText(const char* text, std::size_t size) {
    std::memcpy(at_, text, size);
    at_ += (size + 7) & ~std::size_t{7};
  }
  uint32_t bytes() const { return static_cast<uint32_t>(at_ - row_); }

 private:
  unsigned char* row_;
  unsigned char* at_;
};

constexpr uint32_t kMostPartBytes = 2 * sizeof(uint64_t) + sizeof(NvtxLook) + sizeof(NvtxValue);

// Answers the flags of what it put there.
uint32_t PutAttributes(const NvtxAttributes& a, PartWriter* out) {
  uint32_t flags = 0;
  if (a.range != 0) {
    out->Put(a.range);
    flags |= kHasRange;
  }
  if (a.category != 0 || a.color != 0) {
    out->Put(NvtxLook{a.category, a.color});
    flags |= kHasLook;
  }
  if (a.payload_type != 0) {
    out->Put(NvtxValue{a.payload, a.payload_type, 0});
    flags |= kHasPayload;
  }
  return flags;
}

}  // namespace

void WriteNvtxRow(ThreadLog* log, trace::NvtxEvent event, uint32_t domain, const NvtxText& text,
                  const NvtxAttributes* attributes, uint64_t stamp) {
  // Not a copy of `text`: reading as one piece what was just written in three makes the processor wait.
  const bool is_plain = text.size == NvtxText::kUnmeasured;
  const std::size_t size = is_plain ? strnlen(text.data, kMaxNameBytes) : text.size;
  const auto text_room = static_cast<uint32_t>((size + 7) & ~std::size_t{7});
  unsigned char* at = log->Reserve(static_cast<uint32_t>(sizeof(NvtxRow)) + kMostPartBytes + text_room);
  if (at == nullptr) return;
  PartWriter out(at);
  uint32_t flags = static_cast<uint32_t>(event) << kNvtxEventShift;
  if (attributes != nullptr) flags |= PutAttributes(*attributes, &out);
  if (size != 0) {
    out.PutText(text.data, size);
    flags |= kHasText;
  }
  if (is_plain) log->names.Learn(text.data, size);
  if (stamp == 0) stamp = Stamp();
  const uint64_t since = stamp - log->nvtx_base;
  if (since >> 32 != 0) {
    out.Put(stamp);
    flags |= kHasStamp;
    log->nvtx_base = stamp;
  }
  *reinterpret_cast<NvtxRow*>(at) = {
      {RowType::kNvtx, static_cast<uint8_t>(flags), static_cast<uint16_t>(out.bytes() / 8)},
      static_cast<uint32_t>(since),
      size != 0 ? static_cast<uint32_t>(size) : text.id,
      domain};
  log->Commit(out.bytes());
  if (__builtin_expect(event_payloads != nullptr, 0)) {
    WritePayloads(log, event, domain, stamp, attributes != nullptr ? attributes->range : 0);
  }
}

int Push(uint32_t domain, const NvtxText& text, const NvtxAttributes* attributes) {
  ThreadLog* log = OwnLog();
  if (log == nullptr) return NVTX_NO_PUSH_POP_TRACKING;
  const NvtxPath path = PathOfNvtx();
  if (path == NvtxPath::kWatch) return WatchedPush(log, domain, text, attributes);
  if (path == NvtxPath::kRecord) {
    WriteNvtxNamed(log, RowType::kNvtxPush, trace::NvtxEvent::kPush, domain, text, attributes);
  }
  return Deeper(log, domain);
}

int Pop(uint32_t domain) {
  const NvtxPath path = PathOfNvtx();
  const uint64_t now = path == NvtxPath::kIgnore ? 0 : Stamp();
  ThreadLog* log = OwnLog();
  if (log == nullptr) return NVTX_NO_PUSH_POP_TRACKING;
  if (path == NvtxPath::kWatch) return WatchedPop(log, domain, now);
  if (path == NvtxPath::kRecord) WriteNvtxPop(log, domain, now);
  return Shallower(log, domain);
}

void Mark(uint32_t domain, const NvtxText& text, const NvtxAttributes* attributes) {
  ThreadLog* log = OwnLog();
  if (log == nullptr || !IsBaseRecorded()) return;
  WriteNvtxNamed(log, RowType::kNvtxMark, trace::NvtxEvent::kMark, domain, text, attributes);
}

int WatchedPush(ThreadLog* log, uint32_t domain, const NvtxText& given, const NvtxAttributes* attributes) {
  const NvtxText text = given.Measured();
  OnPushSeen(log, domain, text.id, text.data, text.size);
  if (IsBaseRecorded()) WriteNvtxRow(log, trace::NvtxEvent::kPush, domain, text, attributes, 0);
  DelayRange(text.id, text.data, text.size);
  return Deeper(log, domain);
}

int WatchedPop(ThreadLog* log, uint32_t domain, uint64_t stamp) {
  if (IsBaseRecorded()) WriteNvtxPop(log, domain, stamp);
  OnPopSeen(log, domain);
  return Shallower(log, domain);
}

void WatchedStart(ThreadLog* log, uint32_t domain, const NvtxText& given, const NvtxAttributes& attributes) {
  const NvtxText text = given.Measured();
  OnStartSeen(attributes.range, domain, text.id, text.data, text.size);
  if (IsBaseRecorded()) WriteNvtxRow(log, trace::NvtxEvent::kStart, domain, text, &attributes, 0);
  DelayRange(text.id, text.data, text.size);
}

void WatchedEnd(ThreadLog* log, uint32_t domain, const NvtxAttributes& attributes, uint64_t stamp) {
  if (IsBaseRecorded()) WriteNvtxRow(log, trace::NvtxEvent::kEnd, domain, {}, &attributes, stamp);
  OnEndSeen(attributes.range);
}

int InstallNvtx(NvtxGetExportTableFunc_t get_export_table) {
  if (get_export_table == nullptr) return 1;
  const auto* version = static_cast<const NvtxExportTableVersionInfo*>(get_export_table(NVTX_ETID_VERSIONINFO));
  if (version != nullptr && version->struct_size >= sizeof *version) version->SetInjectionNvtxVersion(NVTX_VERSION);
  const auto* callbacks = static_cast<const NvtxExportTableCallbacks*>(get_export_table(NVTX_ETID_CALLBACKS));
  if (callbacks == nullptr || callbacks->struct_size < sizeof *callbacks) return 1;
  InstallModule(callbacks, NVTX_CB_MODULE_CORE);
  InstallModule(callbacks, NVTX_CB_MODULE_CORE2);
  InstallModule(callbacks, NVTX_CB_MODULE_CUDA);
  InstallModule(callbacks, NVTX_CB_MODULE_CUDART);
  return 1;
}

// Reads what a row needs from wchar_t without a library call: the locale of the target must not matter.
std::size_t ToUtf8(const wchar_t* text, char* out, std::size_t capacity) {
  std::size_t n = 0;
  for (; *text != 0 && n + 4 <= capacity; ++text) {
    auto c = static_cast<uint32_t>(*text);
    if (c > 0x10FFFF || (c >= 0xD800 && c < 0xE000)) c = 0xFFFD;
    if (c < 0x80) {
      out[n++] = static_cast<char>(c);
    } else if (c < 0x800) {
      out[n++] = static_cast<char>(0xC0 | c >> 6);
      out[n++] = static_cast<char>(0x80 | (c & 0x3F));
    } else if (c < 0x10000) {
      out[n++] = static_cast<char>(0xE0 | c >> 12);
      out[n++] = static_cast<char>(0x80 | (c >> 6 & 0x3F));
      out[n++] = static_cast<char>(0x80 | (c & 0x3F));
    } else {
      out[n++] = static_cast<char>(0xF0 | c >> 18);
      out[n++] = static_cast<char>(0x80 | (c >> 12 & 0x3F));
      out[n++] = static_cast<char>(0x80 | (c >> 6 & 0x3F));
      out[n++] = static_cast<char>(0x80 | (c & 0x3F));
    }
  }
  return n;
}

}  // namespace gprof::tracer

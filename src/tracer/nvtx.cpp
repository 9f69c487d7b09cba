// Writing NVTX rows, and hooking the handlers into the tables of the program's shared objects.
#include "nvtx.h"

#include <cstring>

#include "nvtx_row.h"
#include "strings.h"
#include "tracer.h"

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

}  // namespace

int WatchedPush(ThreadLog* log, uint32_t domain, const NvtxText& text, const NvtxAttributes* attributes) {
  OnPushSeen(&log->watched, domain, text.id, text.data, text.size);
  if (IsCapturing()) WriteNvtxRow(log, trace::NvtxEvent::kPush, domain, text, attributes, 0);
  return Deeper(log, domain);
}

int WatchedPop(ThreadLog* log, uint32_t domain, uint64_t stamp) {
  if (IsCapturing()) WriteNvtxPop(log, domain, stamp);
  OnPopSeen(&log->watched, domain);
  return Shallower(log, domain);
}

void WatchedStart(ThreadLog* log, uint32_t domain, const NvtxText& text, const NvtxAttributes& attributes) {
  OnStartSeen(attributes.range, domain, text.id, text.data, text.size);
  if (IsCapturing()) WriteNvtxRow(log, trace::NvtxEvent::kStart, domain, text, &attributes, 0);
}

void WatchedEnd(ThreadLog* log, uint32_t domain, const NvtxAttributes& attributes, uint64_t stamp) {
  if (IsCapturing()) WriteNvtxRow(log, trace::NvtxEvent::kEnd, domain, {}, &attributes, stamp);
  OnEndSeen(attributes.range);
}

int InstallNvtx(NvtxGetExportTableFunc_t get_export_table) {
  if (get_export_table == nullptr || !StartTracer() || !Config().wants_nvtx) return 1;
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

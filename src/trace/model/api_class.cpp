#include "trace/model/api_class.h"

#include <algorithm>

namespace gprof {
namespace {

struct Rule {
  std::string_view prefix;  // of the name without "cuda", "cu" or "hip"; the longest that fits decides
  ApiClass api_class;
};

// Where to add a function: a name that no rule fits is kOther.
constexpr Rule kRules[] = {
    {"Launch", ApiClass::kLaunch},
    {"LaunchHostFunc", ApiClass::kStream},
    {"ModuleLaunch", ApiClass::kLaunch},  // hipModuleLaunchKernel
    {"ExtLaunch", ApiClass::kLaunch},     // hipExtLaunchKernel
    {"ExtModuleLaunch", ApiClass::kLaunch},
    {"GraphLaunch", ApiClass::kGraphLaunch},

    {"Memcpy", ApiClass::kCopy},
    {"Memset", ApiClass::kMemset},

    {"DeviceSynchronize", ApiClass::kSync},
    {"ThreadSynchronize", ApiClass::kSync},
    {"CtxSynchronize", ApiClass::kSync},
    {"StreamSynchronize", ApiClass::kSync},
    {"EventSynchronize", ApiClass::kSync},

    {"Malloc", ApiClass::kMemory},
    {"Free", ApiClass::kMemory},
    {"Mem", ApiClass::kMemory},  // MemAlloc, MemFree, MemHostRegister, MemPool…, MemMap, MemPrefetch…, MemAdvise
    {"HostAlloc", ApiClass::kMemory},
    {"HostRegister", ApiClass::kMemory},
    {"HostUnregister", ApiClass::kMemory},
    {"Array", ApiClass::kMemory},
    {"MipmappedArray", ApiClass::kMemory},
    {"IpcOpenMemHandle", ApiClass::kMemory},
    {"IpcCloseMemHandle", ApiClass::kMemory},
    {"DeviceSetMemPool", ApiClass::kMemory},
    {"DeviceGraphMemTrim", ApiClass::kMemory},
    {"DeviceEnablePeerAccess", ApiClass::kLoad},
    {"DeviceDisablePeerAccess", ApiClass::kLoad},
    {"CtxEnablePeerAccess", ApiClass::kLoad},
    {"CtxDisablePeerAccess", ApiClass::kLoad},

    {"Init", ApiClass::kLoad},
    {"SetDevice", ApiClass::kLoad},  // makes the primary context since CUDA 12
    {"CtxCreate", ApiClass::kLoad},
    {"CtxDestroy", ApiClass::kLoad},
    {"DevicePrimaryCtxRetain", ApiClass::kLoad},
    {"DevicePrimaryCtxRelease", ApiClass::kLoad},
    {"DevicePrimaryCtxReset", ApiClass::kLoad},
    {"DeviceReset", ApiClass::kLoad},
    {"Module", ApiClass::kLoad},
    {"ModuleGetGlobal", ApiClass::kLoad},
    {"ModuleGetLoadingMode", ApiClass::kQuery},
    {"Library", ApiClass::kLoad},
    {"KernelGetFunction", ApiClass::kLoad},  // loads the kernel when loading is lazy
    {"Link", ApiClass::kLoad},
    {"FuncLoad", ApiClass::kLoad},
    {"GraphInstantiate", ApiClass::kLoad},
    {"GraphUpload", ApiClass::kLoad},

    {"Get", ApiClass::kQuery},
    {"PeekAtLastError", ApiClass::kQuery},
    {"ChooseDevice", ApiClass::kQuery},
    {"DriverGetVersion", ApiClass::kQuery},
    {"RuntimeGetVersion", ApiClass::kQuery},
    {"DeviceGet", ApiClass::kQuery},
    {"DeviceCanAccessPeer", ApiClass::kQuery},
    {"DeviceComputeCapability", ApiClass::kQuery},
    {"DeviceTotalMem", ApiClass::kQuery},
    {"DevicePrimaryCtxGetState", ApiClass::kQuery},
    {"CtxGet", ApiClass::kQuery},
    {"MemGet", ApiClass::kQuery},
    {"MemHostGet", ApiClass::kQuery},
    {"MemPoolGet", ApiClass::kQuery},
    {"MemRangeGet", ApiClass::kQuery},
    {"HostGet", ApiClass::kQuery},
    {"PointerGet", ApiClass::kQuery},
    {"FuncGet", ApiClass::kQuery},
    {"KernelGet", ApiClass::kQuery},
    {"Occupancy", ApiClass::kQuery},
    {"StreamQuery", ApiClass::kQuery},
    {"StreamGet", ApiClass::kQuery},
    {"StreamIsCapturing", ApiClass::kQuery},
    {"EventQuery", ApiClass::kQuery},
    {"EventElapsedTime", ApiClass::kQuery},
    {"ArrayGet", ApiClass::kQuery},
    {"MipmappedArrayGet", ApiClass::kQuery},
    {"ThreadExchangeStreamCaptureMode", ApiClass::kStream},

    {"Stream", ApiClass::kStream},
    {"Event", ApiClass::kEvent},
};

bool TakePrefix(std::string_view* text, std::string_view prefix) {
  if (text->substr(0, prefix.size()) != prefix) return false;
  text->remove_prefix(prefix.size());
  return true;
}

bool TakeSuffix(std::string_view* text, std::string_view suffix) {
  if (text->size() < suffix.size() || text->substr(text->size() - suffix.size()) != suffix) return false;
  text->remove_suffix(suffix.size());
  return true;
}

// _v2, _v3020, _v12000
bool TakeVersionSuffix(std::string_view* text) {
  const std::size_t at = text->find_last_not_of("0123456789");
  if (at == std::string_view::npos || at + 1 == text->size() || at == 0) return false;
  if (text->substr(at - 1, 2) != "_v") return false;
  text->remove_suffix(text->size() - (at - 1));
  return true;
}

}  // namespace

std::string_view WithoutVersion(std::string_view function) {
  while (TakeSuffix(&function, "_ptsz") || TakeSuffix(&function, "_ptds") || TakeVersionSuffix(&function)) {
  }
  return function;
}

ApiClass ClassifyApi(std::string_view function) {
  std::string_view name = WithoutVersion(function);
  // AMD's functions have the names of CUDA's.
  if (!TakePrefix(&name, "cuda") && !TakePrefix(&name, "cu") && !TakePrefix(&name, "hip")) return ApiClass::kOther;
  const Rule* best = nullptr;
  for (const Rule& rule : kRules) {
    const bool fits = name.substr(0, rule.prefix.size()) == rule.prefix;
    if (fits && (best == nullptr || rule.prefix.size() > best->prefix.size())) best = &rule;
  }
  return best == nullptr ? ApiClass::kOther : best->api_class;
}

trace::SyncKind SyncKindOf(std::string_view function) {
  const auto has = [&](std::string_view part) { return function.find(part) != std::string_view::npos; };
  if (has("StreamWaitEvent")) return trace::SyncKind::kStreamWaitEvent;
  if (has("EventSynchronize")) return trace::SyncKind::kEvent;
  if (has("StreamSynchronize")) return trace::SyncKind::kStream;
  const bool is_context = has("DeviceSynchronize") || has("ThreadSynchronize") || has("CtxSynchronize");
  return is_context ? trace::SyncKind::kContext : trace::SyncKind::kUnknown;
}

StreamCapture StreamCaptureOf(std::string_view function) {
  if (function.find("StreamBeginCapture") != std::string_view::npos) return StreamCapture::kBegin;
  if (function.find("StreamEndCapture") != std::string_view::npos) return StreamCapture::kEnd;
  return StreamCapture::kNeither;
}

}  // namespace gprof

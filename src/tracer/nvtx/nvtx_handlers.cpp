// One handler for each NVTX function, and the tables that name them.
#include <cstring>

#include "tracer/core/tracer.h"
#include "tracer/nvtx/given_names.h"
#include "tracer/nvtx/nvtx_hooks.h"
#include "tracer/nvtx/nvtx_row.h"
#include "tracer/store/interned_names.h"
#include "tracer/system/system_calls.h"

namespace gprof::tracer {
namespace {

// Handles are small numbers dressed as pointers: no memory, valid in every shared object of the process.
nvtxDomainHandle_t DomainHandle(uint32_t number) { return reinterpret_cast<nvtxDomainHandle_t>(uintptr_t{number}); }
nvtxStringHandle_t StringHandle(trace::StringId id) {
  return reinterpret_cast<nvtxStringHandle_t>(uintptr_t{id.value});
}

// The child of a fork has its parent's names once the tracer runs in it, and must not touch them before.
bool HasNames() { return IsRecording() || StartTracer(); }

trace::StringId InternName(const char* text) { return HasNames() ? Names().Intern(text) : trace::StringId{}; }

trace::StringId InternWide(const wchar_t* text) {
  char utf8[kMaxNameBytes];
  if (text == nullptr || !HasNames()) return {};
  return Names().Intern(utf8, ToUtf8(text, utf8, sizeof utf8));
}

// It has a message of this type and nothing else.
bool HasMessageAlone(const nvtxEventAttributes_t* a, int32_t type) {
  if (a == nullptr || a->size < sizeof *a || a->messageType != type) return false;
  return (a->category | static_cast<uint32_t>(a->colorType) | static_cast<uint32_t>(a->payloadType)) == 0;
}

// What an event's attributes say, as far as the caller's (perhaps older) struct goes.
struct EventAttributes {
  NvtxText text;
  NvtxAttributes rest{};
  bool has_rest = false;

  NvtxPayloads payloads;

  EventAttributes(const EventAttributes&) = delete;
  EventAttributes& operator=(const EventAttributes&) = delete;
  ~EventAttributes() {
    if (payloads.count != 0) event_payloads = nullptr;
  }
  explicit EventAttributes(const nvtxEventAttributes_t* given) {
    if (given == nullptr) return;
    nvtxEventAttributes_t filled_up;
    if (__builtin_expect(given->size < sizeof filled_up, 0)) {
      std::memset(&filled_up, 0, sizeof filled_up);
      std::memcpy(&filled_up, given, given->size);
      given = &filled_up;
    }
    ReadMessage(*given);
    ReadRest(*given);
  }
  const NvtxAttributes* Rest() const { return has_rest ? &rest : nullptr; }

 private:
  void ReadMessage(const nvtxEventAttributes_t& a) {
    if (a.messageType == NVTX_MESSAGE_TYPE_REGISTERED) {
      text.id = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(a.message.registered));
    } else if (a.messageType == NVTX_MESSAGE_TYPE_ASCII) {
      text = PlainText(a.message.ascii);
    } else if (a.messageType == NVTX_MESSAGE_TYPE_UNICODE) {
      text.id = InternWide(a.message.unicode).value;
    }
  }

  void ReadRest(const nvtxEventAttributes_t& a) {
    rest.category = a.category;
    if (a.colorType == NVTX_COLOR_ARGB) rest.color = a.color;
    if (a.payloadType != NVTX_PAYLOAD_UNKNOWN) {
      rest.payload_type = static_cast<uint32_t>(PayloadTypeOf(a.payloadType));
      if (rest.payload_type != 0) std::memcpy(&rest.payload, &a.payload, sizeof rest.payload);
      KeepPayloadBits();
      if (rest.payload_type == static_cast<uint32_t>(trace::PayloadType::kExtended)) CarryPayloads(a);
    }
    has_rest = rest.category != 0 || rest.color != 0 || rest.payload_type != 0;
  }

  // For the row that is written next.
  void CarryPayloads(const nvtxEventAttributes_t& a) {
    if (a.reserved0 <= 0 || a.payload.ullValue == 0) return;
    payloads = {reinterpret_cast<const nvtxPayloadData_t*>(static_cast<uintptr_t>(a.payload.ullValue)),
                static_cast<std::size_t>(a.reserved0)};
    event_payloads = &payloads;
  }

  static trace::PayloadType PayloadTypeOf(int32_t type) {
    constexpr int32_t kExtended = static_cast<int32_t>(0xDFBD0009);
    switch (type) {
      case NVTX_PAYLOAD_TYPE_UNSIGNED_INT64:
        return trace::PayloadType::kUnsigned64;
      case NVTX_PAYLOAD_TYPE_INT64:
        return trace::PayloadType::kSigned64;
      case NVTX_PAYLOAD_TYPE_DOUBLE:
        return trace::PayloadType::kDouble;
      case NVTX_PAYLOAD_TYPE_UNSIGNED_INT32:
        return trace::PayloadType::kUnsigned32;
      case NVTX_PAYLOAD_TYPE_INT32:
        return trace::PayloadType::kSigned32;
      case NVTX_PAYLOAD_TYPE_FLOAT:
        return trace::PayloadType::kFloat;
      case kExtended:
        return trace::PayloadType::kExtended;
      default:
        return trace::PayloadType::kNone;
    }
  }
  // The upper half of a 32-bit payload is whatever was on the caller's stack; an extended one is a pointer of the
  // target's, which means nothing in a file.
  void KeepPayloadBits() {
    const auto type = static_cast<trace::PayloadType>(rest.payload_type);
    const bool is_short = type == trace::PayloadType::kUnsigned32 || type == trace::PayloadType::kSigned32 ||
                          type == trace::PayloadType::kFloat;
    if (is_short) rest.payload &= 0xFFFFFFFFu;
    if (type == trace::PayloadType::kExtended) rest.payload = 0;
  }
};

[[gnu::noinline]] int PushWithAttributes(uint32_t domain, const nvtxEventAttributes_t* a) {
  const EventAttributes e(a);
  return Push(domain, e.text, e.Rest());
}

int PushEvent(uint32_t domain, const nvtxEventAttributes_t* a) {
  if (HasMessageAlone(a, NVTX_MESSAGE_TYPE_REGISTERED)) {
    return PushKnown(domain, static_cast<uint32_t>(reinterpret_cast<uintptr_t>(a->message.registered)));
  }
  if (HasMessageAlone(a, NVTX_MESSAGE_TYPE_ASCII)) return PushNamed(domain, a->message.ascii);
  return PushWithAttributes(domain, a);
}

void NameObject(trace::NvtxNameKind kind, uint64_t handle, uint32_t domain, trace::StringId name) {
  if (HasNames()) {
    AddGivenName({GivenNameType::kObject, static_cast<uint8_t>(kind), domain, handle, name, Stamp()});
  }
}

void NameCategory(uint32_t domain, uint32_t category, trace::StringId name) {
  if (HasNames()) AddGivenName({GivenNameType::kCategory, 0, domain, category, name, Stamp()});
}

nvtxDomainHandle_t CreateDomain(trace::StringId name) { return DomainHandle(HasNames() ? DomainOf(name) : 0); }

template <class Handle>
uint64_t Bits(Handle handle) {
  if constexpr (std::is_pointer_v<Handle>) {
    return reinterpret_cast<uintptr_t>(handle);
  } else {
    return static_cast<uint64_t>(handle);
  }
}

// Naming functions differ in the kind of object and of character only.
template <trace::NvtxNameKind kKind, class Handle>
void NVTX_API NameA(Handle handle, const char* name) {
  ErrnoGuard errno_guard;
  NameObject(kKind, Bits(handle), 0, InternName(name));
}
template <trace::NvtxNameKind kKind, class Handle>
void NVTX_API NameW(Handle handle, const wchar_t* name) {
  ErrnoGuard errno_guard;
  NameObject(kKind, Bits(handle), 0, InternWide(name));
}

// ---- core: the default domain ----

void NVTX_API MarkEx(const nvtxEventAttributes_t* a) {
  const EventAttributes e(a);
  Mark(0, e.text, e.Rest());
}
void NVTX_API MarkA(const char* text) { MarkNamed(0, text); }
void NVTX_API MarkW(const wchar_t* text) { Mark(0, {nullptr, 0, InternWide(text).value}, nullptr); }
nvtxRangeId_t NVTX_API RangeStartEx(const nvtxEventAttributes_t* a) {
  const EventAttributes e(a);
  return Start(0, e.text, e.rest);
}
nvtxRangeId_t NVTX_API RangeStartA(const char* text) { return Start(0, PlainText(text), {}); }
nvtxRangeId_t NVTX_API RangeStartW(const wchar_t* text) { return Start(0, {nullptr, 0, InternWide(text).value}, {}); }
void NVTX_API RangeEnd(nvtxRangeId_t range) { End(0, range); }
int NVTX_API RangePushEx(const nvtxEventAttributes_t* a) { return PushEvent(0, a); }
int NVTX_API RangePushA(const char* text) { return PushNamed(0, text); }
int NVTX_API RangePushW(const wchar_t* text) { return Push(0, {nullptr, 0, InternWide(text).value}, nullptr); }
int NVTX_API RangePop() { return PopShort(0); }
void NVTX_API NameCategoryA(uint32_t category, const char* name) {
  ErrnoGuard errno_guard;
  NameCategory(0, category, InternName(name));
}
void NVTX_API NameCategoryW(uint32_t category, const wchar_t* name) {
  ErrnoGuard errno_guard;
  NameCategory(0, category, InternWide(name));
}

// ---- core2: domains ----

void NVTX_API DomainMarkEx(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* a) {
  const EventAttributes e(a);
  Mark(DomainNumber(domain), e.text, e.Rest());
}
nvtxRangeId_t NVTX_API DomainRangeStartEx(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* a) {
  const EventAttributes e(a);
  return Start(DomainNumber(domain), e.text, e.rest);
}
void NVTX_API DomainRangeEnd(nvtxDomainHandle_t domain, nvtxRangeId_t range) { End(DomainNumber(domain), range); }
int NVTX_API DomainRangePushEx(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* a) {
  return PushEvent(DomainNumber(domain), a);
}
int NVTX_API DomainRangePop(nvtxDomainHandle_t domain) { return PopShort(DomainNumber(domain)); }

nvtxResourceHandle_t NVTX_API DomainResourceCreate(nvtxDomainHandle_t domain, nvtxResourceAttributes_t* given) {
  ErrnoGuard errno_guard;
  const uint64_t number = NewResource();
  const auto handle = reinterpret_cast<nvtxResourceHandle_t>(number);
  if (given == nullptr) return handle;
  nvtxResourceAttributes_t a;
  std::memset(&a, 0, sizeof a);
  std::memcpy(&a, given, given->size < sizeof a ? given->size : sizeof a);
  trace::StringId name;
  if (a.messageType == NVTX_MESSAGE_TYPE_ASCII) name = InternName(a.message.ascii);
  if (a.messageType == NVTX_MESSAGE_TYPE_UNICODE) name = InternWide(a.message.unicode);
  if (a.messageType == NVTX_MESSAGE_TYPE_REGISTERED) {
    name.value = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(a.message.registered));
  }
  NameObject(trace::NvtxNameKind::kResource, number, DomainNumber(domain), name);
  return handle;
}
void NVTX_API DomainResourceDestroy(nvtxResourceHandle_t) {}
void NVTX_API DomainNameCategoryA(nvtxDomainHandle_t domain, uint32_t category, const char* name) {
  ErrnoGuard errno_guard;
  NameCategory(DomainNumber(domain), category, InternName(name));
}
void NVTX_API DomainNameCategoryW(nvtxDomainHandle_t domain, uint32_t category, const wchar_t* name) {
  ErrnoGuard errno_guard;
  NameCategory(DomainNumber(domain), category, InternWide(name));
}
nvtxStringHandle_t NVTX_API DomainRegisterStringA(nvtxDomainHandle_t, const char* text) {
  ErrnoGuard errno_guard;
  return StringHandle(InternName(text));
}
nvtxStringHandle_t NVTX_API DomainRegisterStringW(nvtxDomainHandle_t, const wchar_t* text) {
  ErrnoGuard errno_guard;
  return StringHandle(InternWide(text));
}
nvtxDomainHandle_t NVTX_API DomainCreateA(const char* name) {
  ErrnoGuard errno_guard;
  return CreateDomain(InternName(name));
}
nvtxDomainHandle_t NVTX_API DomainCreateW(const wchar_t* name) {
  ErrnoGuard errno_guard;
  return CreateDomain(InternWide(name));
}
// The number stays: events of the destroyed domain keep their name, and the same name may be created again.
void NVTX_API DomainDestroy(nvtxDomainHandle_t) {}
void NVTX_API Initialize(const void*) {
  ErrnoGuard errno_guard;
  StartTracer();
}

template <class F>
NvtxFunctionPointer Any(F* function) {
  return reinterpret_cast<NvtxFunctionPointer>(function);
}

using Kind = trace::NvtxNameKind;

}  // namespace

uint32_t DomainNumber(nvtxDomainHandle_t domain) { return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(domain)); }

NvtxHandlers HandlersOf(uint32_t module) {
  static const NvtxHandler core[] = {{NVTX_CBID_CORE_MarkEx, Any(MarkEx)},
                                     {NVTX_CBID_CORE_MarkA, Any(MarkA)},
                                     {NVTX_CBID_CORE_MarkW, Any(MarkW)},
                                     {NVTX_CBID_CORE_RangeStartEx, Any(RangeStartEx)},
                                     {NVTX_CBID_CORE_RangeStartA, Any(RangeStartA)},
                                     {NVTX_CBID_CORE_RangeStartW, Any(RangeStartW)},
                                     {NVTX_CBID_CORE_RangeEnd, Any(RangeEnd)},
                                     {NVTX_CBID_CORE_RangePushEx, Any(RangePushEx)},
                                     {NVTX_CBID_CORE_RangePushA, Any(RangePushA)},
                                     {NVTX_CBID_CORE_RangePushW, Any(RangePushW)},
                                     {NVTX_CBID_CORE_RangePop, Any(RangePop)},
                                     {NVTX_CBID_CORE_NameCategoryA, Any(NameCategoryA)},
                                     {NVTX_CBID_CORE_NameCategoryW, Any(NameCategoryW)},
                                     {NVTX_CBID_CORE_NameOsThreadA, Any(NameA<Kind::kThread, uint32_t>)},
                                     {NVTX_CBID_CORE_NameOsThreadW, Any(NameW<Kind::kThread, uint32_t>)}};
  static const NvtxHandler core2[] = {{NVTX_CBID_CORE2_DomainMarkEx, Any(DomainMarkEx)},
                                      {NVTX_CBID_CORE2_DomainRangeStartEx, Any(DomainRangeStartEx)},
                                      {NVTX_CBID_CORE2_DomainRangeEnd, Any(DomainRangeEnd)},
                                      {NVTX_CBID_CORE2_DomainRangePushEx, Any(DomainRangePushEx)},
                                      {NVTX_CBID_CORE2_DomainRangePop, Any(DomainRangePop)},
                                      {NVTX_CBID_CORE2_DomainResourceCreate, Any(DomainResourceCreate)},
                                      {NVTX_CBID_CORE2_DomainResourceDestroy, Any(DomainResourceDestroy)},
                                      {NVTX_CBID_CORE2_DomainNameCategoryA, Any(DomainNameCategoryA)},
                                      {NVTX_CBID_CORE2_DomainNameCategoryW, Any(DomainNameCategoryW)},
                                      {NVTX_CBID_CORE2_DomainRegisterStringA, Any(DomainRegisterStringA)},
                                      {NVTX_CBID_CORE2_DomainRegisterStringW, Any(DomainRegisterStringW)},
                                      {NVTX_CBID_CORE2_DomainCreateA, Any(DomainCreateA)},
                                      {NVTX_CBID_CORE2_DomainCreateW, Any(DomainCreateW)},
                                      {NVTX_CBID_CORE2_DomainDestroy, Any(DomainDestroy)},
                                      {NVTX_CBID_CORE2_Initialize, Any(Initialize)}};
  static const NvtxHandler cuda[] = {{NVTX_CBID_CUDA_NameCuDeviceA, Any(NameA<Kind::kDevice, int>)},
                                     {NVTX_CBID_CUDA_NameCuDeviceW, Any(NameW<Kind::kDevice, int>)},
                                     {NVTX_CBID_CUDA_NameCuContextA, Any(NameA<Kind::kContext, void*>)},
                                     {NVTX_CBID_CUDA_NameCuContextW, Any(NameW<Kind::kContext, void*>)},
                                     {NVTX_CBID_CUDA_NameCuStreamA, Any(NameA<Kind::kStream, void*>)},
                                     {NVTX_CBID_CUDA_NameCuStreamW, Any(NameW<Kind::kStream, void*>)},
                                     {NVTX_CBID_CUDA_NameCuEventA, Any(NameA<Kind::kEvent, void*>)},
                                     {NVTX_CBID_CUDA_NameCuEventW, Any(NameW<Kind::kEvent, void*>)}};
  static const NvtxHandler cudart[] = {{NVTX_CBID_CUDART_NameCudaDeviceA, Any(NameA<Kind::kDevice, int>)},
                                       {NVTX_CBID_CUDART_NameCudaDeviceW, Any(NameW<Kind::kDevice, int>)},
                                       {NVTX_CBID_CUDART_NameCudaStreamA, Any(NameA<Kind::kStream, void*>)},
                                       {NVTX_CBID_CUDART_NameCudaStreamW, Any(NameW<Kind::kStream, void*>)},
                                       {NVTX_CBID_CUDART_NameCudaEventA, Any(NameA<Kind::kEvent, void*>)},
                                       {NVTX_CBID_CUDART_NameCudaEventW, Any(NameW<Kind::kEvent, void*>)}};
  switch (module) {
    case NVTX_CB_MODULE_CORE:
      return {core, std::size(core)};
    case NVTX_CB_MODULE_CORE2:
      return {core2, std::size(core2)};
    case NVTX_CB_MODULE_CUDA:
      return {cuda, std::size(cuda)};
    case NVTX_CB_MODULE_CUDART:
      return {cudart, std::size(cudart)};
    default:
      return {nullptr, 0};
  }
}

}  // namespace gprof::tracer

// The functions of the payload extension, and hooking them into the tables of the program's shared objects.
#include "tracer/core/tracer.h"
#include "tracer/nvtx/nvtx_row.h"
#include "tracer/nvtx/payload_capture.h"
#include "tracer/system/system_calls.h"

namespace gprof::tracer {
namespace {

constexpr uint16_t kPayloadModule = NVTX_EXT_PAYLOAD_MODULEID;

// Slots of the payload extension (nvToolsExtPayload.h).
enum Slot : std::size_t {
  kSchemaRegister = 0,
  kEnumRegister = 1,
  kMarkPayload = 2,
  kPushPayload = 3,
  kPopPayload = 4,
  kStartPayload = 5,
  kEndPayload = 6,
  kDomainIsEnabled = 7,
};

bool HasTracer() { return IsRecording() || StartTracer(); }

uint64_t NVTX_API SchemaRegister(nvtxDomainHandle_t domain, const nvtxPayloadSchemaAttr_t* schema) {
  ErrnoGuard errno_guard;
  return schema != nullptr && HasTracer() ? RegisterSchema(DomainNumber(domain), *schema) : 0;
}
uint64_t NVTX_API EnumRegister(nvtxDomainHandle_t domain, const nvtxPayloadEnumAttr_t* enumeration) {
  ErrnoGuard errno_guard;
  return enumeration != nullptr && HasTracer() ? RegisterEnum(DomainNumber(domain), *enumeration) : 0;
}

// Nothing to carry is an event all the same.
const NvtxPayloads* Carried(const NvtxPayloads& payloads) {
  return payloads.first != nullptr && payloads.count != 0 ? &payloads : nullptr;
}

void NVTX_API MarkPayload(nvtxDomainHandle_t handle, const nvtxPayloadData_t* first, std::size_t count) {
  const uint32_t domain = DomainNumber(handle);
  const NvtxPayloads payloads{first, first != nullptr ? count : 0};
  const PayloadScope scope(Carried(payloads));
  Mark(domain, MessageOf(domain, payloads), nullptr);
}
int NVTX_API PushPayload(nvtxDomainHandle_t handle, const nvtxPayloadData_t* first, std::size_t count) {
  const uint32_t domain = DomainNumber(handle);
  const NvtxPayloads payloads{first, first != nullptr ? count : 0};
  const PayloadScope scope(Carried(payloads));
  return Push(domain, MessageOf(domain, payloads), nullptr);
}
int NVTX_API PopPayload(nvtxDomainHandle_t handle, const nvtxPayloadData_t* first, std::size_t count) {
  const NvtxPayloads payloads{first, count};
  const PayloadScope scope(Carried(payloads));
  return Pop(DomainNumber(handle));
}
uint64_t NVTX_API StartPayload(nvtxDomainHandle_t handle, const nvtxPayloadData_t* first, std::size_t count) {
  const uint32_t domain = DomainNumber(handle);
  const NvtxPayloads payloads{first, first != nullptr ? count : 0};
  const PayloadScope scope(Carried(payloads));
  return Start(domain, MessageOf(domain, payloads), {});
}
void NVTX_API EndPayload(nvtxDomainHandle_t handle, nvtxRangeId_t range, const nvtxPayloadData_t* first,
                         std::size_t count) {
  const NvtxPayloads payloads{first, count};
  const PayloadScope scope(Carried(payloads));
  End(DomainNumber(handle), range);
}
uint8_t NVTX_API DomainIsEnabled(nvtxDomainHandle_t) {
  ErrnoGuard errno_guard;
  return HasTracer() ? 1 : 0;
}

template <class F>
void Install(const nvtxExtModuleSegment_t& segment, Slot slot, F* function) {
  if (slot < segment.slotCount) segment.functionSlots[slot] = reinterpret_cast<intptr_t>(function);
}

}  // namespace

int InstallNvtxExtension(nvtxExtModuleInfo_t* module) {
  if (module == nullptr || !IsTracerWanted() || !Config().wants_nvtx) return 1;
  if (module->moduleId != kPayloadModule || module->segmentsCount == 0 || module->segments == nullptr) return 1;
  const nvtxExtModuleSegment_t& segment = module->segments[0];
  if (segment.functionSlots == nullptr) return 1;
  Install(segment, kSchemaRegister, SchemaRegister);
  Install(segment, kEnumRegister, EnumRegister);
  Install(segment, kMarkPayload, MarkPayload);
  Install(segment, kPushPayload, PushPayload);
  Install(segment, kPopPayload, PopPayload);
  Install(segment, kStartPayload, StartPayload);
  Install(segment, kEndPayload, EndPayload);
  Install(segment, kDomainIsEnabled, DomainIsEnabled);
  return 1;
}

}  // namespace gprof::tracer

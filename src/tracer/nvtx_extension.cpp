// The payload extension: schemas and enumerations get numbers, ranges and marks are recorded, payload bytes are not kept.
#include <atomic>
#include <cstring>

#include "names.h"
#include "nvtx.h"
#include "sys.h"
#include "tracer.h"

namespace gprof::tracer {
namespace {

constexpr uint16_t kPayloadModule = 2;
// Numbers that a tool gives are from here on; those below belong to the program.
constexpr uint64_t kFirstDynamicSchema = 1ull << 32;

// Slots of the payload extension (nvToolsExtPayload.h).
enum Slot : std::size_t {
  kSchemaRegister = 0, kEnumRegister = 1, kMarkPayload = 2, kPushPayload = 3, kPopPayload = 4, kStartPayload = 5,
  kEndPayload = 6, kDomainIsEnabled = 7,
};

// Both kinds of attributes end with the number that the program wants, 0 for "give me one"; where exactly differs
// between versions, so a program's own number is not looked up but every registration gets one of ours.
constinit std::atomic<uint64_t> next_schema{kFirstDynamicSchema};
constexpr char kName[] = "<payload>";

uint64_t NVTX_API SchemaRegister(nvtxDomainHandle_t, const void*) { return next_schema.fetch_add(1); }
uint64_t NVTX_API EnumRegister(nvtxDomainHandle_t, const void*) { return next_schema.fetch_add(1); }
void NVTX_API MarkPayload(nvtxDomainHandle_t domain, const void*, std::size_t) {
  MarkText(DomainNumber(domain), kName, sizeof kName - 1);
}
int NVTX_API PushPayload(nvtxDomainHandle_t domain, const void*, std::size_t) {
  return PushText(DomainNumber(domain), kName, sizeof kName - 1);
}
int NVTX_API PopPayload(nvtxDomainHandle_t domain, const void*, std::size_t) { return PopRange(DomainNumber(domain)); }
uint64_t NVTX_API StartPayload(nvtxDomainHandle_t domain, const void*, std::size_t) {
  return StartText(DomainNumber(domain), kName, sizeof kName - 1);
}
void NVTX_API EndPayload(nvtxDomainHandle_t domain, nvtxRangeId_t range, const void*, std::size_t) {
  EndRange(DomainNumber(domain), range);
}
uint8_t NVTX_API DomainIsEnabled(nvtxDomainHandle_t) { return IsRecording() ? 1 : 0; }

template <class F>
void Install(const nvtxExtModuleSegment_t& segment, Slot slot, F* function) {
  if (slot < segment.slotCount) segment.functionSlots[slot] = reinterpret_cast<intptr_t>(function);
}

}  // namespace

int InstallNvtxExtension(nvtxExtModuleInfo_t* module) {
  if (module == nullptr || !StartTracer() || !Config().wants_nvtx) return 1;
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

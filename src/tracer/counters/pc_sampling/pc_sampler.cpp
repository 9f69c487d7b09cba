#include "tracer/counters/pc_sampling/pc_sampler.h"

#include "tracer/counters/profiler/profiler_api.h"

#ifdef GPROF_HAS_RANGE_PROFILER
#include <cupti_pcsampling.h>
#include <dlfcn.h>
#include <stdlib.h>

#include <atomic>
#include <cstring>

#include "tracer/core/notice.h"
#include "tracer/counters/pc_sampling/loaded_code.h"
#include "tracer/counters/pc_sampling/pc_table.h"
#include "tracer/counters/request/wanted_counters.h"
#include "tracer/cupti/calls/callback_listener.h"
#include "tracer/store/interned_names.h"
#include "tracer/system/system_calls.h"

namespace gprof::tracer {
namespace {

struct PcApi {
  LibrarySymbols in;
  GPROF_SYMBOL(cuptiPCSamplingEnable);
  GPROF_SYMBOL(cuptiPCSamplingDisable);
  GPROF_SYMBOL(cuptiPCSamplingGetNumStallReasons);
  GPROF_SYMBOL(cuptiPCSamplingGetStallReasons);
  GPROF_SYMBOL(cuptiPCSamplingSetConfigurationAttribute);
  GPROF_SYMBOL(cuptiPCSamplingGetData);
  GPROF_SYMBOL(cuptiGetCubinCrc);
  GPROF_SYMBOL(cuptiGetSassToSourceCorrelation);
};
constinit PcApi api;

constinit std::atomic<bool> is_off{false};
Lock sampling_lock;  // of contexts and of what is taken from them

bool Bind() {
  api = PcApi{LibrarySymbols(Cupti().in.library())};
  return api.in.missing() == nullptr;
}

void SayNone(const char* what, CUptiResult result) {
  Message message;
  const int code = static_cast<int>(result);
  if (code == 26 || code == 35) return SayProfilerFailed(what, result);
  message << "instructions are not sampled: " << what << " returned " << Cupti().NameOf(result);
  Say(trace::NoticeLevel::kWarning, message);
}

bool Check(const char* what, CUptiResult result) {
  if (result != CUPTI_SUCCESS) SayNone(what, result);
  return result == CUPTI_SUCCESS;
}

// What a sample counts for: a reason by its name, or nothing that is wanted.
struct Reasons {
  static constexpr uint32_t kMost = 256;
  trace::StringId names[kMost] = {};
  std::size_t count = 0;
};
Reasons reasons;

// "smsp__pcsamp_warps_issue_stalled_wait" is "wait"; those that end in _not_issued are among the others.
trace::StringId NameOfReason(const char* text) {
  constexpr char kPrefix[] = "smsp__pcsamp_warps_issue_stalled_", kSubset[] = "_not_issued";
  constexpr std::size_t kPrefixSize = sizeof kPrefix - 1, kSubsetSize = sizeof kSubset - 1;
  const std::size_t size = std::strlen(text);
  if (std::strncmp(text, kPrefix, kPrefixSize) != 0) return {};
  if (size > kSubsetSize && std::strcmp(text + size - kSubsetSize, kSubset) == 0) return {};
  return Names().Intern(text + kPrefixSize);
}

bool ReadReasons(CUcontext context) {
  CUpti_PCSamplingGetNumStallReasonsParams number = {};
  number.size = CUpti_PCSamplingGetNumStallReasonsParamsSize;
  number.ctx = context;
  number.numStallReasons = &reasons.count;
  if (!Check("cuptiPCSamplingGetNumStallReasons", api.cuptiPCSamplingGetNumStallReasons(&number))) return false;
  const std::size_t count = reasons.count;
  auto* texts = static_cast<char*>(MapMemory(count * CUPTI_STALL_REASON_STRING_SIZE));
  auto** list = static_cast<char**>(MapMemory(count * sizeof(char*)));
  auto* index = static_cast<uint32_t*>(MapMemory(count * sizeof(uint32_t)));
  if (texts == nullptr || list == nullptr || index == nullptr) return false;
  for (std::size_t i = 0; i < count; ++i) list[i] = texts + i * CUPTI_STALL_REASON_STRING_SIZE;
  CUpti_PCSamplingGetStallReasonsParams p = {};
  p.size = CUpti_PCSamplingGetStallReasonsParamsSize;
  p.ctx = context;
  p.numStallReasons = count;
  p.stallReasonIndex = index;
  p.stallReasons = list;
  if (!Check("cuptiPCSamplingGetStallReasons", api.cuptiPCSamplingGetStallReasons(&p))) return false;
  for (std::size_t i = 0; i < count; ++i) {
    if (index[i] < Reasons::kMost) reasons.names[index[i]] = NameOfReason(list[i]);
  }
  return true;
}

// Room for what CUPTI hands over.
bool MakeData(std::size_t instructions, CUpti_PCSamplingData* data) {
  *data = {};
  data->size = sizeof *data;
  data->collectNumPcs = instructions;
  data->pPcData = static_cast<CUpti_PCSamplingPCData*>(MapMemory(instructions * sizeof(CUpti_PCSamplingPCData)));
  auto* stalls = static_cast<CUpti_PCSamplingStallReason*>(
      MapMemory(instructions * reasons.count * sizeof(CUpti_PCSamplingStallReason)));
  if (data->pPcData == nullptr || stalls == nullptr) return false;
  for (std::size_t i = 0; i < instructions; ++i) {
    data->pPcData[i].size = sizeof(CUpti_PCSamplingPCData);
    data->pPcData[i].stallReason = stalls + i * reasons.count;
  }
  return true;
}

SourceLine LineOf(const SampledInstruction& at) {
  // One instruction comes with all its reasons at once.
  static SampledInstruction last;
  static SourceLine last_line;
  if (last.cubin == at.cubin && last.offset == at.offset && last.kernel == at.kernel) return last_line;
  last = at;
  last_line = {};
  const LoadedCode code = FindLoadedCode(at.cubin);
  // To look for a line takes time even where there is none.
  if (!code.has_lines) return last_line;
  char function[kMaxNameBytes + 1] = {};
  const trace::Text name = Names().TextOf(at.kernel);
  std::memcpy(function, name.data, name.size < kMaxNameBytes ? name.size : kMaxNameBytes);
  CUpti_GetSassToSourceCorrelationParams p = {};
  p.size = CUpti_GetSassToSourceCorrelationParamsSize;
  p.cubin = code.bytes;
  p.cubinSize = code.size;
  p.functionName = function;
  p.pcOffset = at.offset;
  if (api.cuptiGetSassToSourceCorrelation(&p) == CUPTI_SUCCESS && p.fileName != nullptr && p.lineNumber != 0) {
    Message path;
    if (p.dirName != nullptr && p.dirName[0] != 0 && p.fileName[0] != '/') path << p.dirName << "/";
    path << p.fileName;
    last_line = {Names().Intern(path.c_str()), p.lineNumber};
  }
  free(p.fileName);
  free(p.dirName);
  return last_line;
}

uint64_t lost_samples = 0;

void Take(const CUpti_PCSamplingPCData& pc) {
  const SampledInstruction at = {pc.cubinCrc, pc.pcOffset,
                                 Names().Intern(pc.functionName != nullptr ? pc.functionName : "")};
  const char* folder = TheCounterRequest()->code_folder;
  if (folder != nullptr) WriteLoadedCode(folder, at.cubin);
  for (std::size_t i = 0; i < pc.stallReasonCount; ++i) {
    const CUpti_PCSamplingStallReason& stall = pc.stallReason[i];
    const uint32_t index = stall.pcSamplingStallReasonIndex;
    if (index >= Reasons::kMost || reasons.names[index] == trace::StringId{} || stall.samples == 0) continue;
    if (!AddPcSamples(at, reasons.names[index], stall.samples, LineOf)) lost_samples += stall.samples;
  }
  // CUPTI allocates the name, once for all records of the function: it is theirs to the end.
}

void TakeAll(CUpti_PCSamplingData* data) {
  for (std::size_t i = 0; i < data->totalNumPcs; ++i) Take(data->pPcData[i]);
  lost_samples += data->droppedSamples;
  data->totalNumPcs = 0;
}

// ---- contexts ----

constexpr uint32_t kMaxContexts = 16;
struct SampledContext {
  CUcontext context = nullptr;
  CUpti_PCSamplingData last = {};  // what is left when sampling ends comes in here
};
SampledContext contexts[kMaxContexts];
CUpti_PCSamplingData polled = {};

bool Configure(SampledContext* sampled) {
  CUpti_PCSamplingConfigurationInfo infos[3] = {};
  infos[0].attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_DATA_BUFFER;
  infos[0].attributeData.samplingDataBufferData.samplingDataBuffer = &sampled->last;
  infos[1].attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_COLLECTION_MODE;
  infos[1].attributeData.collectionModeData.collectionMode = CUPTI_PC_SAMPLING_COLLECTION_MODE_CONTINUOUS;
  infos[2].attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD;
  infos[2].attributeData.samplingPeriodData.samplingPeriod = TheCounterRequest()->sampling_period;
  CUpti_PCSamplingConfigurationInfoParams p = {};
  p.size = CUpti_PCSamplingConfigurationInfoParamsSize;
  p.ctx = sampled->context;
  p.numAttributes = TheCounterRequest()->sampling_period == 0 ? 2 : 3;
  p.pPCSamplingConfigurationInfo = infos;
  return Check("cuptiPCSamplingSetConfigurationAttribute", api.cuptiPCSamplingSetConfigurationAttribute(&p));
}

bool Begin(SampledContext* sampled) {
  constexpr std::size_t kInstructions = 20'000;
  CUpti_PCSamplingEnableParams enable = {};
  enable.size = CUpti_PCSamplingEnableParamsSize;
  enable.ctx = sampled->context;
  if (!Check("cuptiPCSamplingEnable", api.cuptiPCSamplingEnable(&enable))) return false;
  if (reasons.count == 0 && !ReadReasons(sampled->context)) return false;
  if (polled.pPcData == nullptr && !MakeData(kInstructions, &polled)) return false;
  return MakeData(kInstructions, &sampled->last) && Configure(sampled);
}

void Poll(const SampledContext& sampled) {
  constexpr int kMostRounds = 1000;
  CUpti_PCSamplingGetDataParams p = {};
  p.size = CUpti_PCSamplingGetDataParamsSize;
  p.ctx = sampled.context;
  p.pcSamplingData = &polled;
  for (int i = 0; i < kMostRounds; ++i) {
    const CUptiResult result = api.cuptiPCSamplingGetData(&p);
    // Its buffer was full: what came meanwhile is lost, and it goes on.
    if (result != CUPTI_SUCCESS && result != CUPTI_ERROR_OUT_OF_MEMORY) return;
    const bool is_all = polled.remainingNumPcs == 0;
    TakeAll(&polled);
    if (is_all) return;
  }
}

void End(SampledContext* sampled) {
  Poll(*sampled);
  CUpti_PCSamplingDisableParams p = {};
  p.size = CUpti_PCSamplingDisableParamsSize;
  p.ctx = sampled->context;
  if (api.cuptiPCSamplingDisable(&p) == CUPTI_SUCCESS) TakeAll(&sampled->last);
  sampled->context = nullptr;
  if (lost_samples == 0) return;
  Message message;
  message << lost_samples << " instruction samples were lost: the hardware buffer or the sample table was full";
  Say(trace::NoticeLevel::kWarning, message);
  lost_samples = 0;
}

// ---- its thread ----

constinit std::atomic<uint32_t> poll_word{0};
constinit std::atomic<bool> has_thread{false}, thread_ends{false};

void* RunPoll(void* name) {
  constexpr uint64_t kPeriodNs = 100'000'000;
  NameThread(static_cast<const char*>(name));
  while (!thread_ends.load(std::memory_order_acquire)) {
    FutexWait(&poll_word, poll_word.load(), kPeriodNs);
    if (is_off.load(std::memory_order_acquire)) continue;
    const LockGuard guard(sampling_lock);
    for (const SampledContext& sampled : contexts) {
      if (sampled.context != nullptr && !is_off.load()) Poll(sampled);
    }
  }
  return nullptr;
}

// ---- callbacks ----

void OnContextCreated(CUcontext context) {
  const LockGuard guard(sampling_lock);
  static const bool is_bound = Bind() && MakeRoomForPcSamples();
  if (!is_bound) return SayNone("libcupti", CUPTI_ERROR_NOT_SUPPORTED);
  for (SampledContext& sampled : contexts) {
    if (sampled.context != nullptr) continue;
    sampled.context = context;
    if (!Begin(&sampled)) sampled.context = nullptr;
    break;
  }
  if (!has_thread.exchange(true)) StartThread(RunPoll, "gprof-samples");
}

void OnContextGoes(CUcontext context) {
  const LockGuard guard(sampling_lock);
  for (SampledContext& sampled : contexts) {
    if (sampled.context != nullptr && sampled.context == context) End(&sampled);
  }
}

void OnModuleLoaded(const CUpti_ModuleResourceData* module) {
  if (module == nullptr || module->pCubin == nullptr || module->cubinSize == 0) return;
  const auto checksum_of =
      reinterpret_cast<decltype(&::cuptiGetCubinCrc)>(dlsym(Cupti().in.library(), "cuptiGetCubinCrc"));
  CUpti_GetCubinCrcParams p = {};
  p.size = CUpti_GetCubinCrcParamsSize;
  p.cubin = module->pCubin;
  p.cubinSize = module->cubinSize;
  if (checksum_of != nullptr && checksum_of(&p) == CUPTI_SUCCESS)
    NoteLoadedCode(p.cubinCrc, module->pCubin, module->cubinSize);
}

void Subscribe(CUpti_SubscriberHandle subscriber) {
  for (const CUpti_CallbackId cbid :
       {CUPTI_CBID_RESOURCE_MODULE_LOADED, CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING}) {
    Cupti().cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE, cbid);
  }
}

bool TakeCallback(CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void* data) {
  if (is_off.load(std::memory_order_relaxed) || domain != CUPTI_CB_DOMAIN_RESOURCE || data == nullptr) return false;
  ErrnoGuard errno_guard;
  const auto* resource = static_cast<const CUpti_ResourceData*>(data);
  if (cbid == CUPTI_CBID_RESOURCE_MODULE_LOADED)
    OnModuleLoaded(static_cast<const CUpti_ModuleResourceData*>(resource->resourceDescriptor));
  if (cbid == CUPTI_CBID_RESOURCE_CONTEXT_CREATED) OnContextCreated(resource->context);
  if (cbid == CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING) OnContextGoes(resource->context);
  return false;
}

void OnDriverGoes() {
  const LockGuard guard(sampling_lock);
  for (SampledContext& sampled : contexts) {
    if (sampled.context != nullptr) End(&sampled);
  }
}

constexpr CallbackListener kListener = {.subscribe = Subscribe, .take = TakeCallback, .driver_goes = OnDriverGoes};

}  // namespace

void StartPcSampling() { callback_listener = &kListener; }

void StopPcSampling(StopReason why) {
  is_off.store(true, std::memory_order_release);
  if (why != StopReason::kThreadsEnd) return;
  thread_ends.store(true, std::memory_order_release);
  poll_word.fetch_add(1, std::memory_order_release);
  FutexWake(&poll_word);
}

void ResetPcSamplingAfterFork() {
  is_off.store(false, std::memory_order_relaxed);
  has_thread.store(false, std::memory_order_relaxed);
  sampling_lock.ResetAfterFork();
  for (SampledContext& sampled : contexts) sampled.context = nullptr;
  ForgetPcSamplesAfterFork();
}

}  // namespace gprof::tracer

#else

namespace gprof::tracer {
void StartPcSampling() {}
void StopPcSampling(StopReason) {}
void ResetPcSamplingAfterFork() {}
}  // namespace gprof::tracer
#endif

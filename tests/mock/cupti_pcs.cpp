// PC sampling of the libcupti double: three instructions of each kernel, sampled as its blocks say (README.md). What
// the first kernel gave is kept back until sampling ends, as the real library keeps some.
#include "cupti_pcs.h"

#include <cupti_pcsampling.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

#include "cupti_session.h"

namespace mock {
namespace {

constexpr uint64_t kChecksum = 0xc0de;
constexpr const char* kReasons[] = {"smsp__pcsamp_sample_count", "smsp__pcsamp_warps_issue_stalled_long_scoreboard",
                                    "smsp__pcsamp_warps_issue_stalled_long_scoreboard_not_issued",
                                    "smsp__pcsamp_warps_issue_stalled_selected"};
constexpr size_t kReasonCount = std::size(kReasons);

struct Sampling {
  bool is_enabled = false;
  CUpti_PCSamplingData* last = nullptr;
  std::map<std::string, uint32_t> blocks, late_blocks;  // by kernel, not handed over yet
};
Sampling sampling;

// CUPTI hands out one text for all records of a function.
char* NameOf(const std::string& kernel) {
  static std::map<std::string, char*> names;
  char*& name = names[kernel];
  if (name == nullptr) name = strdup(kernel.c_str());
  return name;
}

void AddInstruction(CUpti_PCSamplingData* data, const std::string& kernel, uint64_t offset, uint32_t stalled,
                    uint32_t issued) {
  CUpti_PCSamplingPCData& pc = data->pPcData[data->totalNumPcs++];
  pc.cubinCrc = kChecksum;
  pc.pcOffset = offset;
  pc.functionName = NameOf(kernel);
  pc.stallReasonCount = 3;
  pc.stallReason[0] = {1, stalled};
  pc.stallReason[1] = {2, stalled};
  pc.stallReason[2] = {3, issued};
  data->totalSamples += stalled + issued;
}

void HandOver(std::map<std::string, uint32_t>* blocks, CUpti_PCSamplingData* data) {
  data->totalNumPcs = data->remainingNumPcs = 0;
  data->totalSamples = data->droppedSamples = 0;
  for (const auto& [kernel, count] : *blocks) {
    AddInstruction(data, kernel, 0x00, 0, count);
    AddInstruction(data, kernel, 0x10, 8 * count, 0);
    AddInstruction(data, kernel, 0x20, count, count);
  }
  blocks->clear();
}

}  // namespace

void NoteSampledKernel(const Op& op) {
  if (!sampling.is_enabled || op.kind != OpKind::kKernel || op.name == nullptr) return;
  auto& blocks = sampling.late_blocks.empty() ? sampling.late_blocks : sampling.blocks;
  blocks[op.name] += op.grid.x * op.grid.y * op.grid.z;
}

}  // namespace mock

using namespace mock;  // NOLINT: the functions below are C symbols in the global namespace

extern "C" {

CUptiResult cuptiPCSamplingEnable(CUpti_PCSamplingEnableParams*) {
  const auto asked = static_cast<CUptiResult>(EnvNumber("MOCK_PC_ENABLE", 0));
  sampling.is_enabled = asked == CUPTI_SUCCESS;
  return asked;
}

CUptiResult cuptiPCSamplingGetNumStallReasons(CUpti_PCSamplingGetNumStallReasonsParams* p) {
  *p->numStallReasons = kReasonCount;
  return sampling.is_enabled ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_OPERATION;
}

CUptiResult cuptiPCSamplingGetStallReasons(CUpti_PCSamplingGetStallReasonsParams* p) {
  for (size_t i = 0; i < kReasonCount; ++i) {
    p->stallReasonIndex[i] = static_cast<uint32_t>(i);
    std::strncpy(p->stallReasons[i], kReasons[i], CUPTI_STALL_REASON_STRING_SIZE - 1);
  }
  return CUPTI_SUCCESS;
}

CUptiResult cuptiPCSamplingSetConfigurationAttribute(CUpti_PCSamplingConfigurationInfoParams* p) {
  for (size_t i = 0; i < p->numAttributes; ++i) {
    const CUpti_PCSamplingConfigurationInfo& info = p->pPCSamplingConfigurationInfo[i];
    if (info.attributeType == CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_DATA_BUFFER)
      sampling.last = static_cast<CUpti_PCSamplingData*>(info.attributeData.samplingDataBufferData.samplingDataBuffer);
  }
  return sampling.last != nullptr ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

CUptiResult cuptiPCSamplingGetData(CUpti_PCSamplingGetDataParams* p) {
  if (!sampling.is_enabled) return CUPTI_ERROR_INVALID_OPERATION;
  HandOver(&sampling.blocks, static_cast<CUpti_PCSamplingData*>(p->pcSamplingData));
  return CUPTI_SUCCESS;
}

CUptiResult cuptiPCSamplingDisable(CUpti_PCSamplingDisableParams*) {
  if (!sampling.is_enabled) return CUPTI_ERROR_INVALID_OPERATION;
  sampling.is_enabled = false;
  HandOver(&sampling.late_blocks, sampling.last);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetCubinCrc(CUpti_GetCubinCrcParams* p) {
  p->cubinCrc = kChecksum;
  return CUPTI_SUCCESS;
}

// Line 10 is the first instruction's.
CUptiResult cuptiGetSassToSourceCorrelation(CUpti_GetSassToSourceCorrelationParams* p) {
  p->lineNumber = static_cast<uint32_t>(10 + p->pcOffset / 16);
  p->fileName = strdup("facts.cu");
  p->dirName = strdup("/src");
  return CUPTI_SUCCESS;
}

}  // extern "C"

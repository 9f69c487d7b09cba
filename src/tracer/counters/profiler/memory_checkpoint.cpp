#include "tracer/counters/profiler/memory_checkpoint.h"

#ifdef GPROF_HAS_RANGE_PROFILER
#include <dlfcn.h>

#include "tracer/core/notice.h"
#include "tracer/cupti/library/driver_queries.h"
#include "tracer/cupti/library/own_kernel.h"

namespace gprof::tracer {
namespace {

using NV::Cupti::Checkpoint::CUpti_Checkpoint;

struct CheckpointApi {
  LibrarySymbols in;
  CUptiResult (*save)(CUpti_Checkpoint*) = in("cuptiCheckpointSave");
  CUptiResult (*restore)(CUpti_Checkpoint*) = in("cuptiCheckpointRestore");
  CUptiResult (*free)(CUpti_Checkpoint*) = in("cuptiCheckpointFree");
};
constinit CheckpointApi checkpoints;

void SayFailed(const char* function, CUptiResult result) {
  Message message;
  message << "GPU memory could not be " << function << " " << Cupti().NameOf(result) << " ("
          << static_cast<uint64_t>(result) << ")";
  Say(trace::NoticeLevel::kWarning, message);
}

// What does not fit into the memory of the GPU goes to the host and then to files, which takes minutes.
bool FitsOnGpu() {
  constexpr uint64_t kReserveBytes = uint64_t{512} << 20;
  const GpuMemory memory = MemoryOfGpu();
  return memory.free_bytes > memory.UsedBytes() + kReserveBytes;
}

}  // namespace

bool HasCheckpoints() {
  static bool is_tried = false;
  if (is_tried) return checkpoints.save != nullptr;
  is_tried = true;
  char path[kBesidePathBytes];
  if (!PathBesideCupti("libcheckpoint.so", path)) return false;
  checkpoints = CheckpointApi{LibrarySymbols(dlopen(path, RTLD_NOW | RTLD_LOCAL))};
  if (checkpoints.in.missing() != nullptr) checkpoints = {};
  return checkpoints.save != nullptr;
}

bool MemoryCheckpoint::Save(CUcontext context) {
  if (!FitsOnGpu()) {
    Message message;
    message << "GPU memory is not saved for launches to run again: more than half of it is in use";
    Say(trace::NoticeLevel::kWarning, message);
    return false;
  }
  const RelaxedCapture relaxed;
  handle_ = {};
  handle_.structSize = CUpti_Checkpoint_STRUCT_SIZE;
  handle_.ctx = context;
  const CUptiResult result = checkpoints.save(&handle_);
  is_saved_ = result == CUPTI_SUCCESS;
  if (!is_saved_) SayFailed("saved: cuptiCheckpointSave returned", result);
  return is_saved_;
}

// All of it: to restore only what one run was seen to change (CUPTI_CHECKPOINT_OPT_TRANSFER) would miss what another
// run writes elsewhere, as kernels with atomics do.
bool MemoryCheckpoint::Restore() {
  const RelaxedCapture relaxed;
  const CUptiResult result = checkpoints.restore(&handle_);
  SynchronizeContext();
  if (result != CUPTI_SUCCESS) SayFailed("restored: cuptiCheckpointRestore returned", result);
  return result == CUPTI_SUCCESS;
}

void MemoryCheckpoint::Free() {
  if (!is_saved_) return;
  const RelaxedCapture relaxed;
  is_saved_ = false;
  const CUptiResult result = checkpoints.free(&handle_);
  if (result != CUPTI_SUCCESS) SayFailed("let go: cuptiCheckpointFree returned", result);
}

}  // namespace gprof::tracer
#endif

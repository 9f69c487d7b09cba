// The memory of a context as it was before a launch, so that the launch can run again: by the checkpoint library of
// CUPTI, with which its own kernel replay saves and restores.
#pragma once

#include "tracer/counters/profiler/profiler_api.h"

#ifdef GPROF_HAS_RANGE_PROFILER
#include <cupti_checkpoint.h>

namespace gprof::tracer {

// Whether there is such a library beside libcupti. [one thread at a time]
bool HasCheckpoints();

// One at a time. Its context is current.
class MemoryCheckpoint {
 public:
  // False: it could not be saved, which a notice says, and the memory is as it was.
  bool Save(CUcontext context);
  bool Restore();
  void Free();
  bool IsSaved() const { return is_saved_; }

 private:
  NV::Cupti::Checkpoint::CUpti_Checkpoint handle_ = {};
  bool is_saved_ = false;
};

}  // namespace gprof::tracer
#endif

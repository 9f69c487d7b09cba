#include "analysis/facts/places/running_samples.h"

namespace gprof {

RunningSamples::RunningSamples(const Trace& trace) : has_others_(trace.threads.size()) {
  for (const CpuSample& sample : trace.cpu_samples) {
    if (sample.thread != kNone && !IsOfPython(sample)) has_others_[sample.thread] = true;
  }
}

}  // namespace gprof

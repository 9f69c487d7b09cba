// CPU samples that threads of the program take of themselves, by a signal, where the kernel refuses perf events
// (`--sample-method signal`): read from the rings that the tracer fills (gprof/trace/sample_ring.h).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "collect/host/perf_ring.h"
#include "collect/run/collector_options.h"

namespace gprof {

// Whether a signal is to do what perf events cannot.
bool WantsSignalSamples(const SamplingOptions& options);
// A timer cannot be faster than the kernel's own clock; what is asked for may be.
inline constexpr int64_t kSignalPeriodNs = 4'000'000;

class SampleRings {
 public:
  explicit SampleRings(std::string run_folder) : folder_(std::move(run_folder)) {}
  ~SampleRings();
  SampleRings(const SampleRings&) = delete;
  SampleRings& operator=(const SampleRings&) = delete;

  // Those that are there; what had no room is added to `lost`.
  void Drain(const std::function<void(const PerfSample& sample)>& take, uint64_t* lost);
  std::vector<pid_t> Processes() const;

 private:
  struct Ring {
    pid_t pid = 0;
    int descriptor = -1;
    int64_t offset = 0;  // in the file
    uint32_t slots = 0, slot_bytes = 0;
    uint64_t next = 0;        // sample to be read
    uint64_t lost = 0;        // as the tracer counts them, told already
    bool has_waited = false;  // for that one, which was not whole
  };

  void LookForRings();
  void DrainRing(Ring* ring, const std::function<void(const PerfSample& sample)>& take, uint64_t* lost);
  bool ReadSlot(const Ring& ring, uint64_t number, PerfSample* sample);
  static bool IsBeingWritten(const Ring& ring, uint64_t number);
  static int64_t SlotAt(const Ring& ring, uint64_t number);

  std::string folder_;
  std::map<std::string, Ring> rings_;  // by the path of the arena
  std::vector<unsigned char> slot_;
};

}  // namespace gprof

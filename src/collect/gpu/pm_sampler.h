// PM sampling of one GPU: what its performance monitors counted, in intervals of the same length.
//
// What shapes it (reference: CUPTI 12.8 to 13.0 on GH100):
//   * One call takes all metrics: each call would schedule a pass of its own, and there is one pass. A call with a
//   metric
//     that the chip lacks spoils the object, so each is tried on an object of its own first.
//   * Decoding takes time by the counters and by what the GPU does, hardly by the rate of samples up to 1 kHz: 25 us a
//     millisecond for one counter, 350 to 550 for twelve under full load, 48 while the GPU idles. Resetting the image
//     takes time by its size, so it is as small as the interval between two calls allows.
//   * The first sample is over the time since the configuration. What does not fit into the image is lost, as is what
//     does not fit into the hardware buffer.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "collect/gpu/pm_api.h"
#include "collect/gpu/pm_metrics.h"

namespace gprof::pm {

// Counters of one pass on one chip.
struct Plan {
  Host* host = nullptr;
  std::vector<Counter> counters;
  std::vector<const char*> names;  // of the metrics of `counters`
  std::vector<uint8_t> config;     // CUPTI keeps a pointer to it
};

// Takes as many of the wanted counters, from the first on, as there is one pass for. Needs no GPU; `availability` says
// what a certain one can count, and may be empty. A result of CUPTI when not even one fits. `missing`: names of those
// that were left out.
int MakePlan(const Api& api, const char* chip, const std::vector<uint8_t>& availability,
             const std::vector<Wanted>& wanted, Plan* plan, std::vector<std::string>* missing);

struct SampleTimes {
  uint64_t start = 0, end = 0;  // ns, CLOCK_REALTIME
};

// How samples are taken.
struct SamplingPlan {
  int64_t interval_ns = 0;
  uint32_t most_samples = 0;         // that the image of decoded data holds; some of it are incomplete ones
  std::size_t most_image_bytes = 0;  // fewer samples, where those are more; 0: no limit
  std::size_t buffer_bytes = 0;      // of the GPU, for what is not decoded yet
};
// For samples that are decoded every `poll_ns`.
SamplingPlan ContinuousPlan(int64_t interval_ns, int64_t poll_ns, std::size_t counters);

// CPU time, since it was enabled.
struct ReadingCosts {
  int64_t decode_ns = 0, evaluate_ns = 0, reset_ns = 0;
};

struct DecodeResult {
  std::size_t samples = 0;      // that are complete, and can be evaluated until the next call
  bool has_overflowed = false;  // the hardware buffer was full
  bool was_full = false;        // the image was, and the rest of what was decoded is lost
  int error = kSuccess;
};

class GpuSampler {
 public:
  GpuSampler(const Api* api, int device) : api_(api), device_(device) {}
  ~GpuSampler();
  GpuSampler(const GpuSampler&) = delete;
  GpuSampler& operator=(const GpuSampler&) = delete;

  // Asks the GPU what it can count, and plans. A result of CUPTI, with the function that failed.
  int Prepare(const std::vector<Wanted>& wanted, std::string* function);
  // Takes hold of the monitors.
  int Enable(const SamplingPlan& plan, std::string* function);
  int Start();  // again after Stop()
  int Stop();
  // Gives the monitors back.
  void Disable();
  // What is wanted without the last quarter of the counters, as long as more than `fewest` are left. Returns their
  // names.
  std::string DropCounters(std::size_t fewest, std::vector<Wanted>* wanted) const;

  // Takes what the GPU has written. What was decoded before is forgotten.
  DecodeResult Decode();
  // visit(times, values of the counters, in order) for decoded samples.
  using Visit = std::function<void(const SampleTimes& times, const double* values)>;
  void Evaluate(std::size_t first, std::size_t last, const Visit& visit);

  const Plan& plan() const { return plan_; }
  const ReadingCosts& costs() const { return costs_; }
  uint32_t most_samples() const { return most_samples_; }
  const std::vector<std::string>& missing() const { return missing_; }
  std::size_t image_bytes() const { return image_.size(); }

 private:
  int MakeNewPlan(const std::vector<Wanted>& wanted, std::string* function);
  int SetConfig(const SamplingPlan& plan);
  int ImageBytes(uint32_t samples, std::size_t* bytes) const;
  int ClearImage();

  const Api* api_;
  int device_;
  std::string chip_;
  std::vector<uint8_t> availability_;
  Plan plan_;
  std::vector<std::string> missing_;
  Sampler* sampler_ = nullptr;
  std::vector<uint8_t> image_, empty_image_;
  uint32_t most_samples_ = 0;
  bool is_image_used_ = false;
  std::vector<double> values_;
  ReadingCosts costs_;
};

}  // namespace gprof::pm

// Bursts: samples at a rate that cannot be read in time stay in the buffer of the GPU for a fraction of a second, and
// are decoded afterwards. The next burst begins at a random moment, so late that reading takes no more of a processor
// than it may, on average.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>

#include "collect/gpu/pm_sampler.h"

namespace gprof {

class Bursts {
 public:
  Bursts() = default;
  Bursts(int64_t length_ns, double most_percent) : length_ns_(length_ns), most_percent_(most_percent) {}

  bool is_wanted() const { return length_ns_ > 0; }
  int64_t length_ns() const { return length_ns_; }
  int64_t begin_ns() const { return begin_ns_; }
  int64_t end_ns() const { return end_ns_; }
  bool is_reading() const { return next_ < samples_; }

  void Begin(int64_t now_ns, int64_t cpu_ns) {
    end_ns_ = now_ns + length_ns_;
    cpu_ns_ = cpu_ns;
  }
  // So many samples wait to be read.
  void Decoded(std::size_t samples) {
    next_ = 0;
    samples_ = samples;
  }
  // The next of them, at most so many.
  struct Slice {
    std::size_t first = 0, last = 0;
  };
  Slice Next(std::size_t most) {
    const Slice slice{next_, std::min(next_ + most, samples_)};
    next_ = slice.last;
    return slice;
  }
  // All are read: when the next one begins.
  void Plan(int64_t now_ns, int64_t cpu_ns) {
    const double share = most_percent_ / 100;
    const auto apart_ns =
        static_cast<double>(cpu_ns - cpu_ns_) / share - static_cast<double>(now_ns - (end_ns_ - length_ns_));
    const double wait_ns = std::max(apart_ns, static_cast<double>(length_ns_));
    std::uniform_real_distribution<double> around(0.5, 1.5);
    begin_ns_ = now_ns + static_cast<int64_t>(wait_ns * around(random_));
  }
  // There is room for no more than that; 0: it is not known for how much.
  void Shorten(int64_t held_ns) {
    constexpr int64_t kShortestNs = 1'000'000;
    length_ns_ = std::max(held_ns > 0 ? std::min(held_ns, length_ns_ / 10 * 9) : length_ns_ / 2, kShortestNs);
  }

  pm::SamplingPlan PlanOf(int64_t interval_ns, std::size_t counters) const {
    constexpr std::size_t kMegabyte = std::size_t{1} << 20;
    // Incomplete samples take places as well. About 6 kB of the buffer are one counter of one sample on GH100.
    const auto samples = static_cast<std::size_t>(length_ns_ / interval_ns);
    pm::SamplingPlan plan;
    plan.interval_ns = interval_ns;
    plan.most_samples = static_cast<uint32_t>(samples + samples / 4 + 1000);
    plan.most_image_bytes = 512 * kMegabyte;
    plan.buffer_bytes = std::clamp(samples * counters * 6000 / kMegabyte * kMegabyte, 64 * kMegabyte, 512 * kMegabyte);
    return plan;
  }

 private:
  int64_t length_ns_ = 0, begin_ns_ = 0, end_ns_ = 0, cpu_ns_ = 0;
  double most_percent_ = 0;
  std::size_t next_ = 0, samples_ = 0;
  std::minstd_rand random_;  // so that bursts do not beat with what the program repeats
};

}  // namespace gprof

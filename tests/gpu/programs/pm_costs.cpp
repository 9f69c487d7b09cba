// What it takes to sample the performance monitors, part by part: decoding, evaluating, clearing the image.
// usage: gpu_pm_costs [--set NAME] [--hz N] [--ms N] [--poll-ms N] [--image-samples N] [--buffer-mb N] [--burst]
//   --burst   nothing is decoded before the end; then all of it
//   --image-samples, --buffer-mb   0: as the product has it
// Prints one JSON object. What the GPU does meanwhile, another program has to see to.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "collect/gpu/pm_bursts.h"
#include "collect/gpu/pm_sampler.h"
#include "collect/run/system_clocks.h"
#include "common/arguments.h"

namespace {

using namespace gprof;

struct Seen {
  uint64_t samples = 0, gaps = 0, full = 0, overflows = 0, last_end = 0;
  uint64_t largest_gap = 0, lost = 0, widths = 0;

  void Add(const pm::SampleTimes& times, uint64_t interval) {
    if (samples++ == 0) {  // over the time since the configuration
      last_end = times.end;
      return;
    }
    widths += times.end - times.start;
    if (times.start > last_end + interval / 2) {
      ++gaps;
      lost += times.start - last_end;
      largest_gap = std::max(largest_gap, times.start - last_end);
    }
    last_end = times.end;
  }
};

int Fail(const std::string& what, const pm::Api& api, int result) {
  std::printf("{\"error\": \"%s: %s\"}\n", what.c_str(), pm::TextOf(api, result).c_str());
  return 1;
}

pm::DecodeResult Take(pm::GpuSampler* sampler, uint64_t interval, Seen* seen) {
  const pm::DecodeResult result = sampler->Decode();
  seen->full += result.was_full;
  seen->overflows += result.has_overflowed;
  sampler->Evaluate(0, result.samples,
                    [&](const pm::SampleTimes& times, const double*) { seen->Add(times, interval); });
  return result;
}

void Print(const pm::GpuSampler& sampler, const Seen& seen, double ms, double hz, int64_t cpu_ns) {
  const auto each = [&](int64_t ns) {
    return static_cast<double>(ns) / 1000 / static_cast<double>(std::max<uint64_t>(seen.samples, 1));
  };
  const pm::ReadingCosts& costs = sampler.costs();
  std::printf(
      "{\"counters\": %zu, \"expected\": %.0f, \"samples\": %llu, \"width_ns\": %.0f, \"gaps\": %llu, "
      "\"largest_gap_ms\": %.3f, \"lost_percent\": %.2f, \"image_full\": %llu, \"overflows\": %llu, "
      "\"decode_us\": %.2f, \"evaluate_us\": %.2f, \"clear_us\": %.2f, \"cpu_percent\": %.1f, "
      "\"image_samples\": %u, \"image_mb\": %.1f}\n",
      sampler.plan().counters.size(), ms / 1000 * hz, static_cast<unsigned long long>(seen.samples),
      static_cast<double>(seen.widths) / static_cast<double>(std::max<uint64_t>(seen.samples, 2) - 1),
      static_cast<unsigned long long>(seen.gaps), static_cast<double>(seen.largest_gap) / 1e6,
      static_cast<double>(seen.lost) / ms / 1e4, static_cast<unsigned long long>(seen.full),
      static_cast<unsigned long long>(seen.overflows), each(costs.decode_ns), each(costs.evaluate_ns),
      each(costs.reset_ns), static_cast<double>(cpu_ns) / ms / 1e4, sampler.most_samples(),
      static_cast<double>(sampler.image_bytes()) / 1e6);
}

}  // namespace

int main(int argc, char** argv) {
  examples::Arguments arguments(argc, argv, "gpu_pm_costs [options]");
  const std::string set = arguments.Text("--set", "kernels");
  const auto hz = static_cast<double>(arguments.Number("--hz", 10'000));
  const auto ms = static_cast<int64_t>(arguments.Number("--ms", 2000));
  const auto poll_ms = static_cast<int64_t>(arguments.Number("--poll-ms", 50));
  const std::size_t image_samples = arguments.Number("--image-samples", 0, 0),
                    buffer_mb = arguments.Number("--buffer-mb", 0, 0);
  const bool is_burst = arguments.Switch("--burst");
  arguments.Finish();

  pm::Api api;
  std::string why, function;
  std::vector<pm::Gpu> gpus;
  if (!pm::Open(pm::CuptiFiles(""), &api, &why) || !pm::FindGpus(&gpus, &why)) {
    std::printf("{\"error\": \"%s\"}\n", why.c_str());
    return 1;
  }
  pm::InitializeParams initialize;
  if (const int result = pm::Call(api.cuptiProfilerInitialize, &initialize); result != pm::kSuccess)
    return Fail("cuptiProfilerInitialize", api, result);
  pm::GpuSampler sampler(&api, 0);
  if (const int result = sampler.Prepare(pm::SetOf(set), &function); result != pm::kSuccess)
    return Fail(function, api, result);
  const auto interval_ns = static_cast<int64_t>(1e9 / hz);
  const std::size_t counters = sampler.plan().counters.size();
  pm::SamplingPlan plan = is_burst ? Bursts(ms * kMillisecondNs, 30).PlanOf(interval_ns, counters)
                                   : pm::ContinuousPlan(interval_ns, poll_ms * kMillisecondNs, counters);
  if (image_samples != 0) plan.most_samples = static_cast<uint32_t>(image_samples), plan.most_image_bytes = 0;
  if (buffer_mb != 0) plan.buffer_bytes = buffer_mb << 20;
  if (const int result = sampler.Enable(plan, &function); result != pm::kSuccess) return Fail(function, api, result);
  if (const int result = sampler.Start(); result != pm::kSuccess) return Fail("cuptiPmSamplingStart", api, result);
  Seen seen;
  const int64_t start_ns = MonotonicNs(), cpu_ns = ClockNs(CLOCK_PROCESS_CPUTIME_ID);
  pm::DecodeResult result;
  while (MonotonicNs() - start_ns < ms * kMillisecondNs) {
    std::this_thread::sleep_for(std::chrono::milliseconds(is_burst ? ms : poll_ms));
    if (is_burst) break;
    result = Take(&sampler, static_cast<uint64_t>(interval_ns), &seen);
    if (result.has_overflowed || result.error != pm::kSuccess) break;
  }
  sampler.Stop();
  do {
    result = Take(&sampler, static_cast<uint64_t>(interval_ns), &seen);
  } while (result.samples != 0 && !result.has_overflowed);
  Print(sampler, seen, static_cast<double>(ms), hz, ClockNs(CLOCK_PROCESS_CPUTIME_ID) - cpu_ns);
  return 0;
}

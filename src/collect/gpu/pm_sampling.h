// Counters of GPUs over time, by the performance monitors (PM sampling of CUPTI). There is one owner of the monitors of
// a GPU, so one process samples all of them. It has no CUDA context.
//
// It takes no more of a processor than kMostPercent (pm_sampling.cpp) allows, unless a higher rate was asked for:
// beyond, it samples half as often, then drops counters, and says so in the trace. Rates that no processor can read in
// time come in bursts (pm_bursts.h). All time of a capture is in samples or in a loss.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "collect/gpu/pm_bursts.h"
#include "collect/gpu/pm_sampler.h"
#include "collect/run/collector.h"
#include "collect/run/own_cost.h"

namespace gprof {

bool IsPmSamplingWanted(const CollectorOptions& options);
std::unique_ptr<Collector> MakePmSampling(const CollectorOptions& options);

struct PmSamplingOptions {
  GpuMetricsOptions wanted;
  std::function<bool(std::vector<pm::Gpu>* gpus, std::string* why)> find_gpus = pm::FindGpus;
  std::function<bool(const std::string& more, pm::Api* api, std::string* why)> open;  // libcupti; `more`: a file to try
  std::function<int64_t()> own_cpu_clock;    // CPU time that sampling takes, of this process
  std::function<int64_t()> realtime_offset;  // CLOCK_REALTIME minus CLOCK_MONOTONIC
  std::function<int64_t()> now;              // CLOCK_MONOTONIC
};

class PmSampling : public Collector {
 public:
  explicit PmSampling(PmSamplingOptions options);

  bool Start(const RunView& run, std::string* why) override;
  void Switch(bool is_on, int64_t now_ns) override;
  int64_t Drain(int64_t now_ns, Journal* journal) override;
  void Close(int64_t now_ns, Journal* journal) override;
  void Reset() override;
  std::string Failure() const override { return failure_; }

 private:
  struct Gpu {
    int index = 0;
    std::string uuid;
    std::unique_ptr<pm::GpuSampler> sampler;
    std::vector<pm::Wanted> wanted;
    int64_t interval_ns = 0, poll_ns = 0;
    int64_t period_ns = 0;  // of the samples as they come, 0 until there is one
    bool is_enabled = false, is_running = false, is_first = true;
    Bursts bursts;
    int64_t covered_ns = 0;  // until when there are samples or losses
    int64_t clock_shift_ns = 0;
    trace::MetricLossReason gap_reason = trace::MetricLossReason::kPaused;  // of what comes before the next sample
  };
  struct Source {
    uint32_t id = 0;
    bool is_told = false;
  };

  void Open();
  bool SelectGpus(std::vector<pm::Gpu>* gpus);
  bool PrepareGpu(Gpu* gpu);
  void Fail(const std::string& why, trace::MetricLossReason reason);
  void FailCall(const Gpu& gpu, const std::string& function, int result);
  void TellFailure(int64_t now_ns, Journal* journal);
  int64_t DrainGpu(Gpu* gpu, int64_t now_ns, Journal* journal);
  int64_t DrainBurst(Gpu* gpu, int64_t now_ns, Journal* journal);
  void EndBurst(Gpu* gpu, int64_t now_ns, Journal* journal);
  bool ReadBurst(Gpu* gpu, std::size_t most, Journal* journal);
  bool EnableGpu(Gpu* gpu, Journal* journal);
  void StartGpu(Gpu* gpu, Journal* journal);
  void GiveUp(Gpu* gpu, const std::string& function, int result, Journal* journal);
  void Take(Gpu* gpu, Journal* journal);
  void AddSample(Gpu* gpu, const pm::SampleTimes& times, int64_t offset_ns, const double* values, Journal* journal);
  void SetPeriod(Gpu* gpu, int64_t sample_ns, Journal* journal);
  void AddLoss(Gpu* gpu, int64_t until_ns, Journal* journal);
  void StepDown(Gpu* gpu, const std::string& why, Journal* journal);
  void WatchOwnCost(int64_t now_ns, Journal* journal);
  void Note(int64_t now_ns, trace::NoticeLevel level, const std::string& text, Journal* journal);
  uint32_t SourceOf(const Gpu& gpu, const pm::Counter& counter, Journal* journal);

  PmSamplingOptions options_;
  RunView run_;
  pm::Api api_;
  bool is_open_ = false;
  int64_t give_up_ns_ = 0;  // when to look for libcupti no longer
  std::string failure_;
  trace::MetricLossReason failure_reason_ = trace::MetricLossReason::kUnknown;
  bool is_failure_told_ = false;
  std::vector<std::string> missing_;  // counters that a GPU lacks
  bool is_missing_told_ = false;
  std::vector<Gpu> gpus_;
  std::map<std::string, Source> sources_;  // by UUID and name of the counter
  uint32_t next_source_ = 1;
  int64_t on_since_ns_ = 0;
  OwnCost own_cost_;
};

}  // namespace gprof

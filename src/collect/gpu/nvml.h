// The state of the GPUs, from NVML: power, temperatures, clocks and what holds them down, memory, energy, ECC errors,
// processes that do not belong to the run; on Hopper and later also how busy their parts were (GPM), which needs no
// privileges and nothing that another profiler may have.
//
// All GPUs are looked at, whichever the program uses: that is known only when its trace is read, and what the others
// did says something as well. Power, clocks and temperature of a GPU in MIG mode are of the whole GPU; only memory is
// told of its instances.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "collect/gpu/nvml_api.h"
#include "collect/run/collector.h"
#include "collect/run/own_cost.h"
#include "collect/run/run_processes.h"

namespace gprof {

bool IsNvmlWanted(const CollectorOptions& options);
std::unique_ptr<Collector> MakeNvml(const CollectorOptions& options);

struct NvmlOptions {
  int64_t period_ns = 100'000'000;
  std::string proc = "/proc";
  // CPU time that looking takes, of this process.
  std::function<int64_t()> own_cpu_clock;
  // Tells how long calls take.
  std::function<int64_t()> clock = MonotonicNs;
  // Calls that take milliseconds are made in a thread of their own. Tests call TakeSlow() instead.
  bool has_slow_thread = true;
};

// What is measured; each is described in nvml.cpp.
enum class GpuTrack : uint8_t {
  kPower,
  kSmClock,
  kMemoryClock,
  kTemperature,
  kMemoryTemperature,
  kReasons,
  kUtilization,
  kMemoryUtilization,
  kMemoryUsed,
  kEnergy,
  kPowerLimit,
  kThrottledByPower,
  kThrottledByHeat,
  kThrottledByHardwareHeat,
  kThrottledByBrake,
  kEccErrors,
  kXid,
  kPcieReceived,
  kPcieSent,
  kOwnProcesses,
  kOtherProcesses,
  kOtherMemory,
  kSmActive,
  kOccupancy,
  kTensorActive,
  kDram,
  kFp64,
  kFp32,
  kFp16,
  kGpmPcieSent,
  kGpmPcieReceived,
  kNvlinkReceived,
  kNvlinkSent,
  kCount,
};

class NvmlCollector : public Collector {
 public:
  explicit NvmlCollector(NvmlOptions options);
  ~NvmlCollector() override;

  bool Start(const RunView& run, std::string* why) override;
  void Switch(bool is_on, int64_t now_ns) override;
  int64_t Drain(int64_t now_ns, Journal* journal) override;
  void Close(int64_t now_ns, Journal* journal) override;
  void Reset() override;

  // What the slow thread does each time.
  void TakeSlow(int64_t now_ns);
  int64_t period_ns() const { return period_ns_; }

 private:
  static constexpr std::size_t kTracks = static_cast<std::size_t>(GpuTrack::kCount);
  struct Track {
    uint32_t id = 0;
    bool is_told = false, has_value = false, is_absent = false;
    int64_t failing_since_ns = 0;  // 0: it is not
    int failure = 0;
  };
  struct Gpu {
    nvml::Device handle = nullptr;
    std::string uuid;
    bool is_instance = false;  // of MIG
    bool has_xids = false;     // it is told what the driver logs of it
    Track tracks[kTracks];
    // Of the slow thread.
    nvml::GpmSamples gpm;
    bool has_gpm = false;
    int64_t gpm_ns = 0;  // of the newer one; 0: none was taken
  };
  // One answer of NVML, of one track.
  struct TrackAnswer {
    std::size_t gpu = 0;
    GpuTrack track = GpuTrack::kPower;
    int result = nvml::kSuccess;
    int64_t start_ns = 0, duration_ns = 0, value = 0;
  };
  struct Processes {
    std::size_t gpu = 0;
    int64_t time_ns = 0;
    std::vector<nvml::ProcessInfo> all;
  };

  void AddGpu(nvml::Device handle, bool is_instance);
  void TakeFast(std::size_t gpu, int64_t now_ns, Journal* journal);
  void TakeGpm(std::size_t gpu, int64_t now_ns, std::vector<TrackAnswer>* answers);
  void TakeRare(std::size_t gpu, int64_t now_ns, std::vector<TrackAnswer>* answers, std::vector<Processes>* processes);
  void TakeXids(int64_t now_ns, std::vector<TrackAnswer>* answers);
  void AddSlowAnswers(Journal* journal);
  void AddProcesses(const Processes& processes, Journal* journal);
  void Add(const TrackAnswer& answer, Journal* journal);
  void EndLoss(Track* track, int64_t now_ns, Journal* journal);
  void Tell(const Gpu& gpu, GpuTrack kind, Track* track, Journal* journal);
  void WatchOwnCost(int64_t now_ns, Journal* journal);
  void RunSlowThread();

  NvmlOptions options_;
  int64_t period_ns_;
  nvml::Api api_;
  nvml::EventSet events_ = nullptr;
  std::unique_ptr<RunProcesses> run_processes_;
  std::set<pid_t> of_run_;  // that were ever seen
  std::vector<Gpu> gpus_;
  uint32_t next_source_ = 1;
  int64_t first_ns_ = 0;
  OwnCost own_cost_;
  // Of the slow thread: when rare things were read last, and when they are due again.
  int64_t rare_ns_ = 0, rare_period_ns_ = 1'000'000'000;

  std::atomic<int64_t> slow_period_ns_ = 0;
  std::thread slow_;
  std::mutex mutex_;  // for what follows
  std::condition_variable changed_;
  bool is_on_ = false, is_over_ = false;
  uint32_t capture_ = 0;  // counts how often recording went on: answers of one before are dropped
  std::vector<TrackAnswer> slow_answers_;
  std::vector<Processes> slow_processes_;
};

}  // namespace gprof

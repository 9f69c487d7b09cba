// What the GPUs of this machine do right now, for `monitor`: from NVML, without privileges.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "collect/gpu/nvml_api.h"

namespace gprof {

struct GpuProcess {
  int64_t pid = 0;
  int64_t memory_bytes = 0;
  std::string name;  // empty: not to be seen from here
  std::string run;   // the trace that gprof-cli records it into; empty: none
};

// What is not set is not known of this GPU.
struct GpuReading {
  int index = 0;
  std::string uuid, name;
  std::optional<double> power_w, power_limit_w, energy_j, sm_clock_mhz, memory_clock_mhz, temperature_c;
  std::optional<double> utilization_percent, memory_used_bytes, memory_total_bytes;
  // Means over the time since the reading before, on Hopper and later.
  std::optional<double> sm_active_percent, tensor_active_percent, dram_percent, pcie_rx_bytes_s, pcie_tx_bytes_s;
  std::vector<std::string> limits;  // what holds the clocks down: "power", "heat", ...
  std::vector<GpuProcess> processes;
};

class GpuWatch {
 public:
  // False with the reason: there is no driver, or no GPU.
  bool Open(std::string* why);
  // At least 100 ms should lie between two.
  std::vector<GpuReading> Read();

 private:
  struct Gpu {
    nvml::Device handle = nullptr;
    std::string uuid, name;
    nvml::GpmSamples gpm;
    bool has_gpm = false, has_sample = false;
  };
  void ReadGpm(Gpu* gpu, GpuReading* reading) const;
  void ReadProcesses(const Gpu& gpu, GpuReading* reading) const;

  nvml::Api api_;
  std::vector<Gpu> gpus_;
};

}  // namespace gprof

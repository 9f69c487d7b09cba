// What PyTorch's allocators gave and took back, as torch.profiler writes it with profile_memory.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <tuple>
#include <vector>

#include "export/events/counter_curves.h"
#include "export/events/event_args.h"
#include "gprof/trace.h"

namespace gprof {

class ChromeMemory {
 public:
  explicit ChromeMemory(const Trace& trace);

  void AddArgs(const TensorBlock& block, ArgSink& sink) const;

 private:
  void AddTotal(std::string_view key, const char* track, const TensorBlock& block, ArgSink& sink) const;

  const Trace& trace_;
  std::map<std::tuple<uint32_t, uint32_t, std::string_view>, std::vector<CounterPoint>>
      tracks_;  // process, device, name
};

}  // namespace gprof

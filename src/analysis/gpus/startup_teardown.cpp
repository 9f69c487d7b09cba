#include "analysis/gpus/startup_teardown.h"

#include <algorithm>
#include <utility>

#include "analysis/facts/shared_facts.h"

namespace gprof {
namespace {

int64_t RecordedNs(const RecordedTime& recorded, uint32_t process, int64_t from_ns, int64_t to_ns) {
  return from_ns < to_ns ? recorded.ForEachOfProcess(process, from_ns, to_ns, [](int64_t, int64_t) {}) : 0;
}

// The processes in the order in which they first use the device, and when it was done.
std::vector<uint32_t> ProcessesOn(const Trace& trace, const OpFacts& ops, uint32_t device, int64_t* end_ns) {
  std::vector<std::pair<uint32_t, uint32_t>> first_ops;  // and their process
  for (uint32_t i = 0; i < ops.sums().size(); ++i) {
    const PackedOps::Traits& traits = trace.ops.TraitsAt(i);
    const OpFacts::Sum& sum = ops.sums()[i];
    if (traits.device != device || sum.count == 0) continue;
    *end_ns = std::max(*end_ns, sum.window.end_ns);
    if (traits.process != kNone) first_ops.emplace_back(sum.first, traits.process);
  }
  std::sort(first_ops.begin(), first_ops.end());
  std::vector<uint32_t> processes;
  std::vector<uint8_t> is_known(trace.processes.size(), 0);
  for (const auto& [op, process] : first_ops) {
    if (std::exchange(is_known[process], uint8_t{1}) == 0) processes.push_back(process);
  }
  return processes;
}

}  // namespace

std::vector<StartupTeardown> StartupsAndTeardowns(const AnalysisInput& input) {
  const Trace& trace = input.trace();
  const RecordedTime& recorded = input.shared().recorded();
  std::vector<StartupTeardown> all;
  for (uint32_t device = 0; device < trace.device_ops.size(); ++device) {
    const Trace::Slice slice = trace.device_ops[device];
    if (slice.first == slice.last) continue;
    const bool is_selected = !trace.device_windows.empty();
    const int64_t start_ns = is_selected ? trace.device_windows[device].time.start_ns : trace.ops[slice.first].start_ns;
    int64_t end_ns = is_selected ? trace.device_windows[device].time.end_ns : start_ns;
    const size_t first = all.size();
    for (const uint32_t process : ProcessesOn(trace, input.shared().ops(), device, &end_ns)) {
      all.push_back({device, process, 0, 0});
    }
    for (size_t i = first; i < all.size(); ++i) {
      const Process& process = trace.processes[all[i].process];
      all[i].startup_ns = RecordedNs(recorded, all[i].process, process.start_ns, std::min(process.end_ns, start_ns));
      all[i].teardown_ns = RecordedNs(recorded, all[i].process, std::max(process.start_ns, end_ns), process.end_ns);
    }
  }
  return all;
}

}  // namespace gprof

#include "analysis/topics/memory/memory_churn.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>

#include "analysis/causes/idle_parts.h"
#include "analysis/causes/shared_causes.h"
#include "analysis/facts/calls/call_kinds.h"
#include "analysis/facts/calls/call_numbers.h"
#include "analysis/facts/memory/memory_use.h"
#include "analysis/facts/operations/operations.h"
#include "analysis/facts/shared_facts.h"
#include "analysis/findings/finding_catalogue.h"
#include "analysis/result/display_names.h"
#include "analysis/result/metrics.h"
#include "analysis/result/statistics.h"
#include "analysis/result/tables.h"
#include "base/saturate.h"
#include "base/text.h"
#include "base/units.h"

namespace gprof {
namespace {

using trace::MemoryKind;
using trace::MemoryOp;

constexpr int64_t kPairsWorthAFinding = 10;  // fewer may be how the program starts
constexpr double kWorthAFinding = 5;         // percent of the window

constexpr std::array<MemoryCallKind, 4> kKinds = {MemoryCallKind::kDevice, MemoryCallKind::kPool, MemoryCallKind::kHost,
                                                  MemoryCallKind::kRegistration};

// Blocks of one process that can stand for each other.
struct GroupKey {
  uint32_t process = 0, device = 0, function = 0, path = 0;
  MemoryKind memory = MemoryKind::kUnknown;
  uint64_t size_bytes = 0, pool = 0;
  friend bool operator==(const GroupKey&, const GroupKey&) = default;
};

struct HashOfKey {
  size_t operator()(const GroupKey& key) const {
    uint64_t hash = 0;
    for (const uint64_t part : {uint64_t{key.process} << 32 | key.device, uint64_t{key.function} << 32 | key.path,
                                key.size_bytes, key.pool, static_cast<uint64_t>(key.memory)}) {
      hash = (hash ^ part) * 0x9E3779B97F4A7C15u;
      hash ^= hash >> 29;
    }
    return static_cast<size_t>(hash);
  }
};

class Collector {
 public:
  explicit Collector(const AnalysisInput& input) : input_(input), trace_(input.trace()) {}

  // By the records: the size and the block of each allocation are known.
  void AddRecords(const std::vector<uint32_t>& ended) {
    std::unordered_map<GroupKey, uint32_t, HashOfKey> numbers;
    std::vector<uint32_t> group_of(ended.size(), kNone);
    for (uint32_t i = 0; i < ended.size(); ++i) {
      const MemoryEvent& event = trace_.memory_events[i];
      const uint32_t call = OutermostCall(trace_, event.api);
      if (event.operation != MemoryOp::kAllocate) {
        if (ended[i] != kNone && group_of[ended[i]] != kNone) groups_[group_of[ended[i]]].freed.push_back(call);
        continue;
      }
      if (IsStatic(event.memory)) continue;
      const uint32_t function = call == kNone ? 0 : trace_.api_calls[call].function.value;
      const NameId path = PathOfCall(trace_, call);
      const auto next = static_cast<uint32_t>(groups_.size());
      const auto [found, is_new] = numbers.try_emplace(
          {event.process, event.device, function, path.value, event.memory, event.size_bytes, event.pool}, next);
      if (is_new) groups_.emplace_back();
      group_of[i] = found->second;
      Allocate({KindOf(event, NameId{function}),
                NameId{function},
                {},
                path,
                event.process,
                event.size_bytes,
                true,
                0,
                0,
                0,
                0},
               &groups_[found->second], call, event.time_ns);
    }
  }

  // By the calls alone: any block of the process stands for any other.
  void AddCalls(bool only_registrations) {
    std::vector<MemoryCallKind> kind_of(trace_.strings.size(), MemoryCallKind::kOther);
    std::vector<uint8_t> is_known(trace_.strings.size(), 0), is_allocation(trace_.strings.size(), 0);
    std::vector<uint32_t> calls;
    for (const uint32_t i : input_.shared().calls().rare()) {
      const ApiCall& call = trace_.api_calls[i];
      if (call.api_class != ApiClass::kMemory || call.result != 0 || call.process == kNone) continue;
      const uint32_t name = call.function.value;
      if (std::exchange(is_known[name], uint8_t{1}) == 0) {
        kind_of[name] = MemoryCallKindOf(trace_.Text(call.function));
        is_allocation[name] = IsAllocation(trace_.Text(call.function));
      }
      if (kind_of[name] == MemoryCallKind::kOther) continue;
      if (!only_registrations || kind_of[name] == MemoryCallKind::kRegistration) calls.push_back(i);
    }
    std::ranges::stable_sort(
        calls, [&](uint32_t a, uint32_t b) { return trace_.api_calls[a].start_ns < trace_.api_calls[b].start_ns; });
    std::vector<std::array<std::vector<uint32_t>, kKinds.size() + 1>> freed(trace_.processes.size());
    std::unordered_map<GroupKey, uint32_t, HashOfKey> numbers;
    for (const uint32_t i : calls) {
      const ApiCall& call = trace_.api_calls[i];
      const MemoryCallKind kind = kind_of[call.function.value];
      std::vector<uint32_t>& blocks = freed[call.process][static_cast<size_t>(kind)];
      if (is_allocation[call.function.value] == 0) {
        blocks.push_back(i);
        continue;
      }
      if (blocks.empty()) continue;
      const NameId path = PathOfCall(trace_, i);
      const auto next = static_cast<uint32_t>(groups_.size());
      const auto [found, is_new] =
          numbers.try_emplace({call.process, kNone, call.function.value, path.value, MemoryKind::kUnknown, 0, 0}, next);
      if (is_new) groups_.emplace_back();
      Group& group = groups_[found->second];
      group.freed.push_back(blocks.back());
      blocks.pop_back();
      Allocate({kind, call.function, {}, path, call.process, 0, false, 0, 0, 0, 0}, &group, i, call.start_ns);
    }
  }

  Churn Finish() {
    if (!churn_.sites.empty()) AddIdle();
    return std::move(churn_);
  }

 private:
  struct Group {
    uint32_t site = kNone;
    std::vector<uint32_t> freed;  // calls that freed blocks which were not used again, kNone where not known
  };

  MemoryCallKind KindOf(const MemoryEvent& event, NameId function) const {
    const MemoryCallKind by_name = MemoryCallKindOf(trace_.Text(function));
    if (by_name != MemoryCallKind::kOther) return by_name;
    if (event.is_async) return MemoryCallKind::kPool;
    return event.memory == MemoryKind::kPinned ? MemoryCallKind::kHost : MemoryCallKind::kDevice;
  }

  void Allocate(const ChurnSite& fresh, Group* group, uint32_t call, int64_t time_ns) {
    if (group->freed.empty()) return;
    const uint32_t free_call = group->freed.back();
    group->freed.pop_back();
    if (group->site == kNone) {
      group->site = static_cast<uint32_t>(churn_.sites.size());
      churn_.sites.push_back(fresh);
      if (free_call != kNone) churn_.sites.back().free_function = trace_.api_calls[free_call].function;
    }
    ChurnSite& site = churn_.sites[group->site];
    ++site.pairs;
    for (const uint32_t of : {call, free_call}) {
      if (of == kNone) continue;
      site.host_ns += trace_.api_calls[of].DurationNs();
      calls_.emplace_back(of, group->site);
    }
    churn_.times_ns.emplace_back(group->site, time_ns);
  }

  void AddIdle() {
    if (calls_.empty()) return;
    CallNumbers sites(std::move(calls_));
    const auto add = [&](const Part& part) {
      const uint32_t site = part.cause == Cause::kMemory ? sites.Of(part.call()) : kNone;
      if (site != kNone) churn_.sites[site].idle_ns += part.duration_ns;
    };
    for (uint32_t device = 0; device < trace_.device_ops.size(); ++device) {
      input_.causes().of_gaps(device).ForEach(add);
    }
  }

  const AnalysisInput& input_;
  const Trace& trace_;
  Churn churn_;
  std::vector<Group> groups_;
  std::vector<std::pair<uint32_t, uint32_t>> calls_;  // of pairs, and their site
};

// What a finding adds up: the sites of one kind.
struct Sum {
  int64_t pairs = 0, idle_ns = 0;
  SaturatingSum host_ns;
  const ChurnSite* worst = nullptr;  // that took the host longest
  void Add(const ChurnSite& site) {
    pairs += site.pairs;
    host_ns += site.host_ns;
    idle_ns += site.idle_ns;
    if (worst == nullptr || site.host_ns > worst->host_ns) worst = &site;
  }
};

std::string_view NounOf(MemoryCallKind kind) {
  switch (kind) {
    case MemoryCallKind::kPool:
      return "Pool memory";
    case MemoryCallKind::kHost:
      return "Pinned memory";
    case MemoryCallKind::kRegistration:
      return "Host memory";
    case MemoryCallKind::kDevice:
    case MemoryCallKind::kOther:
      break;
  }
  return "Device memory";
}

std::string AdviceOf(MemoryCallKind kind, bool has_size, std::string advice) {
  switch (kind) {
    case MemoryCallKind::kPool:
      advice =
          "The pool returns memory at each synchronisation unless its release threshold is raised "
          "(cudaMemPoolSetAttribute, cudaMemPoolAttrReleaseThreshold). Allocate once what every step needs.";
      break;
    case MemoryCallKind::kHost:
      advice = "Pinning is slow: allocate pinned buffers once and reuse them.";
      break;
    case MemoryCallKind::kRegistration:
      advice =
          "Registering is slow: register the memory once and keep it registered, or copy through a persistent pinned "
          "buffer.";
      break;
    case MemoryCallKind::kDevice:
    case MemoryCallKind::kOther:
      break;
  }
  if (!has_size && kind != MemoryCallKind::kRegistration) {
    advice += " Record with --cuda-memory-usage=true to see the sizes.";
  }
  return advice;
}

std::string WorstOf(const Trace& trace, const Churn& churn, const ChurnSite& site) {
  std::string text = FormatCount(site.pairs);
  if (site.has_size) text += " x " + FormatBytes(site.size_bytes);
  const std::string_view function = trace.Text(site.function);
  if (!function.empty()) text += " by " + std::string(function);
  if (!trace.Text(site.path).empty()) text += " in " + PathName(trace, site.path);
  if (site.steps > 0) {
    text += " (in " + FormatCount(site.steps) + " of " + FormatCount(churn.steps) + " \"" +
            PathName(trace, churn.step) + "\" iterations)";
  }
  return text;
}

Finding ChurnFinding(const Trace& trace, const Churn& churn, MemoryCallKind kind, const Sum& sum, int64_t window_ns) {
  Finding finding = NewFinding("memory.churn", PercentOf(std::max<int64_t>(sum.host_ns, sum.idle_ns), window_ns));
  finding.subject.function = trace.Text(sum.worst->function);
  finding.subject.range = trace.Text(sum.worst->path);
  finding.message = std::string(NounOf(kind)) +
                    (kind == MemoryCallKind::kRegistration ? " was unregistered and registered again "
                     : sum.worst->has_size                 ? " was freed and allocated again at the same size "
                                                           : " was freed and allocated again ") +
                    CountOf(sum.pairs, "time") + ": " + FormatNs(sum.host_ns) + " in those calls, GPU idle for " +
                    FormatNs(sum.idle_ns) + " of that";
  finding.evidence.push_back("Most affected: " + WorstOf(trace, churn, *sum.worst));
  finding.advice = AdviceOf(kind, sum.worst->has_size, std::move(finding.advice));
  finding.gain_ns = sum.idle_ns;
  finding.basis = sum.idle_ns > 0 ? "this idle time, included in idle.memory" : "host time only, no GPU idle time";
  return finding;
}

}  // namespace

// Addresses and handles of virtual memory (cuMemAddressFree, cuMemRetainAllocationHandle) are not what a program
// churns.
bool IsAllocation(std::string_view function) {
  return Contains(function, "Malloc") || Contains(function, "MemAlloc") || Contains(function, "HostAlloc") ||
         Contains(function, "HostRegister");
}

MemoryCallKind MemoryCallKindOf(std::string_view function) {
  if (Contains(function, "HostRegister") || Contains(function, "HostUnregister")) return MemoryCallKind::kRegistration;
  if (!IsAllocation(function) && !Contains(function, "cudaFree") && !Contains(function, "MemFree"))
    return MemoryCallKind::kOther;
  if (Contains(function, "Async") || Contains(function, "FromPool")) return MemoryCallKind::kPool;
  return Contains(function, "Host") ? MemoryCallKind::kHost : MemoryCallKind::kDevice;
}

Churn ChurnOf(const AnalysisInput& input, const std::vector<uint32_t>& ended) {
  Collector collector(input);
  collector.AddRecords(ended);
  collector.AddCalls(!input.trace().memory_events.empty());
  return collector.Finish();
}

void CountSteps(const Trace& trace, const StepChoice& step, Churn* churn) {
  churn->steps = static_cast<int64_t>(step.ranges.size());
  churn->step = step.path;
  std::vector<uint32_t> last(churn->sites.size(), kNone);  // iteration of each site, whose times come in order
  for (const auto& [site, time_ns] : churn->times_ns) {
    const int64_t at_ns = time_ns;
    const auto after = std::ranges::partition_point(
        step.ranges, [&](uint32_t range) { return trace.ranges[range].start_ns <= at_ns; });
    if (after == step.ranges.begin() || trace.ranges[*(after - 1)].end_ns <= at_ns) continue;
    const uint32_t range = *(after - 1);
    churn->sites[site].steps += std::exchange(last[site], range) != range;
  }
}

Table ChurnTable(const Trace& trace, const Churn& churn, uint32_t max_rows) {
  Table table{"memory_churn",
              "Memory churn",
              {{"host_ns", "Call time", Unit::kNs, false, "host time of the allocation and free calls"},
               {"idle_ns", "GPU idle", Unit::kNs, false},
               {"pairs", "Count", Unit::kCount, false},
               {"size_bytes", "Size", Unit::kBytes, false},
               {"steps", "Steps", Unit::kCount, true},
               {"free_function", "Freed by", Unit::kText, true},
               {"pid", "Process", Unit::kCount, true, ColumnRole::kName},
               {"path", "NVTX range", Unit::kText, false},
               {"function", "Allocated by", Unit::kText, false}},
              {},
              "Allocations that could have reused a block freed before: same size, function and range, or any block "
              "where sizes were not recorded."};
  for (const ChurnSite& site : churn.sites) {
    const auto name = [&](NameId id) {
      return trace.Text(id).empty() ? std::string("(unknown)") : std::string(trace.Text(id));
    };
    table.rows.push_back({site.host_ns, site.idle_ns, site.pairs,
                          site.has_size ? Cell(static_cast<int64_t>(site.size_bytes)) : Cell(), site.steps,
                          name(site.free_function),
                          static_cast<int64_t>(site.process == kNone ? 0 : trace.processes[site.process].pid),
                          PathName(trace, site.path), name(site.function)});
  }
  SortAndCut(&table, 0, 8, max_rows);
  return table;
}

void AddChurnMetrics(const Churn& churn, AnalysisResult* result) {
  Sum sum;
  for (const ChurnSite& site : churn.sites) sum.Add(site);
  AddMetric(result, "memory.churn_count", sum.pairs);
  AddMetric(result, "memory.churn_ns", sum.host_ns);
  AddMetric(result, "memory.churn_idle_ns", sum.idle_ns);
}

void AddChurnFindings(const Trace& trace, const Churn& churn, int64_t window_ns, std::vector<Finding>* findings) {
  for (const MemoryCallKind kind : kKinds) {
    Sum sum;
    for (const ChurnSite& site : churn.sites) {
      if (site.kind == kind) sum.Add(site);
    }
    if (sum.pairs < kPairsWorthAFinding) continue;
    if (PercentOf(std::max<int64_t>(sum.host_ns, sum.idle_ns), window_ns) < kWorthAFinding) continue;
    findings->push_back(ChurnFinding(trace, churn, kind, sum, window_ns));
  }
}

}  // namespace gprof

// What the run waited for from its end back to its beginning, and what could be won on that path at most.
#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/causes/bound.h"
#include "analysis/causes/gaps/host_walk.h"
#include "analysis/facts/host/host_facts.h"
#include "analysis/facts/operations/operations.h"
#include "analysis/facts/shared_facts.h"
#include "analysis/findings/finding_catalogue.h"
#include "analysis/result/display_names.h"
#include "analysis/result/metrics.h"
#include "analysis/result/statistics.h"
#include "analysis/result/tables.h"
#include "analysis/topics/analyses.h"
#include "analysis/topics/path/critical_walk.h"
#include "analysis/topics/path/enclosing_ranges.h"
#include "base/short_names.h"
#include "base/units.h"

namespace gprof {
namespace {

constexpr double kKernelPercentWorthAFinding = 20;  // of the window

// What the time of the path goes to. Names tell the rows of a kind apart.
enum class Share : uint8_t {
  kKernel,
  kCopy,
  kFill,
  kQueue,
  kLaunch,
  kSync,
  kCopyCall,
  kMemory,
  kLoad,
  kApi,
  kHost,
  kProfiler,
  kUnknown,
};
constexpr size_t kShareCount = 13;

struct ShareInfo {
  const char* name;
  const char* metric;
};

constexpr std::array<ShareInfo, kShareCount> kShares = {{
    {"kernel", "critical.kernel_ns"},
    {"copy", "critical.copy_ns"},
    {"memset", "critical.copy_ns"},
    {"queue", "critical.queue_ns"},
    {"launch", "critical.launch_ns"},
    {"sync", "critical.sync_ns"},
    {"blocking copy", "critical.copy_call_ns"},
    {"memory", "critical.memory_ns"},
    {"load", "critical.load_ns"},
    {"api", "critical.api_ns"},
    {"host", "critical.host_ns"},
    {"profiler", "critical.profiler_ns"},
    {"unknown", "critical.unknown_ns"},
}};

const ShareInfo& InfoOf(Share share) { return kShares[static_cast<size_t>(share)]; }

struct Sum {
  int64_t total_ns = 0, count = 0;
  void Add(int64_t ns) {
    total_ns += ns;
    ++count;
  }
  void Add(const Sum& other) {
    total_ns += other.total_ns;
    count += other.count;
  }
};

// What the pieces of a path add up to. They are many and names are few, so that they are summed by what they have in
// common, which gets its name once.
class Shares {
 public:
  explicit Shares(const AnalysisInput& input)
      : trace_(input.trace()),
        host_(input.shared().host()),
        ranges_(trace_),
        ops_(trace_.ops.TraitsCount()),
        calls_(trace_.api_calls.TraitsCount()),
        blocked_(trace_.api_calls.TraitsCount()),
        paths_(trace_.strings.size()) {
    for (const std::vector<Interruption>& list : host_.interruptions) begun_.push_back(list.size());
  }

  // Pieces come from the last one to the first.
  void Add(const PathPiece& piece) {
    switch (piece.kind) {
      case PathKind::kOperation:
        return ops_[trace_.ops.TraitsIndex(piece.index)].Add(piece.DurationNs());
      case PathKind::kQueue:
        return queued_.Add(piece.DurationNs());
      case PathKind::kReturn:
        return SumOf(piece.index, host_.blocking_copies[piece.index] != 0)->Add(piece.DurationNs());
      case PathKind::kCall: {
        Sum* const sum = SumOf(piece.index, IsBlockingCopy(piece.index));
        return ForEachUninterrupted(piece, [sum](int64_t from_ns, int64_t to_ns) { sum->Add(to_ns - from_ns); });
      }
      case PathKind::kHost:
        return ForEachUninterrupted(piece,
                                    [&](int64_t from_ns, int64_t to_ns) { AddHost(piece.thread, from_ns, to_ns); });
      case PathKind::kUnknown:
        return unknown_.Add(piece.DurationNs());
    }
  }

  void NameSums(const std::vector<OpFacts::Sum>& ops) {
    for (uint32_t i = 0; i < ops_.size(); ++i) {
      if (ops_[i].count > 0) NameOp(trace_.ops[ops[i].first], ops_[i]);
    }
    for (uint32_t i = 0; i < calls_.size(); ++i) {
      const PackedCalls::Traits& traits = trace_.api_calls.TraitsAt(i);
      AddTo(ShareOf(traits.api_class), trace_.Text(traits.function), calls_[i]);
      AddTo(Share::kCopyCall, trace_.Text(traits.function), blocked_[i]);
    }
    AddTo(Share::kQueue, "queued, not started", queued_);
    AddTo(Share::kLoad, InfoOf(Cause::kLoad).meaning, loading_);
    AddTo(Share::kProfiler, InfoOf(Cause::kProfiler).meaning, profiler_);
    AddTo(Share::kUnknown, "not in the trace", unknown_);
    for (uint32_t i = 0; i < paths_.size(); ++i) {
      if (paths_[i].count > 0) AddTo(Share::kHost, PathName(trace_, NameId{i}), paths_[i]);
    }
  }

  const std::map<std::pair<Share, std::string>, Sum>& sums() const { return sums_; }
  int64_t Of(Share share) const {
    int64_t total_ns = 0;
    for (const auto& [key, sum] : sums_) total_ns += key.first == share ? sum.total_ns : 0;
    return total_ns;
  }

 private:
  void AddHost(uint32_t thread, int64_t start_ns, int64_t end_ns) {
    ranges_.ForEach(thread, start_ns, end_ns, [this](NameId path, int64_t ns) { paths_[path.value].Add(ns); });
  }

  // Calls between(from_ns, to_ns) for what nothing took from the thread in the time of the piece.
  template <class F>
  void ForEachUninterrupted(const PathPiece& piece, F&& between) {
    const std::vector<Interruption>& list = host_.interruptions[piece.thread];
    size_t& before = begun_[piece.thread];
    int64_t to_ns = piece.end_ns;
    while (before > 0 && list[before - 1].start_ns >= to_ns) --before;
    for (size_t i = before; i > 0 && list[i - 1].end_ns > piece.start_ns; --i) {
      const int64_t start_ns = std::max(piece.start_ns, list[i - 1].start_ns);
      const int64_t end_ns = std::min(to_ns, list[i - 1].end_ns);
      if (end_ns < to_ns) between(end_ns, to_ns);
      (list[i - 1].cause == Cause::kLoad ? loading_ : profiler_).Add(end_ns - start_ns);
      to_ns = start_ns;
    }
    if (piece.start_ns < to_ns) between(piece.start_ns, to_ns);
  }

  bool IsBlockingCopy(uint32_t call) const {
    if (host_.blocking_copies[call] == 0) return false;
    const ApiClass api_class = trace_.api_calls.TraitsOf(trace_.api_calls.items()[call]).api_class;
    return api_class == ApiClass::kCopy || api_class == ApiClass::kMemset;
  }

  Sum* SumOf(uint32_t call, bool is_blocked) {
    return &(is_blocked ? blocked_ : calls_)[trace_.api_calls.items()[call].traits];
  }

  static Share ShareOf(ApiClass api_class) {
    switch (api_class) {
      case ApiClass::kLaunch:
      case ApiClass::kGraphLaunch:
        return Share::kLaunch;
      case ApiClass::kSync:
        return Share::kSync;
      case ApiClass::kMemory:
        return Share::kMemory;
      case ApiClass::kLoad:
        return Share::kLoad;
      case ApiClass::kOther:
      case ApiClass::kCopy:
      case ApiClass::kMemset:
      case ApiClass::kQuery:
      case ApiClass::kStream:
      case ApiClass::kEvent:
        break;
    }
    return Share::kApi;
  }

  void NameOp(const GpuOp& op, const Sum& sum) {
    const Share share = IsKernelLike(op) ? Share::kKernel : op.kind == OpKind::kMemset ? Share::kFill : Share::kCopy;
    AddTo(share, OpName(trace_, op), sum);
  }

  void AddTo(Share share, std::string_view name, const Sum& sum) {
    if (sum.count > 0) sums_[{share, std::string(name)}].Add(sum);
  }

  const Trace& trace_;
  const HostFacts& host_;
  EnclosingRanges ranges_;
  std::vector<size_t> begun_;  // interruptions of a thread, no more than those that began before its last piece
  std::vector<Sum> ops_;       // by their traits
  std::vector<Sum> calls_;     // by their traits
  std::vector<Sum> blocked_;   // the same of those that are blocking copies
  std::vector<Sum> paths_;     // of the host's own code, by NameId
  Sum queued_, loading_, profiler_, unknown_;
  std::map<std::pair<Share, std::string>, Sum> sums_;
};

Table PathTable(const Shares& shares, int64_t window_ns, uint32_t max_rows) {
  Table table{"critical_path",
              "Critical path",
              {{"percent", "Time (%)", Unit::kPercent, false},
               {"total_ns", "Total", Unit::kNs, false},
               {"count", "Segments", Unit::kCount, false},
               {"kind", "Kind", Unit::kText, false},
               {"name", "Operation", Unit::kText, false}},
              {},
              "The chain of work and waits from the end of the last operation back to the first CUDA call; percent of "
              "that time."};
  table.is_detail = true;  // the list of what could be won says the same in fewer words
  for (const auto& [key, sum] : shares.sums()) {
    if (sum.total_ns == 0) continue;
    table.rows.push_back(
        {PercentOf(sum.total_ns, window_ns), sum.total_ns, sum.count, std::string(InfoOf(key.first).name), key.second});
  }
  SortAndCut(&table, 1, 4, max_rows);
  return table;
}

struct WhatIf {
  std::string what, formula;
  int64_t gain_ns = 0;
};

// "copy host to device" as "H2D copies".
std::string CopiesOf(const std::string& name) {
  for (size_t i = 0; i < kDirectionCount; ++i) {
    const auto direction = static_cast<Direction>(i);
    if (name.ends_with(DirectionName(direction))) return std::string(ShortDirectionName(direction)) + " copies";
  }
  return name;
}

// What one change of the program could take off the path at most; nothing for what nobody can change.
WhatIf WhatIfOf(Share share, const std::string& name, int64_t ns) {
  switch (share) {
    case Share::kKernel:
      return {"make " + name + " twice as fast", "half of its time", ns / 2};
    case Share::kCopy:
      return {"overlap " + CopiesOf(name) + " with kernels", "time of these copies", ns};
    case Share::kFill:
      return {"overlap memsets with kernels", "time of these memsets", ns};
    case Share::kQueue:
      return {"eliminate launch gaps", "time work was queued but not started", ns};
    case Share::kLaunch:
      return {"queue launches earlier (" + name + ")", "time of these calls", ns};
    case Share::kSync:
      return {"avoid waiting in " + name, "time of these calls after the work had ended, or with nothing to wait for",
              ns};
    case Share::kCopyCall:
      return {"make " + name + " asynchronous", "time of these calls minus their copies", ns};
    case Share::kMemory:
      return {"avoid " + name + " during the run", "time of these calls", ns};
    case Share::kLoad:
      return {"avoid " + name + " during the run", "time of these calls", ns};
    case Share::kApi:
      return {"remove " + name, "time of these calls", ns};
    case Share::kHost:
      return {"overlap host code " + (name == "(no range)" ? "with the GPU" : "in " + name), "its time", ns};
    case Share::kProfiler:
    case Share::kUnknown:
      break;
  }
  return {};
}

Table WhatIfTable(const Shares& shares, int64_t window_ns, uint32_t max_rows) {
  Table table{"what_if",
              "Critical path: potential speedup",
              {{"gain_ns", "Max. saving", Unit::kNs, false},
               {"percent", "% of critical path", Unit::kPercent, false},
               {"what", "If you...", Unit::kText, false},
               {"formula", "Basis", Unit::kText, true}},
              {},
              "Max. saving: time on the critical path, or half of it for a kernel made twice as fast. Each row stands "
              "alone: savings do not add up, and another path may be nearly as long. Overlap host code: run it while "
              "the GPU works."};
  for (const auto& [key, sum] : shares.sums()) {
    WhatIf what_if = WhatIfOf(key.first, key.second, sum.total_ns);
    if (what_if.gain_ns <= 0) continue;
    table.rows.push_back(
        {what_if.gain_ns, PercentOf(what_if.gain_ns, window_ns), std::move(what_if.what), std::move(what_if.formula)});
  }
  SortAndCut(&table, 0, 2, max_rows);
  return table;
}

// Causes of idle time have findings of their own. That a kernel holds up the run is said nowhere else.
void AddFinding(const AnalysisInput& input, const std::string& step, const Shares& shares, int64_t window_ns,
                AnalysisResult* result) {
  const std::pair<const std::pair<Share, std::string>, Sum>* longest = nullptr;
  for (const auto& entry : shares.sums()) {
    if (entry.first.first != Share::kKernel) continue;
    if (longest == nullptr || entry.second.total_ns > longest->second.total_ns) longest = &entry;
  }
  if (longest == nullptr) return;
  const int64_t total_ns = longest->second.total_ns;
  if (PercentOf(total_ns, window_ns) < kKernelPercentWorthAFinding) return;
  if (IsKernelBound(input, step)) return;  // which gpu.kernel_bound says
  Finding finding = NewFinding("critical.kernel", PercentOf(total_ns, window_ns));
  finding.message = BriefName(longest->first.second) + " is " + FormatPercent(PercentOf(total_ns, window_ns)) +
                    " of the critical path (" + FormatNs(total_ns) + ")";
  finding.evidence.push_back("Critical path: " + FormatNs(window_ns) +
                             " from the first CUDA call to the end of the last operation");
  finding.gain_ns = total_ns / 2;
  finding.basis = "assumes it runs twice as fast, half of its time on the critical path";
  finding.subject.kernel = longest->first.second;
  result->findings.push_back(std::move(finding));
}

}  // namespace

AnalysisResult RunCriticalPath(const AnalysisInput& input, const AnalysisOptions& options) {
  const Trace& trace = input.trace();
  AnalysisResult result;
  if (trace.ops.empty()) return result;
  CriticalWalk walk(input);
  const int64_t window_ns = walk.window().DurationNs();
  if (window_ns <= 0) return result;
  Shares shares(input);
  walk.Run([&](const PathPiece& piece) { shares.Add(piece); });
  shares.NameSums(input.shared().ops().sums());
  AddMetric(&result, "critical.window_ns", window_ns);
  for (size_t i = 0; i < kShareCount; ++i) {
    const Share share = static_cast<Share>(i);
    if (share == Share::kFill) continue;  // counted with copies
    const int64_t fills_ns = share == Share::kCopy ? shares.Of(Share::kFill) : 0;
    AddMetric(&result, InfoOf(share).metric, shares.Of(share) + fills_ns);
  }
  result.tables.push_back(PathTable(shares, window_ns, options.max_rows));
  result.tables.push_back(WhatIfTable(shares, window_ns, options.max_rows));
  AddFinding(input, options.step, shares, window_ns, &result);
  return result;
}

}  // namespace gprof

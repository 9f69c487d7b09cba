// What the run waited for from its end back to its beginning, and what could be won on that path at most.
#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analysis/analyses.h"
#include "analysis/calls.h"
#include "analysis/critical_walk.h"
#include "analysis/findings.h"
#include "analysis/host_walk.h"
#include "analysis/metrics.h"
#include "analysis/names.h"
#include "analysis/shared_facts.h"
#include "analysis/statistics.h"
#include "analysis/tables.h"
#include "base/parallel.h"
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
    {"fill", "critical.copy_ns"},
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

const ShareInfo& InfoOf(Share share) {
  return kShares[static_cast<size_t>(share)];
}

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

void AddEach(const std::vector<Sum>& more, std::vector<Sum>* sums) {
  if (sums->empty()) sums->resize(more.size());
  for (size_t i = 0; i < more.size(); ++i) (*sums)[i].Add(more[i]);
}

class Shares {
 public:
  Shares(const AnalysisInput& input, const CriticalPath& path) : Shares(input) {
    // A piece has sums for each name, so that it is to be longer than those.
    const size_t pieces = std::clamp<size_t>(path.size() / std::max<size_t>(32'768, trace_.strings.size()), 1, 16);
    std::vector<Shares> shares(pieces, *this);
    ForEachSideBySide(pieces, input.shared().threads(), [&](size_t i) {
      path.ForEach(path.size() * i / pieces, path.size() * (i + 1) / pieces,
                   [&](const PathPiece& piece) { shares[i].Add(piece); });
    });
    for (const Shares& of_piece : shares) Add(of_piece);
    NameSums();
    for (uint32_t name = 0; name < kernels_.size(); ++name) {
      if (kernels_[name].count > 0) sums_[{Share::kKernel, KernelName(trace_, NameId{name})}] = kernels_[name];
    }
  }

  const std::map<std::pair<Share, std::string>, Sum>& sums() const { return sums_; }
  int64_t Of(Share share) const {
    int64_t total_ns = 0;
    for (const auto& [key, sum] : sums_) total_ns += key.first == share ? sum.total_ns : 0;
    return total_ns;
  }

 private:
  explicit Shares(const AnalysisInput& input)
      : trace_(input.trace()),
        host_(input.shared().host()),
        walk_(trace_, host_),
        kernels_(trace_.strings.size()),
        launches_(trace_.api_calls.FactsCount()) {}

  void Add(const Shares& more) {
    AddEach(more.kernels_, &kernels_);
    AddEach(more.launches_, &launches_);
    AddEach(more.paths_, &paths_);
    for (size_t i = 0; i < kShareCount; ++i) AddEach(more.functions_[i], &functions_[i]);
    queued_.Add(more.queued_);
    for (const auto& [key, sum] : more.sums_) sums_[key].Add(sum);
  }

  void Add(const PathPiece& piece) {
    const int64_t ns = piece.end_ns - piece.start_ns;
    switch (piece.kind) {
      case PathKind::kOperation:
        return AddOperation(trace_.ops[piece.op], ns);
      case PathKind::kQueue:
        return queued_.Add(ns);
      case PathKind::kReturn:
        return AddCall(host_.blocking_copies[piece.call] != 0 ? Share::kCopyCall : Share::kSync, piece.call, ns);
      case PathKind::kCall:
        if (IsLaunchAlone(piece.call)) return launches_[trace_.api_calls.FactsIndex(piece.call)].Add(ns);
        return AddThread(piece);
      case PathKind::kHost:
        return AddThread(piece);
      case PathKind::kUnknown:
        return AddTo(Share::kUnknown, "not in the trace", ns);
    }
  }

  void AddOperation(const GpuOp& op, int64_t ns) {
    if (op.kind == OpKind::kKernel) {
      return kernels_[op.name.value].Add(ns);
    }
    AddTo(op.kind == OpKind::kGraph    ? Share::kKernel
          : op.kind == OpKind::kMemset ? Share::kFill
                                       : Share::kCopy,
          OpName(trace_, op), ns);
  }

  // All of its time is the call's own.
  bool IsLaunchAlone(uint32_t call) const {
    const PackedCalls::Facts& facts = trace_.api_calls.FactsAt(trace_.api_calls.FactsIndex(call));
    return IsLaunch(facts.api_class) && host_.interruptions[facts.thread].empty();
  }

  void AddThread(const PathPiece& piece) {
    const uint32_t thread = piece.kind == PathKind::kHost ? piece.thread : trace_.api_calls[piece.call].thread;
    parts_.clear();
    walk_.AddHost(thread, piece.start_ns, piece.end_ns, &parts_);
    for (const Part& part : parts_) {
      if (part.call != kNone) {
        AddCall(ShareOf(part), part.call, part.duration_ns);
      } else if (part.cause == Cause::kHost) {
        SumOf(&paths_, part.path)->Add(part.duration_ns);
      } else {
        AddTo(ShareOf(part), std::string(gprof::InfoOf(part.cause).meaning), part.duration_ns);
      }
    }
  }

  void AddCall(Share share, uint32_t call, int64_t ns) { SumOfCalls(share, trace_.api_calls[call].function)->Add(ns); }

  Sum* SumOfCalls(Share share, NameId function) {
    return SumOf(&functions_[static_cast<size_t>(share)], function);
  }

  Sum* SumOf(std::vector<Sum>* sums, NameId name) const {
    if (sums->empty()) sums->resize(trace_.strings.size());
    return &(*sums)[name.value];
  }

  // Pieces are many and names are few: what was summed by id gets its name once.
  void NameSums() {
    const auto add = [&](Share share, std::string name, const Sum& sum) {
      if (sum.count > 0) sums_[{share, std::move(name)}].Add(sum);
    };
    for (uint32_t i = 0; i < launches_.size(); ++i) {
      if (launches_[i].count > 0) SumOfCalls(Share::kLaunch, trace_.api_calls.FactsAt(i).function)->Add(launches_[i]);
    }
    add(Share::kQueue, "launched, not started", queued_);
    for (uint32_t i = 0; i < paths_.size(); ++i) add(Share::kHost, PathName(trace_, NameId{i}), paths_[i]);
    for (size_t share = 0; share < kShareCount; ++share) {
      const std::vector<Sum>& sums = functions_[share];
      for (uint32_t i = 0; i < sums.size(); ++i) {
        if (sums[i].count > 0) add(static_cast<Share>(share), std::string(trace_.Text(NameId{i})), sums[i]);
      }
    }
  }

  Share ShareOf(const Part& part) const {
    if (part.call != kNone) {
      if (IsLaunch(trace_.api_calls[part.call].api_class)) return Share::kLaunch;
    }
    switch (part.cause) {
      case Cause::kSync:
        return Share::kSync;
      case Cause::kCopy:
        return Share::kCopyCall;
      case Cause::kMemory:
        return Share::kMemory;
      case Cause::kLoad:
        return Share::kLoad;
      case Cause::kHost:
        return Share::kHost;
      case Cause::kProfiler:
        return Share::kProfiler;
      case Cause::kUnknown:
        return Share::kUnknown;
      case Cause::kQueue:
      case Cause::kDependency:
      case Cause::kLaunch:
      case Cause::kApi:
        break;
    }
    return Share::kApi;
  }

  void AddTo(Share share, std::string name, int64_t ns) {
    sums_[{share, std::move(name)}].Add(ns);
  }

  const Trace& trace_;
  const HostFacts& host_;
  HostWalk walk_;
  std::vector<Sum> kernels_;   // by NameId
  std::vector<Sum> launches_;  // that nothing interrupted, by the facts of calls
  std::vector<Sum> paths_;    // of the host's own code, by NameId; empty without any
  std::array<std::vector<Sum>, kShareCount> functions_;  // by share and NameId
  Sum queued_;
  std::map<std::pair<Share, std::string>, Sum> sums_;
  std::vector<Part> parts_;
};

Table PathTable(const Shares& shares, int64_t window_ns, uint32_t max_rows) {
  Table table{"critical_path",
              "Critical path",
              {{"percent", "Time", Unit::kPercent, false},
               {"total_ns", "Total", Unit::kNs, false},
               {"count", "Pieces", Unit::kCount, false},
               {"kind", "Kind", Unit::kText, false},
               {"name", "What", Unit::kText, false}},
              {},
              "What the end of the last work waited for, back to the first CUDA call; percent of the time between."};
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

// What one change of the program could take off the path at most; nothing for what nobody can change.
WhatIf WhatIfOf(Share share, const std::string& name, int64_t ns) {
  switch (share) {
    case Share::kKernel:
      return {name + " twice as fast", "half of its time on the path", ns / 2};
    case Share::kCopy:
      return {name + " behind kernels", "its time on the path", ns};
    case Share::kFill:
      return {"fills behind kernels", "their time on the path", ns};
    case Share::kQueue:
      return {"no latency between operations", "time launched and not started", ns};
    case Share::kLaunch:
      return {name + " ahead of the GPU", "time of these calls on the path", ns};
    case Share::kSync:
      return {"no wait in " + name, "from the end of the work to the return, and waits for nothing", ns};
    case Share::kCopyCall:
      return {name + " that does not block", "time of these calls on the path without their copies", ns};
    case Share::kMemory:
      return {"no " + name + " in between", "time of these calls on the path", ns};
    case Share::kLoad:
      return {"no " + name + " in the run", "time of these calls on the path", ns};
    case Share::kApi:
      return {"no " + name, "time of these calls on the path", ns};
    case Share::kHost:
      return {"host code in " + name + " beside the GPU", "its time on the path", ns};
    case Share::kProfiler:
    case Share::kUnknown:
      break;
  }
  return {};
}

Table WhatIfTable(const Shares& shares, int64_t window_ns, uint32_t max_rows) {
  Table table{"what_if",
              "What could be won on the critical path",
              {{"gain_ns", "At most", Unit::kNs, false},
               {"percent", "Of path", Unit::kPercent, false},
               {"what", "If", Unit::kText, false},
               {"formula", "Counted", Unit::kText, true}},
              {},
              "At most: the time on the path of what the row names, half of it for twice as fast. Each alone: another path "
              "may be nearly as long, so that less is won; gains do not add up."};
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
void AddFinding(const Shares& shares, int64_t window_ns, AnalysisResult* result) {
  const std::pair<const std::pair<Share, std::string>, Sum>* longest = nullptr;
  for (const auto& entry : shares.sums()) {
    if (entry.first.first != Share::kKernel) continue;
    if (longest == nullptr || entry.second.total_ns > longest->second.total_ns) longest = &entry;
  }
  if (longest == nullptr) return;
  const int64_t total_ns = longest->second.total_ns;
  if (PercentOf(total_ns, window_ns) < kKernelPercentWorthAFinding) return;
  result->findings.push_back(
      {"critical.kernel", Severity::kNote,
       longest->first.second + " is " + FormatPercent(PercentOf(total_ns, window_ns)) +
           " of the critical path: " + FormatNs(static_cast<double>(total_ns)) + " of " +
           FormatNs(static_cast<double>(window_ns)) + " from the first CUDA call to the end of the last work",
       "Make this kernel faster before others: time won in it shortens the run until another path is the longest.",
       total_ns / 2, "half of its time on the critical path, as if it were twice as fast"});
}

}  // namespace

AnalysisResult RunCriticalPath(const AnalysisInput& input, const AnalysisOptions& options) {
  const Trace& trace = input.trace();
  AnalysisResult result;
  if (trace.ops.empty()) return result;
  const CriticalPath path = FindCriticalPath(input);
  const int64_t window_ns = path.end_ns - path.start_ns;
  if (window_ns <= 0) return result;
  const Shares shares(input, path);
  AddMetric(&result, "critical.window_ns", window_ns);
  for (size_t i = 0; i < kShareCount; ++i) {
    const Share share = static_cast<Share>(i);
    if (share == Share::kFill) continue;  // counted with copies
    const int64_t fills_ns = share == Share::kCopy ? shares.Of(Share::kFill) : 0;
    AddMetric(&result, InfoOf(share).metric, shares.Of(share) + fills_ns);
  }
  result.tables.push_back(PathTable(shares, window_ns, options.max_rows));
  result.tables.push_back(WhatIfTable(shares, window_ns, options.max_rows));
  AddFinding(shares, window_ns, &result);
  return result;
}

}  // namespace gprof

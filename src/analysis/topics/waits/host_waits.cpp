#include "analysis/topics/waits/host_waits.h"

#include <algorithm>
#include <map>
#include <span>
#include <tuple>

#include "analysis/causes/idle_parts.h"
#include "analysis/causes/shared_causes.h"
#include "analysis/facts/calls/call_numbers.h"
#include "analysis/facts/operations/operations.h"
#include "analysis/facts/shared_facts.h"

namespace gprof {
namespace {

using trace::SyncKind;

WaitKind KindOf(SyncKind kind) {
  switch (kind) {
    case SyncKind::kEvent:
      return WaitKind::kEvent;
    case SyncKind::kStream:
      return WaitKind::kStream;
    case SyncKind::kContext:
      return WaitKind::kDevice;
    case SyncKind::kStreamWaitEvent:
    case SyncKind::kUnknown:
      break;
  }
  return WaitKind::kOther;
}

WaitKind KindByName(std::string_view function) {
  const auto has = [&](std::string_view part) { return function.find(part) != std::string_view::npos; };
  if (has("Event")) return WaitKind::kEvent;
  if (has("Stream")) return WaitKind::kStream;
  return has("Device") || has("Ctx") ? WaitKind::kDevice : WaitKind::kOther;
}

WaitKind KindOfMemoryCall(std::string_view function) {
  const auto has = [&](std::string_view part) { return function.find(part) != std::string_view::npos; };
  return has("Free") || has("Unregister") ? WaitKind::kFree : WaitKind::kMemory;
}

// As which cause of idle time such a wait counts.
Cause CauseOf(WaitKind kind) {
  if (IsExplicit(kind)) return Cause::kSync;
  return IsCopyOrFill(kind) ? Cause::kCopy : Cause::kMemory;
}

constexpr CauseMask kCausesOfWaits = MaskOf(Cause::kSync) | MaskOf(Cause::kCopy) | MaskOf(Cause::kMemory);

class Collector {
 public:
  explicit Collector(const AnalysisInput& input) : input_(input), trace_(input.trace()) {}

  HostWaits Run() {
    AddCalls();
    for (const Sync& sync : trace_.syncs) {  // those whose call is not in the trace
      if (sync.api != kNone || sync.kind == SyncKind::kStreamWaitEvent) continue;
      Add(SiteOf({KindOf(sync.kind), 0, sync.thread, 0}), sync.DurationNs());
    }
    AddIdle();
    return std::move(result_);
  }

 private:
  using Key = std::tuple<WaitKind, uint32_t, uint32_t, uint32_t>;  // function, thread, path

  void AddCalls() {
    CallNumbers recorded = RecordedKinds();
    const std::vector<uint8_t>& blocking_copies = input_.shared().host().blocking_copies;
    std::vector<uint32_t> memory_calls;
    for (const uint32_t i : input_.shared().calls().rare()) {
      const ApiCall& call = trace_.api_calls[i];
      if (call.api_class == ApiClass::kSync) {
        const uint32_t kind = recorded.Of(i);
        AddCall(i, kind == kNone ? KindByName(trace_.Text(call.function)) : KindOf(static_cast<SyncKind>(kind)));
      } else if (blocking_copies[i] != 0) {
        AddCall(i, call.api_class == ApiClass::kMemset ? WaitKind::kFill : WaitKind::kCopy);
      } else if (call.api_class == ApiClass::kMemory) {
        memory_calls.push_back(i);
      } else if (call.api_class == ApiClass::kQuery) {
        result_.has_queries = true;
      }
    }
    for (uint32_t i : ImpliedWaits(trace_, input_.shared().ops(), memory_calls)) {
      AddCall(i, KindOfMemoryCall(trace_.Text(trace_.api_calls[i].function)));
    }
  }

  // By call, what CUPTI says, which is better than what the name says.
  CallNumbers RecordedKinds() const {
    std::vector<std::pair<uint32_t, uint32_t>> kinds;
    for (const Sync& sync : trace_.syncs) {
      if (sync.api == kNone) continue;
      const uint32_t kind = sync.kind == SyncKind::kUnknown ? kNone : static_cast<uint32_t>(sync.kind);
      kinds.emplace_back(OutermostCall(trace_, sync.api), kind);
    }
    return CallNumbers(std::move(kinds));
  }

  void AddCall(uint32_t index, WaitKind kind) {
    const ApiCall& call = trace_.api_calls[index];
    const uint32_t path = call.range == kNone ? 0 : trace_.ranges[call.range].path.value;
    const uint32_t site = SiteOf({kind, call.function.value, call.thread, path});
    site_of_call_.emplace_back(index, site);
    Add(site, call.DurationNs());
  }

  void Add(uint32_t index, int64_t duration_ns) {
    WaitSite& site = result_.sites[index];
    ++site.count;
    site.blocked_ns += duration_ns;
    site.longest_ns = std::max(site.longest_ns, duration_ns);
    result_.waits.emplace_back(index, duration_ns);
  }

  uint32_t SiteOf(const Key& key) {
    if (last_site_ != kNone && key == last_key_) return last_site_;  // as in most loops
    const auto next = static_cast<uint32_t>(result_.sites.size());
    const auto [found, is_new] = numbers_.try_emplace(key, next);
    if (is_new) {
      const auto& [kind, function, thread, path] = key;
      result_.sites.push_back({kind, NameId{function}, thread, NameId{path}, 0, 0, 0, 0});
    }
    last_key_ = key;
    return last_site_ = found->second;
  }

  void AddIdle() {
    result_.window_ns = input_.shared().window_ns();
    if (result_.sites.empty()) return;
    CallNumbers sites(std::move(site_of_call_));
    for (uint32_t device = 0; device < trace_.device_ops.size(); ++device) {
      input_.causes().of_gaps(device).ForEach([&](const Part& part) { AddPart(part, &sites); });
    }
  }

  void AddPart(const Part& part, CallNumbers* sites) {
    if ((MaskOf(part.cause) & kCausesOfWaits) == 0) return;
    const uint32_t index = sites->Of(part.call());
    if (index == kNone) return;
    WaitSite& site = result_.sites[index];
    if (part.cause == CauseOf(site.kind)) site.idle_ns += part.duration_ns;
  }

  const AnalysisInput& input_;
  const Trace& trace_;
  HostWaits result_;
  std::vector<std::pair<uint32_t, uint32_t>> site_of_call_;  // of those that wait
  std::map<Key, uint32_t> numbers_;
  Key last_key_;
  uint32_t last_site_ = kNone;
};

}  // namespace

std::string_view WaitName(WaitKind kind) {
  constexpr std::string_view kNames[kWaitKindCount] = {"device", "stream", "event", "other",
                                                       "copy",   "memset", "free",  "memory"};
  return kNames[static_cast<size_t>(kind)];
}

HostWaits HostWaitsOf(const AnalysisInput& input) { return Collector(input).Run(); }

}  // namespace gprof

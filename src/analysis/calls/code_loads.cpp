#include "analysis/calls/code_loads.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "analysis/calls/call_kinds.h"
#include "analysis/calls/interpreters.h"
#include "analysis/facts/call_facts.h"

namespace gprof {
namespace {

constexpr int64_t kReadsOfAnImport = 4;  // fewer may be a program that reads a file of its own

// Looking a library up and reading it take about as long as that before it is loaded.
constexpr int64_t kLongestSetUpNs = 50'000'000, kTimesOfTheLoad = 4;

bool IsModule(std::string_view path) { return path.ends_with(".pyc") || path.ends_with(".py"); }

// Of loads, those that reach into the time.
auto IsIn(const Interval& time) {
  return [&time](const auto& load) { return load.time.start_ns < time.end_ns && time.start_ns < load.time.end_ns; };
}

}  // namespace

CodeLoads::CodeLoads(const Trace& trace, const CallFacts& calls) {
  for (const uint32_t i : calls.rare()) {
    const ApiCall& call = trace.api_calls[i];
    const std::string_view function = trace.Text(call.function);
    if (call.api_class != ApiClass::kLoad || !LoadsCode(function)) continue;
    const bool is_by_itself = function.find("LibraryLoad") != std::string_view::npos && call.thread != kNone &&
                              !IsInterpreted(trace, trace.threads[call.thread].process);
    loads_.push_back({{call.start_ns, call.end_ns}, is_by_itself});
  }
  for (const OsCall& call : trace.os_calls) {
    if (IsModule(trace.Text(call.path))) imports_.push_back({call.end_ns, call.process});
  }
  std::sort(imports_.begin(), imports_.end(), [](const Import& a, const Import& b) { return a.end_ns < b.end_ns; });
}

bool CodeLoads::MayBeIn(const Interval& time) const {
  return loads_.empty() || (std::any_of(loads_.begin(), loads_.end(), IsIn(time)) && !AreAside(time));
}

bool CodeLoads::AreAside(const Interval& time) const {
  int64_t from_ns = time.start_ns, other_ns = 0;
  bool is_any = false;
  const auto add_until = [&](int64_t end_ns, int64_t load_ns) {
    if (end_ns - from_ns > kLongestSetUpNs + kTimesOfTheLoad * load_ns) other_ns += end_ns - from_ns;
  };
  for (const Load& load : loads_) {
    if (!IsIn(time)(load)) continue;
    if (!load.is_by_itself) return false;  // who compiles it, compiles before and after
    is_any = true;
    add_until(load.time.start_ns, load.time.DurationNs());
    from_ns = std::max(from_ns, load.time.end_ns);
  }
  add_until(time.end_ns, 0);
  return is_any && 2 * other_ns > time.DurationNs();
}

int64_t CodeLoads::ImportedNs(uint32_t process, const Interval& time) const {
  int64_t reads = 0, last_ns = time.start_ns;
  const auto first = std::lower_bound(imports_.begin(), imports_.end(), time.start_ns,
                                      [](const Import& import, int64_t ns) { return import.end_ns < ns; });
  for (auto import = first; import != imports_.end() && import->end_ns < time.end_ns; ++import) {
    if (import->process != process) continue;
    ++reads;
    last_ns = import->end_ns;
  }
  return reads < kReadsOfAnImport ? time.start_ns : last_ns;
}

}  // namespace gprof

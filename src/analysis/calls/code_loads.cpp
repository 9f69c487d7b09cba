#include "analysis/calls/code_loads.h"

#include <algorithm>
#include <string_view>

#include "analysis/calls/call_kinds.h"
#include "analysis/facts/call_facts.h"

namespace gprof {
namespace {

constexpr int64_t kReadsOfAnImport = 4;  // fewer may be a program that reads a file of its own

bool IsModule(std::string_view path) { return path.ends_with(".pyc") || path.ends_with(".py"); }

}  // namespace

CodeLoads::CodeLoads(const Trace& trace, const CallFacts& calls) {
  for (const uint32_t i : calls.rare()) {
    const ApiCall& call = trace.api_calls[i];
    if (call.api_class == ApiClass::kLoad && LoadsCode(trace.Text(call.function)))
      loads_.push_back({call.start_ns, call.end_ns});
  }
  for (const OsCall& call : trace.os_calls) {
    if (IsModule(trace.Text(call.path))) imports_.push_back({call.end_ns, call.process});
  }
  std::sort(imports_.begin(), imports_.end(), [](const Import& a, const Import& b) { return a.end_ns < b.end_ns; });
}

bool CodeLoads::MayBeIn(const Interval& time) const {
  return loads_.empty() || std::any_of(loads_.begin(), loads_.end(), [&](const Interval& load) {
           return load.start_ns < time.end_ns && time.start_ns < load.end_ns;
         });
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

#include "analysis/facts/calls/code_loads.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <tuple>

#include "analysis/facts/calls/call_facts.h"
#include "analysis/facts/calls/call_kinds.h"

namespace gprof {
namespace {

constexpr int64_t kReadsOfAnImport = 4;  // fewer may be a program that reads a file of its own

// Looking a library up and reading it take about as long as that before it is loaded.
constexpr int64_t kLongestSetUpNs = 50'000'000, kTimesOfTheLoad = 4;

bool IsModule(std::string_view path) { return path.ends_with(".pyc") || path.ends_with(".py"); }

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
  std::ranges::stable_sort(loads_, [](const Load& a, const Load& b) { return a.time.start_ns < b.time.start_ns; });
  int64_t latest_ns = INT64_MIN;
  for (const Load& load : loads_) latest_end_ns_.push_back(latest_ns = std::max(latest_ns, load.time.end_ns));
  for (const OsCall& call : trace.os_calls) {
    if (IsModule(trace.Text(call.path))) imports_.push_back({call.end_ns, call.process});
  }
  std::ranges::sort(imports_, {}, &Import::end_ns);
}

// Some of these may have ended before it: calls of several threads.
std::span<const CodeLoads::Load> CodeLoads::Around(const Interval& time) const {
  const auto first = std::upper_bound(latest_end_ns_.begin(), latest_end_ns_.end(), time.start_ns);
  const auto last = std::lower_bound(loads_.begin(), loads_.end(), time.end_ns,
                                     [](const Load& load, int64_t ns) { return load.time.start_ns < ns; });
  const auto from = loads_.begin() + (first - latest_end_ns_.begin());
  return from < last ? std::span(from, last) : std::span<const Load>();
}

bool CodeLoads::MayBeIn(const Interval& time) const {
  return loads_.empty() || (!Around(time).empty() && !AreAside(time));
}

bool CodeLoads::AreAside(const Interval& time) const {
  int64_t from_ns = time.start_ns, other_ns = 0;
  bool is_any = false;
  const auto add_until = [&](int64_t end_ns, int64_t load_ns) {
    if (end_ns - from_ns > kLongestSetUpNs + kTimesOfTheLoad * load_ns) other_ns += end_ns - from_ns;
  };
  for (const Load& load : Around(time)) {
    if (load.time.end_ns <= time.start_ns) continue;
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

bool IsInterpreted(const Trace& trace, uint32_t process) {
  if (process == kNone) return true;  // nobody knows
  constexpr std::string_view kInterpreters[] = {"python", "pt_main_thread", "julia", "java", "node", "MATLAB"};
  const Process& of = trace.processes[process];
  const std::string_view name = trace.Text(of.name), command = trace.Text(of.command_line);
  return (name.empty() && command.empty()) || std::ranges::any_of(kInterpreters, [&](std::string_view interpreter) {
           return name.starts_with(interpreter) || command.find(interpreter) != std::string_view::npos;
         });
}

bool IsAnyInterpreted(const Trace& trace) {
  for (uint32_t i = 0; i < trace.processes.size(); ++i) {
    if (IsInterpreted(trace, i)) return true;
  }
  return trace.processes.empty();
}

CompilerRanges::CompilerRanges(const Trace& trace) {
  std::vector<bool> is_of_compiler(trace.ranges.TraitsCount());
  for (uint32_t i = 0; i < is_of_compiler.size(); ++i) {
    const PackedRanges::Traits& traits = trace.ranges.TraitsAt(i);
    is_of_compiler[i] = traits.thread != kNone && trace.Text(traits.name).starts_with("XlaCompile");
  }
  if (std::ranges::none_of(is_of_compiler, [](bool is_it) { return is_it; })) return;
  std::vector<Compile> all;
  for (const PackedRanges::Item& range : trace.ranges.items()) {
    if (!is_of_compiler[range.traits]) continue;
    const uint32_t process = trace.threads[trace.ranges.TraitsOf(range).thread].process;
    all.push_back({process, {range.start_ns(), trace.ranges.EndNs(range)}});
  }
  std::ranges::sort(all, [](const Compile& a, const Compile& b) {
    return std::tie(a.process, a.time.start_ns) < std::tie(b.process, b.time.start_ns);
  });
  for (const Compile& one : all) {
    const bool is_more = !compiles_.empty() && compiles_.back().process == one.process &&
                         one.time.start_ns <= compiles_.back().time.end_ns;
    if (!is_more) compiles_.push_back(one);
    compiles_.back().time.end_ns = std::max(compiles_.back().time.end_ns, one.time.end_ns);
  }
}

int64_t CompilerRanges::DoneNs(uint32_t process, const Interval& time) const {
  int64_t compiled_ns = 0, done_ns = time.start_ns;
  auto compile = std::ranges::partition_point(compiles_, [&](const Compile& c) {
    return std::tie(c.process, c.time.end_ns) < std::tie(process, time.start_ns);
  });
  for (; compile != compiles_.end() && compile->process == process && compile->time.start_ns < time.end_ns; ++compile) {
    done_ns = std::min(compile->time.end_ns, time.end_ns);
    compiled_ns += done_ns - std::max(compile->time.start_ns, time.start_ns);
  }
  return 2 * compiled_ns < done_ns - time.start_ns ? time.start_ns : done_ns;
}

}  // namespace gprof

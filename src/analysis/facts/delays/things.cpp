#include "analysis/facts/delays/things.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "analysis/facts/operations/operations.h"
#include "analysis/facts/shared_facts.h"
#include "gprof/trace/delay_request.h"

namespace gprof {
namespace {

class Times {
 public:
  explicit Times(const std::vector<Interval>& times) : times_(times) {}
  bool Contain(int64_t time_ns) const {
    const auto after = std::ranges::upper_bound(times_, time_ns, {}, &Interval::start_ns);
    return after != times_.begin() && time_ns < std::prev(after)->end_ns;
  }

 private:
  const std::vector<Interval>& times_;
};

class UseList {
 public:
  ThingUse& Of(ThingKind kind, const std::string& name) {
    const auto [at, is_new] = places_.try_emplace(name, uses_.size());
    if (is_new) uses_.push_back({kind, name, 0, 0, {}, {}});
    return uses_[at->second];
  }
  std::vector<ThingUse> Take() { return std::move(uses_); }

 private:
  std::map<std::string, size_t> places_;
  std::vector<ThingUse> uses_;
};

void Count(ThingUse& use, int64_t duration_ns) {
  ++use.instances;
  use.time_ns += duration_ns;
}

void AddCalls(const Trace& trace, uint32_t process, const Times& times, UseList* uses) {
  for (const Call call : CallsOf(trace)) {
    const PackedCalls::Traits& shared = call.shared();
    if (shared.process != process || !call.is_outermost() || !times.Contain(call.start_ns())) continue;
    const int64_t ns = call.duration_ns();
    if (IsLaunch(shared.api_class)) Count(uses->Of(ThingKind::kLaunches, "launches"), ns);
    if (shared.api_class == ApiClass::kSync) Count(uses->Of(ThingKind::kSync, "sync"), ns);
    const bool is_copy = shared.api_class == ApiClass::kCopy || shared.api_class == ApiClass::kMemset;
    if (is_copy) Count(uses->Of(ThingKind::kCopies, "copies"), ns);
    Count(uses->Of(ThingKind::kApi, "api:" + std::string(trace.Text(shared.function))), ns);
  }
}

// Delays are told by a range's own name, wherever it stands.
void AddRanges(const Trace& trace, const ProgramProgress& progress, const Times& times, UseList* uses) {
  std::set<NameId> around;
  for (size_t i = 0; i < trace.ranges.size(); ++i) {
    const NvtxRange range = trace.ranges[i];
    if (progress.step == NameId{} || range.name != progress.step) continue;
    for (uint32_t at = static_cast<uint32_t>(i); at != kNone; at = trace.ranges[at].parent)
      around.insert(trace.ranges[at].name);
  }
  for (size_t i = 0; i < trace.ranges.size(); ++i) {
    const NvtxRange range = trace.ranges[i];
    if (range.is_open || range.is_cut || range.name == NameId{} || around.contains(range.name)) continue;
    if (range.thread == kNone || trace.threads[range.thread].process != progress.process) continue;
    if (times.Contain(range.start_ns))
      Count(uses->Of(ThingKind::kRange, "range:" + std::string(trace.Text(range.name))), range.DurationNs());
  }
}

// Those that a call launched: what runs within a graph cannot be delayed.
void AddKernels(const AnalysisInput& input, uint32_t process, const Times& times, UseList* uses) {
  const Trace& trace = input.trace();
  const KernelGroups& kernels = input.shared().kernels();
  for (const Operation op : OperationsOf(trace)) {
    const PackedOps::Traits& shared = op.shared();
    const uint32_t group = kernels.of_traits()[op.kind_number()];
    if (group == kNone || shared.process != process || shared.kind != OpKind::kKernel) continue;
    const uint32_t call = input.shared().ops().CallOf(op);
    if (call == kNone || Call(trace.api_calls, call).shared().api_class != ApiClass::kLaunch) continue;
    if (!times.Contain(Call(trace.api_calls, call).start_ns())) continue;
    ThingUse& use = uses->Of(ThingKind::kKernel, std::string(kKernelThing) + kernels.Name(group));
    Count(use, op.duration_ns());
    const std::string_view symbol = trace.Text(shared.name);
    if (std::ranges::find(use.symbols, symbol) == use.symbols.end()) use.symbols.emplace_back(symbol);
  }
}

// "line:src/step.cu:12" is that of a file that ends so, at a folder.
bool IsLineOf(std::string_view line, std::string_view file, uint32_t number) {
  const std::string_view place = line.substr(kLineThing.size());
  const std::size_t colon = place.rfind(':');
  if (colon == std::string_view::npos || place.substr(colon + 1) != std::to_string(number)) return false;
  const std::string_view wanted = place.substr(0, colon);
  if (!file.ends_with(wanted)) return false;
  return file.size() == wanted.size() || file[file.size() - wanted.size() - 1] == '/';
}

std::vector<bool> FramesAt(const Trace& trace, const std::string& line) {
  std::vector<bool> frames(trace.frames.size());
  for (const Symbol& symbol : trace.symbols) {
    if (symbol.line != 0 && IsLineOf(line, trace.Text(symbol.file), symbol.line)) frames[symbol.frame] = true;
  }
  return frames;
}

// Callers come before what they call.
std::vector<bool> StacksWith(const Trace& trace, const std::vector<bool>& frames) {
  std::vector<bool> stacks(trace.stacks.size());
  for (std::size_t i = 0; i < stacks.size(); ++i) {
    const StackNode& node = trace.stacks[i];
    stacks[i] = (node.frame != kNone && frames[node.frame]) || (node.parent != kNone && stacks[node.parent]);
  }
  return stacks;
}

void AddLine(const Trace& trace, uint32_t process, const Times& times, const std::string& line, UseList* uses) {
  const std::vector<bool> frames = FramesAt(trace, line), stacks = StacksWith(trace, frames);
  ThingUse use{ThingKind::kLine, line, 0, 0, {}, {}};
  for (const Call call : CallsOf(trace)) {
    const PackedCalls::Traits& shared = call.shared();
    const bool is_made_there = shared.stack != kNone && stacks[shared.stack];
    if (is_made_there && shared.process == process && call.is_outermost() && times.Contain(call.start_ns()))
      Count(use, call.duration_ns());
  }
  for (std::size_t i = 0; i < frames.size(); ++i) {
    if (!frames[i] || trace.frames[i].module == kNone) continue;
    const std::string_view path = trace.Text(trace.modules[trace.frames[i].module].path);
    use.frames.push_back(trace::delay_request::HashOfFrame(path.data(), path.size(), trace.frames[i].offset));
  }
  if (use.instances > 0) uses->Of(ThingKind::kLine, line) = std::move(use);
}

}  // namespace

std::vector<ThingUse> UsesIn(const AnalysisInput& input, const ProgramProgress& progress,
                             const std::vector<Interval>& times, const std::vector<std::string>& lines) {
  UseList uses;
  const Times in(times);
  AddCalls(input.trace(), progress.process, in, &uses);
  AddRanges(input.trace(), progress, in, &uses);
  AddKernels(input, progress.process, in, &uses);
  for (const std::string& line : lines) AddLine(input.trace(), progress.process, in, line, &uses);
  return uses.Take();
}

const ThingUse* FindUse(const std::vector<ThingUse>& uses, const std::string& name) {
  const auto found = std::ranges::find(uses, name, &ThingUse::name);
  return found == uses.end() ? nullptr : &*found;
}

}  // namespace gprof

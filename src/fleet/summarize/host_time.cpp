#include "fleet/summarize/host_time.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "analysis/facts/host/os_call_kinds.h"
#include "analysis/facts/places/call_places.h"
#include "analysis/facts/places/running_samples.h"
#include "analysis/facts/places/sampled_functions.h"
#include "analysis/facts/shared_facts.h"

namespace gprof {
namespace {

bool IsOf(const Trace& trace, uint32_t process, uint32_t pid) {
  return process != kNone && trace.processes[process].pid == pid;
}

// Sums by name of one kind.
class Sums {
 public:
  Sums(const char* kind, std::vector<IdlePlace>* places) : kind_(kind), places_(places) {}
  ~Sums() {
    for (const auto& [key, ns] : sums_) {
      places_->push_back({std::string(InfoOf(key.first).name), kind_, KeptName(key.second), ns});
    }
  }
  void Add(Cause cause, const std::string& name, int64_t ns) {
    if (!name.empty() && ns > 0) sums_[{cause, name}] += ns;
  }

 private:
  const char* kind_;
  std::vector<IdlePlace>* places_;
  std::map<std::pair<Cause, std::string>, int64_t> sums_;
};

}  // namespace

bool IsCollectiveRange(std::string_view name) {
  constexpr std::string_view kBeginnings[] = {"gloo:", "nccl:", "rccl:", "oneccl:", "ccl::", "mpi:", "MPI_"};
  return std::ranges::any_of(kBeginnings, [&](std::string_view beginning) { return name.starts_with(beginning); });
}

HostTime::HostTime(const AnalysisInput& input, uint32_t pid) : input_(input), trace_(input.trace()) {
  AddCpuTime(pid);
  FindThread(pid);
  if (!is_known()) return;
  FindWindow();
  AddPieces();
}

void HostTime::AddCpuTime(uint32_t pid) {
  const RunningSamples counted(trace_);
  for (const CpuSample& sample : trace_.cpu_samples) {
    if (!IsOf(trace_, sample.process, pid) || !counted.Has(sample)) continue;
    cpu_ns_ = std::max<int64_t>(cpu_ns_, 0) + sample.weight_ns;
  }
}

// The thread with the steps, else with the most time in ranges, in MPI and on a processor.
void HostTime::FindThread(uint32_t pid) {
  const std::optional<StepChoice>& choice = input_.shared().step();
  if (choice && IsOf(trace_, trace_.threads[choice->thread].process, pid)) {
    thread_ = choice->thread;
    return;
  }
  std::vector<int64_t> times_ns(trace_.threads.size());
  for (uint32_t thread = 0; thread < trace_.threads.size(); ++thread) {
    input_.shared().ranges().ForEachWhole(
        thread, 0, [&](uint32_t range) { times_ns[thread] += trace_.ranges[range].DurationNs(); });
  }
  for (const MpiCall& call : trace_.mpi_calls) {
    if (call.thread != kNone) times_ns[call.thread] += call.DurationNs();
  }
  for (const CpuSample& sample : trace_.cpu_samples) {
    if (sample.thread != kNone) times_ns[sample.thread] += sample.weight_ns;
  }
  int64_t most_ns = 0;
  for (uint32_t thread = 0; thread < trace_.threads.size(); ++thread) {
    if (times_ns[thread] <= most_ns || !IsOf(trace_, trace_.threads[thread].process, pid)) continue;
    thread_ = thread, most_ns = times_ns[thread];
  }
}

void HostTime::FindWindow() {
  const std::optional<StepChoice>& choice = input_.shared().step();
  if (choice && choice->thread == thread_ && !choice->ranges.empty()) {
    window_ = {trace_.ranges[choice->ranges.front()].start_ns, trace_.ranges[choice->ranges.back()].end_ns};
    return;
  }
  const Process& process = trace_.processes[trace_.threads[thread_].process];
  window_ = {std::max(process.start_ns, trace_.start_ns), std::min(process.end_ns, trace_.end_ns)};
}

void HostTime::AddPieces() {
  std::vector<uint32_t> open;
  size_t collectives = 0;  // of them
  int64_t at_ns = window_.start_ns;
  const auto go_to = [&](int64_t to_ns) {
    if (to_ns <= at_ns) return;
    AddPiece({at_ns, std::min(to_ns, window_.end_ns)}, open.empty() ? kNone : open.back(), collectives > 0);
    at_ns = to_ns;
  };
  const auto close = [&] {
    const NvtxRange& range = trace_.ranges[open.back()];
    go_to(range.end_ns);
    collectives -= IsCollectiveRange(trace_.Text(range.name));
    open.pop_back();
  };
  const Trace::Slice slice = trace_.thread_ranges[thread_];
  for (uint32_t i = slice.first; i < slice.last; ++i) {
    const NvtxRange& range = trace_.ranges[i];
    if (!range.is_push_pop) continue;
    while (!open.empty() && trace_.ranges[open.back()].end_ns <= range.start_ns) close();
    go_to(range.start_ns);
    open.push_back(i);
    collectives += IsCollectiveRange(trace_.Text(range.name));
  }
  while (!open.empty()) close();
  go_to(window_.end_ns);
}

void HostTime::AddPiece(Interval time, uint32_t range, bool is_collective) {
  const auto add = [&](int64_t until_ns, Cause cause, uint32_t os_call) {
    if (until_ns <= time.start_ns) return;
    cause = is_collective ? Cause::kMpi : cause;
    split_[cause] += until_ns - time.start_ns;
    pieces_.push_back({{time.start_ns, until_ns}, cause, range, cause == Cause::kOs ? os_call : kNone});
    time.start_ns = until_ns;
  };
  for (const ThreadWait& wait : input_.shared().host().waits.Within(thread_, time.start_ns, time.end_ns)) {
    add(std::min(wait.start_ns, time.end_ns), Cause::kHost, kNone);
    add(std::min(wait.end_ns, time.end_ns), wait.is_mpi ? Cause::kMpi : Cause::kOs,
        wait.IsOsCall() ? wait.call : kNone);
  }
  add(time.end_ns, Cause::kHost, kNone);
}

void HostTime::AddTo(std::vector<Iteration>* steps) const {
  auto piece = pieces_.begin();
  for (Iteration& step : *steps) {
    step.parts_ns = {};
    step.parts_ns[kStepOutside] = step.duration_ns;
    while (piece != pieces_.end() && piece->time.end_ns <= step.start_ns) ++piece;
    for (auto at = piece; at != pieces_.end() && at->time.start_ns < step.EndNs(); ++at) {
      const int64_t ns = OverlapNs(at->time, Interval{step.start_ns, step.EndNs()});
      step.parts_ns[kStepIdle + static_cast<size_t>(at->cause)] += ns;
      step.parts_ns[kStepOutside] -= ns;
    }
  }
}

std::vector<Iteration> HostTime::Slices(int64_t count) const {
  std::vector<Iteration> slices;
  const int64_t slice_ns = std::max<int64_t>((window_.DurationNs() + count - 1) / count, 1);
  for (int64_t at_ns = window_.start_ns; at_ns < window_.end_ns; at_ns += slice_ns) {
    slices.push_back({.start_ns = at_ns, .duration_ns = std::min(slice_ns, window_.end_ns - at_ns)});
  }
  AddTo(&slices);
  return slices;
}

std::vector<IdlePlace> HostTime::Places() const {
  std::vector<IdlePlace> places;
  CallPlaces place_of(trace_, input_.shared().python_lines());
  {
    Sums ranges("range", &places), calls("call", &places), lines("line", &places), functions("function", &places);
    for (const Piece& piece : pieces_) {
      const int64_t ns = piece.time.DurationNs();
      if (piece.range != kNone) ranges.Add(piece.cause, std::string(trace_.Text(trace_.ranges[piece.range].path)), ns);
      if (piece.os_call == kNone) continue;
      const OsCall& call = trace_.os_calls[piece.os_call];
      calls.Add(piece.cause, CallName(trace_, input_.shared().os_call_kinds().KindOf(call)), ns);
      (place_of.IsLine(call.stack) ? lines : functions).Add(piece.cause, place_of.OfProgram(call.stack), ns);
    }
  }
  AddSamples(&places);
  return places;
}

// A place has the share of the host's time that it has of the samples.
void HostTime::AddSamples(std::vector<IdlePlace>* places) const {
  const RunningSamples counted(trace_);
  std::vector<uint32_t> stacks;
  for (const CpuSample& sample : trace_.cpu_samples) {
    if (sample.thread != thread_ || !counted.Has(sample)) continue;
    const auto piece =
        std::ranges::partition_point(pieces_, [&](const Piece& p) { return p.time.end_ns <= sample.time_ns; });
    const bool is_host =
        piece != pieces_.end() && piece->time.start_ns <= sample.time_ns && piece->cause == Cause::kHost;
    if (is_host) stacks.push_back(sample.stack);
  }
  if (stacks.size() < kSamplesToNameAFunction) return;
  Sums lines("line", places), functions("function", places);
  CallPlaces place_of(trace_, input_.shared().python_lines());
  const int64_t share_ns = split_[Cause::kHost] / static_cast<int64_t>(stacks.size());
  for (const uint32_t stack : stacks) {
    (place_of.IsLine(stack) ? lines : functions).Add(Cause::kHost, place_of.Named(stack), share_ns);
  }
}

}  // namespace gprof

#include "analysis/facts/serving/engine_time.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "analysis/facts/operations/operations.h"
#include "analysis/facts/shared_facts.h"
#include "analysis/facts/time/interval_set.h"
#include "gprof/analysis.h"

namespace gprof {
namespace {

// The steps of each thread in order, to find the one in which a call was made.
class StepsOfThreads {
 public:
  explicit StepsOfThreads(const std::vector<BatchStep>& steps) : steps_(steps) {
    for (uint32_t i = 0; i < steps.size(); ++i) {
      if (steps[i].thread != kNone) of_thread_[steps[i].thread].push_back(i);
    }
  }

  uint32_t At(uint32_t thread, int64_t time_ns) const {
    const auto found = of_thread_.find(thread);
    if (found == of_thread_.end()) return kNone;
    const auto after = std::ranges::partition_point(
        found->second, [&](uint32_t step) { return steps_[step].time.start_ns <= time_ns; });
    if (after == found->second.begin()) return kNone;
    const uint32_t step = *(after - 1);
    return time_ns < steps_[step].time.end_ns ? step : kNone;
  }

 private:
  const std::vector<BatchStep>& steps_;
  std::map<uint32_t, std::vector<uint32_t>> of_thread_;
};

}  // namespace

struct EngineTime::Edge {
  int64_t time_ns;
  bool is_start;
  What what;
  uint32_t step;
};

EngineTime::EngineTime(const AnalysisInput& input, const ServedRequests& served)
    : launched_(served.steps().size()), pieces_(served.steps().size()) {
  for (const BatchStep& step : served.steps()) ends_ns_.push_back(step.time.end_ns);
  ReadOperations(input, served);
  std::set<uint32_t> processes;
  for (const BatchStep& step : served.steps()) processes.insert(step.process);
  for (const uint32_t process : processes) MakePieces(process, served);
  MakeExtents(served);
}

void EngineTime::ReadOperations(const AnalysisInput& input, const ServedRequests& served) {
  const Trace& trace = input.trace();
  const StepsOfThreads steps(served.steps());
  std::vector<Interval> other_work;
  std::map<uint32_t, int64_t> other_ns;
  for (const PackedOps::Item& item : trace.ops.items()) {
    const Operation op(trace.ops, &item);
    if (op.end_ns() <= op.start_ns()) continue;
    const uint32_t call_index = input.shared().ops().CallOf(op);
    const bool has_call = call_index != kNone;
    const Call call(trace.api_calls, has_call ? call_index : 0);
    const uint32_t step = has_call ? steps.At(call.thread(), call.start_ns()) : kNone;
    if (step == kNone) {
      if (!op.is_kernel()) continue;
      other_work.push_back({op.start_ns(), op.end_ns()});
      other_ns[op.shared().process] += op.duration_ns();
      continue;
    }
    ends_ns_[step] = std::max(ends_ns_[step], op.end_ns());
    Launched& launched = launched_[step];
    if (op.start_ns() < launched.first_ns) launched.first_ns = op.start_ns(), launched.first_op = op.index();
    (op.is_kernel() ? launched.kernel_times : launched.copy_times).push_back({op.start_ns(), op.end_ns()});
    launched.kernels += op.shared().kind == OpKind::kKernel;
    launched.graphs += call.shared().api_class == ApiClass::kGraphLaunch;
  }
  int64_t most_ns = 0;
  for (const auto& [process, ns] : other_ns) {
    if (ns > most_ns) most_ns = ns, other_process_ = process;
  }
  JoinOtherWork(std::move(other_work));
}

void EngineTime::JoinOtherWork(std::vector<Interval> work) {
  std::ranges::sort(work, {}, &Interval::start_ns);
  IntervalSet joined;
  for (const Interval& one : work) joined.Add(one.start_ns, one.end_ns);
  other_work_ = joined.intervals();
}

int64_t EngineTime::OtherWorkNs(const Interval& time) const {
  auto work = std::ranges::partition_point(other_work_, [&](const Interval& w) { return w.end_ns <= time.start_ns; });
  int64_t sum_ns = 0;
  for (; work != other_work_.end() && work->start_ns < time.end_ns; ++work) sum_ns += OverlapNs(*work, time);
  return sum_ns;
}

// One walk over all that begins and ends: what goes on at a time decides what the time is.
void EngineTime::MakePieces(uint32_t process, const ServedRequests& served) {
  std::vector<Edge> edges;
  const auto add = [&edges](const Interval& time, What what, uint32_t step) {
    edges.push_back({time.start_ns, true, what, step});
    edges.push_back({time.end_ns, false, what, step});
  };
  for (uint32_t step = 0; step < served.steps().size(); ++step) {
    if (served.steps()[step].process != process) continue;
    add(served.steps()[step].time, What::kHost, step);
    for (const Interval& time : launched_[step].kernel_times) add(time, What::kKernel, step);
    for (const Interval& time : launched_[step].copy_times) add(time, What::kCopy, step);
    launched_[step].kernel_times = launched_[step].copy_times = {};
  }
  std::ranges::sort(edges, {}, [](const Edge& e) { return std::tuple(e.time_ns, e.is_start, e.step); });
  std::map<uint32_t, int64_t> active[3];  // by What, how many of a step
  int64_t since_ns = 0;
  for (const Edge& edge : edges) {
    for (const What what : {What::kKernel, What::kCopy, What::kHost}) {
      const auto& now = active[static_cast<size_t>(what)];
      if (now.empty()) continue;
      AddPiece(what == What::kHost ? now.rbegin()->first : now.begin()->first, what, {since_ns, edge.time_ns});
      break;
    }
    since_ns = edge.time_ns;
    auto& of_kind = active[static_cast<size_t>(edge.what)];
    if (edge.is_start) {
      ++of_kind[edge.step];
    } else if (--of_kind[edge.step] == 0) {
      of_kind.erase(edge.step);
    }
  }
}

void EngineTime::AddPiece(uint32_t step, What what, const Interval& time) {
  if (time.start_ns >= time.end_ns) return;
  std::vector<Piece>& pieces = pieces_[step];
  if (!pieces.empty() && pieces.back().what == what && pieces.back().time.end_ns == time.start_ns) {
    pieces.back().time.end_ns = time.end_ns;
    return;
  }
  StepSplit before;
  if (!pieces.empty()) before = Before(step, time.start_ns);
  pieces.push_back({time, what, before});
}

void EngineTime::MakeExtents(const ServedRequests& served) {
  for (uint32_t step = 0; step < pieces_.size(); ++step) {
    if (pieces_[step].empty()) continue;
    const Interval time{pieces_[step].front().time.start_ns, pieces_[step].back().time.end_ns};
    extents_.push_back({served.steps()[step].process, step, time, time.end_ns});
  }
  std::ranges::sort(extents_, {}, [](const Extent& e) { return std::tuple(e.process, e.time.start_ns, e.step); });
  for (size_t i = 1; i < extents_.size(); ++i) {
    if (extents_[i].process != extents_[i - 1].process) continue;
    extents_[i].latest_end_ns = std::max(extents_[i].latest_end_ns, extents_[i - 1].latest_end_ns);
  }
}

const EngineTime::Extent* EngineTime::FirstExtent(uint32_t process, int64_t time_ns) const {
  const auto first = std::ranges::partition_point(extents_, [&](const Extent& e) {
    return e.process < process || (e.process == process && e.latest_end_ns <= time_ns);
  });
  return first != extents_.end() && first->process == process ? &*first : nullptr;
}

const EngineTime::Extent* EngineTime::Next(const Extent* extent) const {
  const Extent* const next = extent + 1;
  return next != extents_.data() + extents_.size() && next->process == extent->process ? next : nullptr;
}

// Of the step until then.
StepSplit EngineTime::Before(uint32_t step, int64_t time_ns) const {
  const std::vector<Piece>& pieces = pieces_[step];
  const auto after =
      std::ranges::partition_point(pieces, [&](const Piece& piece) { return piece.time.start_ns < time_ns; });
  if (after == pieces.begin()) return {};
  const Piece& last = *(after - 1);
  StepSplit split = last.before;
  const int64_t ns = std::min(last.time.end_ns, time_ns) - last.time.start_ns;
  (last.what == What::kKernel ? split.kernel_ns : last.what == What::kCopy ? split.copy_ns : split.host_ns) += ns;
  return split;
}

StepSplit EngineTime::Of(uint32_t step, const Interval& time) const {
  const StepSplit until = Before(step, time.end_ns), before = Before(step, time.start_ns);
  return {until.kernel_ns - before.kernel_ns, until.copy_ns - before.copy_ns, until.host_ns - before.host_ns};
}

std::vector<Interval> EngineTime::HostIntervals(uint32_t process, const Interval& time) const {
  std::vector<Interval> busy, host;
  for (const Extent* extent = FirstExtent(process, time.start_ns); extent != nullptr; extent = Next(extent)) {
    if (extent->time.start_ns >= time.end_ns) break;
    for (const Piece& piece : pieces_[extent->step]) {
      if (piece.what != What::kHost && OverlapNs(piece.time, time) > 0) busy.push_back(piece.time);
    }
  }
  std::ranges::sort(busy, {}, &Interval::start_ns);
  int64_t from_ns = time.start_ns;
  for (const Interval& work : busy) {
    if (work.start_ns > from_ns) host.push_back({from_ns, work.start_ns});
    from_ns = std::max(from_ns, work.end_ns);
  }
  if (from_ns < time.end_ns) host.push_back({from_ns, time.end_ns});
  return host;
}

}  // namespace gprof

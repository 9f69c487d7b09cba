// What records are that are kept until all is read: what they name may come behind them, or from another process.
#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "trace/join/field_joins.h"
#include "trace/join/join.h"
#include "trace/load/order.h"
#include "trace/text/enum_or.h"

namespace gprof {
namespace {

// The places of nodes whose callers come before them. A circle, which only a damaged trace has, is cut.
std::vector<uint32_t> CallersFirst(std::vector<StackNode>* nodes) {
  constexpr uint32_t kUnvisited = kNone, kOnTheWay = kNone - 1;
  std::vector<uint32_t> place(nodes->size(), kUnvisited), way;
  uint32_t placed = 0;
  for (uint32_t i = 0; i < nodes->size(); ++i) {
    for (uint32_t at = i; at != kNone && place[at] == kUnvisited; at = (*nodes)[at].parent) {
      place[at] = kOnTheWay;
      way.push_back(at);
    }
    if (way.empty()) continue;
    StackNode& outermost = (*nodes)[way.back()];
    if (outermost.parent != kNone && place[outermost.parent] == kOnTheWay) {
      outermost.parent = kNone;
      outermost.is_cut = true;
    }
    for (; !way.empty(); way.pop_back()) place[way.back()] = placed++;
  }
  return place;
}

class KeptJoin {
 public:
  explicit KeptJoin(UnjoinedTrace& unjoined)
      : unjoined_(unjoined), t_(unjoined.trace), by_pid_(unjoined), joins_(unjoined, &by_pid_) {}

  // What others name comes before them.
  void Run() {
    Join<trace::ModuleRecord, Module>();
    Join<trace::FrameRecord, Frame>();
    JoinStacks();
    Join<trace::SymbolRecord, Symbol>();
    OrderSymbols();
    t_.api_calls.ChangeTraits([&](PackedCalls::Traits& call) {
      if (call.stack != kNone) call.stack = joins_.things(Role::kStack).Find(call.process, call.stack);
    });
    for (GraphNode& node : t_.graph_nodes) {
      if (node.stack != kNone) node.stack = joins_.things(Role::kStack).Find(node.process, node.stack);
    }
    Join<trace::CpuSampleRecord, CpuSample>();
    Join<trace::SwitchRecord, ThreadSwitch>();
    Join<trace::OsCallRecord, OsCall>(
        [&](const trace::OsCallRecord& r, OsCall* call) { call->other_thread = OtherThread(*call, r.other_tid); });
    Join<trace::MpiCallRecord, MpiCall>();
    Join<trace::GemmRecord, Gemm>();
    Join<trace::TensorBlockRecord, TensorBlock>([](const trace::TensorBlockRecord& r, TensorBlock* block) {
      block->is_host = r.device < 0;
      if (block->is_host) block->device = kNone;
    });
    Join<trace::CollectiveRecord, Collective>();
    Join<trace::NcclTransferRecord, NcclTransfer>();
    Join<trace::DirectiveRecord, Directive>();
    JoinMetrics();
    JoinCounters();
    Join<trace::WorkRateRecord, WorkRate>();
    Join<trace::DelayWindowRecord, DelayWindow>();
    Join<trace::RequestEventRecord, RequestEvent>();
    Join<trace::EngineStepRecord, EngineStep>();
    Join<trace::StepRequestRecord, StepRequest>();
    Join<trace::GeneratedLinesRecord, GeneratedLines>();
    JoinGpuPauses();
    JoinBaseTimes();
    Join<trace::BaseCallRecord, BaseCall>();
    Join<trace::BaseGraphRecord, BaseGraph>();
    Join<trace::InProgressRecord, InProgress>([&](const trace::InProgressRecord& r, InProgress* work) {
      work->other_thread = by_pid_.ThreadAnywhere(work->process, r.other_tid, work->time_ns);
      if (work->other_thread == gprof::kNone) {  // which is told only now
        work->other_thread = unjoined_.ThreadOrNone(work->process, r.other_tid);
      }
      const bool has_name = work->thread_name != NameId{} && work->thread != gprof::kNone;
      if (has_name && t_.threads[work->thread].name == NameId{}) t_.threads[work->thread].name = work->thread_name;
    });
    Join<trace::CalibrationRecord, Calibration>();
  }

 private:
  struct Nothing {
    template <class R, class M>
    void operator()(const R&, M*) const {}
  };

  // finish(record, &element) sets what its fields do not say. Of what a writer says again the first counts. What a
  // process says of itself is a part of its time; what a collector saw is not.
  template <class R, class M, class F = Nothing>
  void Join(F&& finish = {}) {
    std::vector<M>& list = t_.*kListOf<M>.list;
    for (const auto& [writer, r] : TakeKept<R>(unjoined_)) {
      if constexpr (requires { r.id; }) {
        if (!joins_.things(kListOf<M>.index).Add(writer, r.id, list.size())) continue;
      }
      M m = joins_.ToModel<M>(writer, r);
      finish(r, &m);
      if constexpr (requires { m.process; } && kListOf<M>.is_by_time) {
        if (writer == m.process && WhenOf(m) > 0) unjoined_.Touch(m.process, {WhenOf(m), EndOf(m)});
      }
      list.push_back(m);
    }
  }

  void JoinStacks() {
    NumberedThings& stacks = joins_.things(Role::kStack);
    std::vector<std::pair<uint32_t, uint32_t>> parents;  // writer and number
    std::vector<StackNode> nodes;
    for (auto& [writer, r] : TakeKept<trace::StackRecord>(unjoined_)) {
      if (!stacks.Add(writer, r.id, nodes.size())) continue;
      parents.emplace_back(writer, std::exchange(r.parent, 0));  // which may come behind it
      nodes.push_back(joins_.ToModel<StackNode>(writer, r));
    }
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      nodes[i].parent = stacks.Find(parents[i].first, parents[i].second);
      if (nodes[i].parent == kNone && parents[i].second != 0) nodes[i].is_cut = true;
    }
    std::vector<uint32_t> places = CallersFirst(&nodes);
    t_.stacks.resize(nodes.size());
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      StackNode& node = t_.stacks[places[i]] = nodes[i];
      if (node.parent != kNone) node.parent = places[node.parent];
    }
    stacks.SetPlaces(std::move(places));
  }

  void OrderSymbols() {
    std::erase_if(t_.symbols, [](const Symbol& s) { return s.frame == kNone; });
    const auto key = [](const Symbol& s) { return std::tie(s.frame, s.depth); };
    SortNearlySorted(t_.symbols.begin(), t_.symbols.end(),
                     [&](const Symbol& a, const Symbol& b) { return key(a) < key(b); });
    // What is said again counts where it adds the line.
    for (std::size_t i = t_.symbols.size(); i-- > 1;) {
      Symbol& before = t_.symbols[i - 1];
      const Symbol& again = t_.symbols[i];
      if (key(before) == key(again) && before.line == 0) before.file = again.file, before.line = again.line;
    }
    const auto said_again = std::unique(t_.symbols.begin(), t_.symbols.end(),
                                        [&](const Symbol& a, const Symbol& b) { return key(a) == key(b); });
    t_.symbols.erase(said_again, t_.symbols.end());
  }

  // Who writes into a pipe may be of another process, and who posts a semaphore or has a lock that processes share. One
  // that is not in the trace had a lock of its own process, as most are.
  uint32_t OtherThread(const OsCall& call, uint32_t tid) {
    using enum trace::OsObject;
    const uint32_t known = by_pid_.ThreadAnywhere(call.process, tid, call.start_ns);
    const bool has_ends = call.object_kind == kPipe || call.object_kind == kSocket || call.object_kind == kPoll ||
                          call.object_kind == kFile || call.object_kind == kDevice;
    return known != gprof::kNone || has_ends ? known : unjoined_.ThreadOrNone(call.process, tid);
  }

  // Counter tracks. Devices are numbered later: until then that of a source is an ordinal in its process.
  void JoinMetrics() {
    for (auto& [writer, r] : unjoined_.kept.Of<trace::MetricSourceRecord>()) {
      if (r.scope != static_cast<uint8_t>(trace::MetricScope::kThread)) r.tid = 0;
    }
    Join<trace::MetricSourceRecord, MetricSource>([&](const trace::MetricSourceRecord& r, MetricSource* s) {
      if (s->scope != trace::MetricScope::kDevice) s->device = kNone;
      if (r.pid == 0 && s->process != kNone) s->pid = t_.processes[s->process].pid;
    });
    Join<trace::MetricBlockRecord, MetricSample>();
    std::erase_if(t_.metric_samples, [](const MetricSample& s) { return s.source == kNone; });
    std::stable_sort(t_.metric_samples.begin(), t_.metric_samples.end(),
                     [](const MetricSample& a, const MetricSample& b) {
                       return std::tie(a.source, a.start_ns) < std::tie(b.source, b.start_ns);
                     });
    Join<trace::MetricLossRecord, MetricLoss>();
  }

  // Kernel counters, with the ordinals of devices as well.
  void JoinCounters() {
    Join<trace::CounterPlanRecord, CounterPlan>();
    Join<trace::CounterRangeRecord, CounterRange>([](const trace::CounterRangeRecord& r, CounterRange* range) {
      range->duration_ns = EndNs(r.start_ns, r.duration_ns) - range->start_ns;
      range->status = EnumOr(r.status, trace::CounterStatus::kTimeLimit, trace::CounterStatus::kPassesMissing);
    });
    Join<trace::CounterValuesRecord, CounterValue>();
    std::erase_if(t_.counter_values, [](const CounterValue& v) { return v.range == kNone; });
    std::stable_sort(t_.counter_values.begin(), t_.counter_values.end(),
                     [](const CounterValue& a, const CounterValue& b) { return a.range < b.range; });
    Join<trace::PcSampleRecord, PcSample>();
    Join<trace::InstructionRecord, Instruction>();
  }

  // One is written when it begins and again when it ends; what was killed meanwhile has no end.
  void JoinGpuPauses() {
    std::map<std::pair<uint32_t, uint32_t>, GpuPause> pauses;  // by process and number
    for (const auto& [writer, r] : TakeKept<trace::GpuPauseRecord>(unjoined_)) {
      if (IsCollector(writer)) continue;
      GpuPause& pause = pauses[{writer, r.number}];
      const int64_t end_ns = pause.end_ns;
      pause = joins_.ToModel<GpuPause>(writer, r);
      pause.end_ns = std::max(pause.end_ns, end_ns);
    }
    for (auto& [key, pause] : pauses) {
      pause.is_open = pause.end_ns == 0;
      if (pause.is_open) pause.end_ns = t_.processes[pause.process].end_ns;
      pause.end_ns = std::max(pause.start_ns, pause.end_ns);
      t_.gpu_pauses.push_back(pause);
    }
  }

  // They are told piece by piece while they last.
  void JoinBaseTimes() {
    Join<trace::BaseTimeRecord, BaseTime>();
    std::vector<BaseTime>& times = t_.base_times;
    std::sort(times.begin(), times.end(), [](const BaseTime& a, const BaseTime& b) {
      return std::tie(a.process, a.start_ns) < std::tie(b.process, b.start_ns);
    });
    std::vector<BaseTime> joined;
    for (const BaseTime& time : times) {
      const bool goes_on =
          !joined.empty() && joined.back().process == time.process && time.start_ns <= joined.back().end_ns;
      if (!goes_on) joined.push_back(time);
      joined.back().end_ns = std::max(joined.back().end_ns, time.end_ns);
    }
    times = std::move(joined);
  }

  UnjoinedTrace& unjoined_;
  Trace& t_;
  ProcessesByPid by_pid_;
  FieldJoins joins_;
};

}  // namespace

void JoinKept(UnjoinedTrace& unjoined) { KeptJoin(unjoined).Run(); }

}  // namespace gprof

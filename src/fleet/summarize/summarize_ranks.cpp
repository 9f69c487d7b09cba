#include "fleet/summarize/summarize_ranks.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "analysis/causes/python_line_sums.h"
#include "analysis/causes/shared_causes.h"
#include "analysis/facts/operations/nccl_kernels.h"
#include "analysis/facts/operations/operations.h"
#include "analysis/facts/recording/clock_quality.h"
#include "analysis/facts/shared_facts.h"
#include "analysis/facts/time/interval_set.h"
#include "analysis/result/histogram.h"
#include "analysis/result/tables.h"
#include "analysis/topics/analyses.h"
#include "analysis/topics/gpus/nccl_messages.h"
#include "analysis/topics/host/mpi_arrivals.h"
#include "analysis/topics/tracks/gpu_states.h"
#include "analysis/topics/tracks/metric_samples.h"
#include "base/demangle.h"
#include "base/saturate.h"
#include "fleet/partial/keep_results.h"
#include "fleet/summarize/host_time.h"
#include "fleet/summarize/rank_parts.h"
#include "report/run_facts.h"
#include "trace/reshape/select.h"

namespace gprof {
namespace {

constexpr int64_t kFewestSamples = 20;  // to name a function by
constexpr size_t kKeptProblems = 8, kNoKernel = SIZE_MAX;

std::string FileName(std::string_view path) { return KeptName(path.substr(path.rfind('/') + 1)); }

// The rows of a table by the keys of its columns.
class Rows {
 public:
  Rows(const AnalysisResult& result, std::string_view id) : table_(FindTable(result, id)) {}
  size_t size() const { return table_ == nullptr ? 0 : table_->rows.size(); }
  int64_t Number(size_t row, std::string_view key) const { return ValueAt<int64_t>(*table_, table_->rows[row], key); }
  std::string Text(size_t row, std::string_view key) const {
    return KeptName(ValueAt<std::string>(*table_, table_->rows[row], key));
  }

 private:
  const Table* table_;
};

class Summarizer {
 public:
  Summarizer(const Trace& trace, uint32_t process, bool keeps_results)
      : trace_(trace),
        input_(trace),
        process_(process),
        nccl_(trace),
        keeps_results_(keeps_results),
        results_(keeps_results ? RunToKeep(input_) : RunForSummary(input_)) {}

  RankSummary Run() {
    Identity();
    Health();
    Clock();
    Devices();
    Kernels();
    Copies();
    Calls();
    if (rank_.gpus.empty() && !trace_.processes.empty()) {
      Host();
    } else {
      Places();
    }
    rank_.memory = MemoryOf(input_), rank_.ranges = RangesOf(input_);
    Steps();
    Communicators();
    Hang();
    if (keeps_results_) rank_.results = KeptText(KeepResults(input_, std::move(results_)));
    return std::move(rank_);
  }

 private:
  const AnalysisResult& ResultsOf(std::string_view analysis) const {
    return results_[static_cast<size_t>(FindAnalysis(analysis) - AllAnalyses().data())];
  }

  bool Is(uint32_t process) const {
    return process != kNone && trace_.processes[process].pid == trace_.processes[process_].pid;
  }

  void Identity() {
    rank_.source = FileName(trace_.path);
    rank_.records = static_cast<int64_t>(trace_.record_count);
    if (trace_.processes.empty()) return;
    const Process& process = trace_.processes[process_];
    rank_.host = KeptName(trace_.Text(process.host)), rank_.program = KeptName(trace_.Text(process.name));
    rank_.rank_source = KeptName(trace_.Text(process.rank_source));
    rank_.rank = process.rank, rank_.local_rank = process.local_rank;
    rank_.world_size = process.world_size, rank_.pid = process.pid, rank_.start_ns = process.start_ns;
    int64_t start_ns = process.start_ns, end_ns = process.end_ns;
    for (uint32_t i = 0; i < trace_.processes.size(); ++i) {
      if (!Is(i)) continue;
      start_ns = std::min(start_ns, trace_.processes[i].start_ns);
      end_ns = std::max(end_ns, trace_.processes[i].end_ns);
    }
    rank_.wall_ns = std::max<int64_t>(end_ns - start_ns, 0);
    if (rank_.rank < 0) NumberByNccl();
  }

  // The largest communicator is that of the whole job, as a rule; where it is not, several ranks get one number, and
  // the verdict takes none of them.
  void NumberByNccl() {
    for (const Collective& collective : trace_.collectives) {
      const uint32_t process = collective.thread == kNone ? kNone : trace_.threads[collective.thread].process;
      if (!Is(process) || collective.rank < 0 || collective.ranks <= rank_.world_size) continue;
      rank_.rank = collective.rank, rank_.world_size = collective.ranks;
      rank_.rank_source = kNumberedByNccl;
    }
  }

  void Health() {
    rank_.is_complete = trace_.health.IsComplete();
    rank_.lost_records = static_cast<int64_t>(std::min<uint64_t>(trace_.health.lost_records, INT64_MAX));
    if (rank_.is_complete) return;
    for (const Finding& finding : HealthOf(input_)) {
      if (finding.severity != Severity::kWarning || rank_.problems.size() == kKeptProblems) continue;
      rank_.problems.push_back(KeptName(finding.message));
    }
  }

  void Clock() {
    const std::optional<trace::ClockRecord> best = BestClock(trace_);
    if (!best) return;
    rank_.has_day = true;
    rank_.day_offset_ns = static_cast<int64_t>(best->realtime_ns) - static_cast<int64_t>(best->monotonic_ns);
    rank_.day_uncertainty_ns = static_cast<int64_t>(std::min<uint64_t>(best->uncertainty_ns, 1'000'000'000));
  }

  void Devices() {
    for (uint32_t device = 0; device < trace_.device_ops.size(); ++device) {
      if (trace_.device_ops[device].first == trace_.device_ops[device].last) continue;
      rank_.gpus.push_back(KeptName(trace_.Text(trace_.devices[device].name)));
      rank_.gpu_uuids.push_back(KeptName(trace_.Text(trace_.devices[device].uuid)));
      rank_.window_ns += input_.shared().window_ns(device);
      rank_.busy_ns += input_.shared().busy(device).any.busy_ns();
      rank_.kernel_ns += input_.shared().busy(device).kernels.busy_ns();
      AddCollectiveTime(device);
      AddClock(device);
      AddErrors(device);
    }
    if (const auto throttled_ns = TotalOf(ResultsOf("gpu_metrics"), "gpu.throttled_ns")) {
      rank_.throttled_ns = static_cast<int64_t>(*throttled_ns);
    }
  }

  void AddCollectiveTime(uint32_t device) {
    if (!nccl_.kernels.HasAny()) return;
    IntervalSet collectives, others, kernels;
    for (const Operation op : OperationsOf(trace_, trace_.device_ops[device])) {
      if (!op.is_kernel()) continue;
      kernels.Add(op.start_ns(), op.end_ns());
      (nccl_.kernels.Has(op.shared()) ? collectives : others).Add(op.start_ns(), op.end_ns());
    }
    rank_.nccl_ns += collectives.TotalNs();
    rank_.exposed_ns += kernels.TotalNs() - others.TotalNs();
    kernels_[device] = std::move(kernels), others_[device] = std::move(others);
  }

  void AddClock(uint32_t device) {
    uint32_t source = FindSource(trace_, device, "GPC Clock Frequency", "MHz");
    if (source == kNone) source = FindSource(trace_, device, "SM clock", "MHz");
    const std::optional<Interval> window = GpuWindow(input_, device);
    if (source == kNone || !window) return;
    const auto samples = SamplesWithin(trace_.SamplesOf(source), *window);
    if (samples.empty()) return;
    const auto mhz = static_cast<int64_t>(StatisticsOf(trace_.metric_sources[source], samples).p50);
    rank_.clock_mhz = rank_.clock_mhz == 0 ? mhz : std::min(rank_.clock_mhz, mhz);
  }

  void AddErrors(uint32_t device) {
    const uint32_t source = FindSource(trace_, device, "uncorrected ECC errors", "");
    if (source == kNone || trace_.SamplesOf(source).empty()) return;
    const double errors = ScaledValue(trace_.metric_sources[source], trace_.SamplesOf(source).back().value);
    rank_.ecc_errors = std::max<int64_t>(rank_.ecc_errors, 0) + static_cast<int64_t>(errors);
  }

  void Kernels() {
    const KernelGroups& groups = input_.shared().kernels();
    rank_.kernels = groups.kernels();
    const std::vector<uint32_t> order = MostTimeFirst(groups);
    const size_t kept = std::min(order.size(), kKeptKernels);
    std::vector<size_t> places(order.size(), kept);  // of groups; what is not kept shares the last place
    for (size_t i = 0; i < kept; ++i) {
      places[order[i]] = i;
      rank_.kernel_times.push_back({KeptName(groups.Name(order[i])), 0, 0, INT64_MAX, INT64_MIN, 0, {}});
    }
    if (order.size() > kept) rank_.kernel_times.emplace_back();
    const std::vector<OpFacts::Sum>& sums = input_.shared().ops().sums();
    std::vector<size_t> place_of_traits(sums.size(), kNoKernel);
    for (size_t i = 0; i < sums.size(); ++i) {
      if (groups.of_traits()[i] == kNone) continue;
      place_of_traits[i] = places[groups.of_traits()[i]];
      rank_.kernel_times[place_of_traits[i]].count += sums[i].count;
      AddWrapping(&rank_.kernel_times[place_of_traits[i]].total_ns, sums[i].time_ns);
      const int64_t threads = ThreadsOf(trace_.ops.TraitsAt(static_cast<uint32_t>(i)).shape);
      AddWrapping(&rank_.kernel_times[place_of_traits[i]].gpu_threads, static_cast<int64_t>(sums[i].count) * threads);
    }
    AddTimes(place_of_traits);
  }

  std::vector<uint32_t> MostTimeFirst(const KernelGroups& groups) const {
    std::vector<int64_t> totals_ns(groups.size());
    const std::vector<OpFacts::Sum>& sums = input_.shared().ops().sums();
    for (size_t i = 0; i < sums.size(); ++i) {
      const uint32_t group = groups.of_traits()[i];
      if (group != kNone) AddWrapping(&totals_ns[group], sums[i].time_ns);
    }
    std::vector<uint32_t> order(totals_ns.size());
    std::iota(order.begin(), order.end(), 0u);
    std::ranges::stable_sort(order, [&](uint32_t a, uint32_t b) {
      return totals_ns[a] != totals_ns[b] ? totals_ns[a] > totals_ns[b] : groups.Name(a) < groups.Name(b);
    });
    return order;
  }

  int64_t ThreadsOf(uint32_t shape) const {
    if (shape == kNone) return 0;
    const trace::KernelShapeRecord& s = trace_.shapes[shape];
    const uint64_t blocks = uint64_t{s.grid_x} * s.grid_y * s.grid_z,
                   threads = uint64_t{s.block_x} * s.block_y * s.block_z;
    constexpr uint64_t kMost = uint64_t{1} << 40;  // of a damaged trace
    return static_cast<int64_t>(std::min(blocks, kMost) * std::min<uint64_t>(threads, 1024));
  }

  void AddTimes(const std::vector<size_t>& place_of_traits) {
    std::vector<std::vector<uint32_t>> counts(rank_.kernel_times.size(),
                                              std::vector<uint32_t>(static_cast<size_t>(kBuckets)));
    for (const Operation op : OperationsOf(trace_)) {
      const size_t place = place_of_traits[op.kind_number()];
      if (place == kNoKernel) continue;
      const int64_t duration_ns = op.duration_ns();
      RankKernel& kernel = rank_.kernel_times[place];
      kernel.min_ns = std::min(kernel.min_ns, duration_ns), kernel.max_ns = std::max(kernel.max_ns, duration_ns);
      ++counts[place][static_cast<size_t>(std::min(BucketOf(duration_ns), kBuckets - 1))];
    }
    for (size_t i = 0; i < counts.size() && i < kKeptKernels; ++i) {
      for (size_t bucket = 0; bucket < counts[i].size(); ++bucket) {
        if (counts[i][bucket] == 0) continue;
        rank_.kernel_times[i].buckets.push_back(static_cast<int64_t>(bucket));
        rank_.kernel_times[i].buckets.push_back(counts[i][bucket]);
      }
    }
  }

  void Copies() {
    const Rows rows(ResultsOf("memcpy"), "memcpy");
    for (size_t i = 0; i < rows.size(); ++i) {
      rank_.copies.push_back({rows.Text(i, "direction"), rows.Text(i, "memory"), rows.Number(i, "count"),
                              rows.Number(i, "bytes"), rows.Number(i, "total_ns")});
    }
  }

  void Calls() {
    const CallFacts& calls = input_.shared().calls();
    rank_.api_calls = calls.count();
    rank_.api_ns = calls.total_ns();
    std::map<NameId, RankCalls> by_function;
    for (uint32_t traits = 0; traits < calls.sums().size(); ++traits) {
      const CallFacts::Sum& sum = calls.sums()[traits];
      if (sum.count == 0) continue;
      RankCalls& function = by_function[trace_.api_calls.TraitsAt(traits).function];
      function.count += sum.count;
      function.total_ns += sum.total_ns;
    }
    rank_.api = Most(by_function);
    std::map<NameId, RankCalls> by_mpi;
    for (const MpiCall& call : trace_.mpi_calls) {
      if (!Is(call.process)) continue;
      RankCalls& function = by_mpi[call.function];
      ++function.count;
      function.total_ns += call.DurationNs();
      rank_.mpi_ns += call.DurationNs();
    }
    rank_.mpi = Most(by_mpi);
  }

  std::vector<RankCalls> Most(const std::map<NameId, RankCalls>& sums) const {
    std::vector<RankCalls> all;
    for (const auto& [name, sum] : sums) all.push_back({KeptName(trace_.Text(name)), sum.count, sum.total_ns});
    std::ranges::sort(all, [](const RankCalls& a, const RankCalls& b) {
      return a.total_ns != b.total_ns ? a.total_ns > b.total_ns : a.name < b.name;
    });
    if (all.size() > kKeptCalls) all.resize(kKeptCalls);
    return all;
  }

  void Places() {
    const AnalysisResult& idle = ResultsOf("idle");
    ForEachCause([&](Cause cause) {
      if (const auto ns = TotalOf(idle, InfoOf(cause).metric)) {
        rank_.idle_ns[static_cast<size_t>(cause)] = static_cast<int64_t>(*ns);
      }
    });
    if (!trace_.switches.empty()) rank_.preempted_ns = input_.causes().of_host(input_).PreemptedNs();
    const Rows ranges(idle, "idle_by_nvtx"), calls(idle, "idle_by_call"), os(idle, "idle_by_os"),
        mpi(idle, "idle_by_mpi");
    for (size_t i = 0; i < ranges.size(); ++i) {
      ForEachCause([&](Cause cause) {
        const std::string name(InfoOf(cause).name);
        AddPlace(name, "range", ranges.Text(i, "path"), ranges.Number(i, name + "_ns"));
      });
    }
    for (size_t i = 0; i < calls.size(); ++i) {
      AddPlace(calls.Text(i, "cause"), "call", calls.Text(i, "function"), calls.Number(i, "idle_ns"));
    }
    for (size_t i = 0; i < os.size(); ++i) {
      const std::string object = os.Text(i, "object");
      const std::string place = os.Text(i, "place");
      AddPlace("os", "call",
               os.Text(i, "function") + (object.empty() ? "" : " of " + object) +
                   (place.empty() ? "" : ", called from " + place),
               os.Number(i, "idle_ns"));
    }
    for (size_t i = 0; i < mpi.size(); ++i) {
      AddPlace("mpi", "call", mpi.Text(i, "function"), mpi.Number(i, "idle_ns"));
    }
    AddFunctions(Rows(idle, "idle_by_function"));
    AddPythonLines();
    KeepPlaces();
  }

  // Where no GPU tells, the thread with the steps does.
  void Host() {
    host_.emplace(input_, trace_.processes[process_].pid);
    rank_.cpu_ns = host_->cpu_ns();
    if (!host_->is_known()) return;
    rank_.window_ns = host_->window().DurationNs();
    ForEachCause([&](Cause cause) { rank_.idle_ns[static_cast<size_t>(cause)] = host_->split()[cause]; });
    rank_.places = host_->Places();
    KeepPlaces();
  }

  // The most time of each kind and cause.
  void KeepPlaces() {
    std::ranges::stable_sort(rank_.places, std::greater(), &IdlePlace::idle_ns);
    std::map<std::pair<std::string, std::string>, size_t> kept;
    std::erase_if(rank_.places, [&](const IdlePlace& place) { return ++kept[{place.cause, place.kind}] > 4; });
    if (rank_.places.size() > 3 * kKeptPlaces) rank_.places.resize(3 * kKeptPlaces);
  }

  void AddPlace(const std::string& cause, const char* kind, const std::string& name, int64_t idle_ns) {
    if (idle_ns > 0) rank_.places.push_back({cause, kind, name, idle_ns});
  }

  // A function has the share of the idle time that it has of the samples.
  void AddFunctions(const Rows& functions) {
    const int64_t host_ns = rank_.idle_ns[static_cast<size_t>(Cause::kHost)];
    const auto samples = static_cast<int64_t>(input_.causes().of_host(input_).samples.size());
    if (samples < kFewestSamples) return;
    for (size_t i = 0; i < functions.size(); ++i) {
      const double share = static_cast<double>(functions.Number(i, "samples")) / static_cast<double>(samples);
      AddPlace("host", "function", ShortName(functions.Text(i, "function")),
               static_cast<int64_t>(share * static_cast<double>(host_ns)));
    }
  }

  void AddPythonLines() {
    const PythonLines& lines = input_.shared().python_lines();
    const std::vector<PythonLineSum> sums = SumByPythonLine(input_);
    for (size_t i = 0; i < lines.all().size() && i < sums.size(); ++i) {
      ForEachCause([&](Cause cause) {
        AddPlace(std::string(InfoOf(cause).name), "line", KeptName(gprof::NameOf(trace_, lines.all()[i])),
                 sums[i].idle[cause]);
      });
    }
  }

  void Steps() {
    RankSteps steps = StepsOf(input_, {kernels_, others_}, host_ ? &*host_ : nullptr);
    rank_.steps = std::move(steps.columns);
    if (steps.times.iterations.empty()) return;
    const uint32_t pid = trace_.processes.empty() ? 0 : trace_.processes[process_].pid;
    rank_.step_waits = StepWaitsOf(input_, nccl_, pid, others_[steps.times.device], steps.times);
  }

  void Hang() {
    for (const Finding& finding : ResultsOf("hang").findings) {
      if (finding.id == "hang.thread") rank_.hang.thread = KeptName(finding.message);
      if (finding.id == "hang.collective") rank_.hang.collective = KeptName(finding.subject.kernel);
    }
  }

  void Communicators() {
    const uint32_t pid = trace_.processes.empty() ? 0 : trace_.processes[process_].pid;
    rank_.communicators = CommunicatorsOf(input_, nccl_, pid, host_ ? &*host_ : nullptr);
  }

  const Trace& trace_;
  const AnalysisInput input_;
  const uint32_t process_;
  const NcclOfRank nccl_;
  const bool keeps_results_;
  std::vector<AnalysisResult> results_;               // in the order of the registry
  std::map<uint32_t, IntervalSet> kernels_, others_;  // by device, where there are collectives
  std::optional<HostTime> host_;                      // of a rank without GPU work
  RankSummary rank_;
};

// Where no process used a GPU or MPI: those that somebody numbered, else those with ranges.
std::vector<bool> OthersUsed(const Trace& trace) {
  std::vector<bool> is_used(trace.processes.size());
  for (uint32_t i = 0; i < trace.processes.size(); ++i) is_used[i] = trace.processes[i].rank >= 0;
  if (std::ranges::find(is_used, true) != is_used.end()) return is_used;
  for (uint32_t thread = 0; thread < trace.threads.size(); ++thread) {
    const Trace::Slice ranges = trace.thread_ranges[thread];
    const uint32_t process = trace.threads[thread].process;
    if (process != kNone && ranges.first != ranges.last) is_used[process] = true;
  }
  return is_used;
}

// The first process of each pid that is a rank.
std::vector<uint32_t> RanksOf(const Trace& trace) {
  std::vector<bool> is_used(trace.processes.size());
  for (uint32_t traits = 0; traits < trace.ops.TraitsCount(); ++traits) {
    const uint32_t process = trace.ops.TraitsAt(traits).process;
    if (process != kNone) is_used[process] = true;
  }
  for (const MpiCall& call : trace.mpi_calls) {
    if (call.process != kNone) is_used[call.process] = true;
  }
  if (std::ranges::find(is_used, true) == is_used.end()) is_used = OthersUsed(trace);
  std::map<uint32_t, uint32_t> by_pid;
  for (uint32_t i = 0; i < trace.processes.size(); ++i) {
    if (is_used[i]) by_pid.try_emplace(trace.processes[i].pid, i);
  }
  std::vector<uint32_t> ranks;
  for (const auto& [pid, process] : by_pid) ranks.push_back(process);
  if (ranks.empty()) ranks.push_back(0);
  return ranks;
}

std::vector<RankSummary> Summarize(const Trace& trace, bool keeps_results) {
  const std::vector<uint32_t> processes = RanksOf(trace);
  std::vector<RankSummary> ranks;
  if (processes.size() == 1) {
    ranks.push_back(Summarizer(trace, processes.front(), keeps_results).Run());
    return ranks;
  }
  for (const uint32_t process : processes) {
    const uint32_t pid = trace.processes[process].pid;
    Selection selection;
    selection.processes = {std::to_string(pid)};
    const Trace part = Select(trace, selection);
    uint32_t first = 0;
    while (first + 1 < part.processes.size() && part.processes[first].pid != pid) ++first;
    ranks.push_back(Summarizer(part, first, keeps_results).Run());
  }
  return ranks;
}

}  // namespace

std::vector<RankSummary> SummarizeRanks(Trace trace) { return Summarize(trace, true); }

std::vector<RankSummary> SummarizeWithoutResults(Trace trace) { return Summarize(trace, false); }

}  // namespace gprof

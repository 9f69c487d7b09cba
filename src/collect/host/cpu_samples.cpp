#include "collect/host/cpu_samples.h"

#include <linux/perf_event.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <optional>
#include <string_view>
#include <utility>

#include "base/units.h"
#include "collect/run/arenas.h"
#include "collect/run/open_proc_file.h"
#include "collect/run/system_clocks.h"

namespace gprof {
namespace {

constexpr double kUsualHz = 1000;
// A tick of the clock of a virtual machine takes its hypervisor 20 to 30 us, where a processor has its own it is 1.
constexpr double kVirtualHz = 200;
constexpr std::size_t kLargestRing = 2u << 20, kSmallestRing = 64u << 10;
constexpr int64_t kLongestStepNs = 40 * kMillisecondNs, kShortestStepNs = 5 * kMillisecondNs;
// A record is in its ring this long after the time it has, at the latest.
constexpr int64_t kSettledNs = kMillisecondNs;
// Functions are looked up rarely, as that reads whole tables of symbols; and at the end.
constexpr int64_t kFirstSymbolsNs = kSecondNs, kLongestSymbolsNs = 16 * kSecondNs;
constexpr CostLimit kCostLimit = {5, 100 * kMillisecondNs};
constexpr int64_t kWatchNs = 2 * kSecondNs;
constexpr int64_t kSignalLookNs = 10 * kMillisecondNs, kMapsNs = 4 * kSecondNs;
// What Python runs is to be read soon after a sample, which takes some microseconds itself.
constexpr int64_t kSignalTakesNs = kMillisecondNs / 5;
constexpr unsigned long kSignalSlackNs = 50'000;

bool IsVirtualMachine() {
  std::ifstream cpus("/proc/cpuinfo");
  for (std::string line; std::getline(cpus, line);) {
    if (line.starts_with("flags")) return line.find(" hypervisor") != std::string::npos;
  }
  return false;
}

}  // namespace

std::unique_ptr<Collector> MakeCpuSamples(const CollectorOptions& options) {
  return std::make_unique<CpuSamples>(options.sampling, options.python.mode != PythonSampling::kOff);
}

CpuSamples::CpuSamples(SamplingOptions options, bool with_python)
    : options_(options), with_python_(with_python && options.backtrace == CpuBacktrace::kTables), own_cost_({}) {}

CpuSamples::~CpuSamples() {
  if (samples_there_ >= 0) close(samples_there_);
}

bool CpuSamples::Start(const RunView& run, std::string* /*why*/) {
  run_ = run;
  processes_ =
      std::make_unique<RunProcesses>(RunProcesses::Options{"/proc", run.folder, run.program, run.follows_children});
  const double hz = options_.hz > 0 ? options_.hz : IsVirtualMachine() ? kVirtualHz : kUsualHz;
  period_ns_ = static_cast<int64_t>(static_cast<double>(kSecondNs) / hz);
  ring_bytes_ = kLargestRing;
  PerfWish wish;
  wish.samples = options_.samples != CpuScope::kNobody;
  wish.switches = options_.switches != CpuScope::kNobody;
  wish.backtrace = options_.backtrace;
  wish.stack_bytes = options_.stack_bytes;
  refused_ = TryPerfEvents(&wish);
  of_kernel_ = wish.of_kernel;
  if (WantsSignalSamples(options_)) {
    signals_ = std::make_unique<SampleRings>(run.folder);
    prctl(PR_SET_TIMERSLACK, kSignalSlackNs);
  }
  if (with_python_) samples_there_ = epoll_create1(EPOLL_CLOEXEC);
  return true;
}

PerfWish CpuSamples::WishOf(CpuScope scope) const {
  PerfWish wish;
  wish.samples = Now(options_.samples) == scope;
  wish.switches = Now(options_.switches) == scope;
  wish.period_ns = period_ns_;
  wish.backtrace = options_.backtrace;
  wish.stack_bytes = options_.stack_bytes;
  wish.of_kernel = of_kernel_;
  wish.wakes = samples_there_ >= 0 && scope == CpuScope::kProcessTree;
  return wish;
}

CpuScope CpuSamples::Now(CpuScope scope) const {
  if (scope != CpuScope::kLaunchingElseTree) return scope;
  return is_somebody_launching_ ? CpuScope::kLaunching : CpuScope::kProcessTree;
}

bool CpuSamples::WantsTree() const {
  return Now(options_.samples) == CpuScope::kProcessTree || Now(options_.switches) == CpuScope::kProcessTree;
}

void CpuSamples::CloseAll() {
  rings_.clear();
  rings_of_processors_.clear();
  for (const int event : redirected_) close(event);
  redirected_.clear();
  threads_.clear();
  switches_.clear();
  off_.clear();
}

void CpuSamples::Switch(bool is_on, int64_t now_ns) {
  CloseAll();
  own_cost_.Restart();
  symbols_step_ns_ = kFirstSymbolsNs;
  symbols_ns_ = now_ns + symbols_step_ns_;
  look_ns_ = now_ns;
  const bool can = is_on && refused_ == 0;
  if (can && WantsTree()) OpenTree();
}

void CpuSamples::Reset() { stacks_.Reset(); }

// Threads that call CUDA or NVTX are all that is wanted as soon as there are any: what is not in the trace yet of the
// others is dropped, as it would be if they had been there from the beginning.
void CpuSamples::LookForLaunching(Journal* journal) {
  if (is_somebody_launching_) return;
  const bool had_others = HasOthers();
  const std::vector<TracedProcess> traced = TracedProcessesIn(run_.folder);
  is_somebody_launching_ =
      std::any_of(traced.begin(), traced.end(), [](const TracedProcess& process) { return !process.threads.empty(); });
  if (!is_somebody_launching_ || !had_others) return;
  CloseAll();
  if (WantsTree()) OpenTree();
  ForgetOthers(journal);
}

// Threads are looked at that are not wanted where somebody calls CUDA or NVTX.
bool CpuSamples::HasOthers() const {
  const bool may_have =
      options_.samples == CpuScope::kLaunchingElseTree || options_.switches == CpuScope::kLaunchingElseTree;
  return may_have && !is_somebody_launching_ && !rings_.empty();
}

void CpuSamples::ForgetOthers(Journal* journal) {
  journal->Discard();
  Reset();
  is_throttling_told_ = false;
}

// With as much memory as the kernel lets us have locked.
bool CpuSamples::AddRing(int event, const PerfWish& wish) {
  for (;; ring_bytes_ /= 2) {
    std::unique_ptr<PerfRing> ring = PerfRing::Make(event, ring_bytes_, wish);
    if (ring != nullptr) {
      epoll_event when = {};
      when.events = EPOLLIN;
      if (wish.wakes) epoll_ctl(samples_there_, EPOLL_CTL_ADD, event, &when);
      rings_.push_back(std::move(ring));
      return true;
    }
    if (ring_bytes_ > kSmallestRing) continue;
    refused_ = errno;
    close(event);
    return false;
  }
}

void CpuSamples::OpenOf(pid_t tid, const PerfWish& wish) {
  const int event = OpenPerfEvent(wish, tid, -1, false);
  if (event < 0) {
    if (errno != ESRCH) refused_ = errno;  // else it has ended
    return;
  }
  AddRing(event, wish);
}

void CpuSamples::OpenLaunching(int64_t now_ns) {
  PerfWish wish = WishOf(CpuScope::kLaunching);
  if (!wish.samples && !wish.switches) return;
  for (const TracedProcess& process : TracedProcessesIn(run_.folder)) {
    wish.wakes = samples_there_ >= 0 && python_.HasPython(process.pid, now_ns);
    for (const pid_t tid : process.threads) {
      if (refused_ == 0 && threads_.insert(tid).second) OpenOf(tid, wish);
    }
  }
}

// What inherits cannot write into one ring for all processors, and all of a processor can.
void CpuSamples::OpenOnProcessors(pid_t tid, const PerfWish& wish) {
  const long processors = std::max(sysconf(_SC_NPROCESSORS_CONF), 1L);
  for (int cpu = 0; cpu < processors; ++cpu) {
    const int event = OpenPerfEvent(wish, tid, cpu, true);
    if (event < 0) {
      if (errno == ENODEV) continue;  // a processor that is off
      if (errno != ESRCH) refused_ = errno;
      return;
    }
    const auto [at, is_first] = rings_of_processors_.try_emplace({cpu, wish.samples}, rings_.size());
    if (!is_first && ioctl(event, PERF_EVENT_IOC_SET_OUTPUT, rings_[at->second]->event()) == 0) {
      redirected_.push_back(event);
      continue;
    }
    if (!AddRing(event, wish)) return;
  }
}

void CpuSamples::OpenTree() {
  const PerfWish wish = WishOf(CpuScope::kProcessTree);
  for (const auto& [pid, process] : processes_->Look(true)) {
    ForEachEntry("/proc/" + std::to_string(pid) + "/task", [&](std::string_view name) {
      const auto tid = static_cast<pid_t>(NumberAt(name, 0).value_or(0));
      if (tid > 0 && refused_ == 0) OpenOnProcessors(tid, wish);
    });
  }
}

int64_t CpuSamples::Drain(int64_t now_ns, Journal* journal) {
  if (now_ns >= look_ns_ || Descriptor() < 0) {
    LookForChanges(now_ns, journal);
  } else {
    has_news_ = false;
    DrainRings(now_ns, journal);
  }
  return look_ns_;
}

void CpuSamples::LookForChanges(int64_t now_ns, Journal* journal) {
  has_news_ = true;
  look_ns_ = now_ns + kSecondNs;
  LookForLaunching(journal);
  if (refused_ != 0) TellRefusal(now_ns, journal);
  if (signals_ != nullptr) return LookForSignalSamples(now_ns, journal);
  if (refused_ != 0 && rings_.empty()) return;
  OpenLaunching(now_ns);
  const std::vector<const PerfRing*> ended = EndedRings();
  DrainRings(now_ns, journal);
  TakeSwitches(now_ns - kSettledNs, journal);
  std::erase_if(rings_, [&](const std::unique_ptr<PerfRing>& ring) {
    return std::find(ended.begin(), ended.end(), ring.get()) != ended.end();
  });
  TellSymbols(now_ns, journal);
  WatchOwnCost(now_ns, journal);
  // Before a third of a ring is full.
  const auto samples = static_cast<int64_t>(ring_bytes_ / (options_.stack_bytes + 512) / 3);
  look_ns_ = now_ns + std::clamp(samples * period_ns_, kShortestStepNs, kLongestStepNs);
}

// A file at a time: rings must not wait.
void CpuSamples::TellSymbols(int64_t now_ns, Journal* journal) {
  if (now_ns >= symbols_ns_ && stacks_.HasPendingSymbols()) stacks_.TellSymbols(1, false, journal);
  if (now_ns < symbols_ns_ || stacks_.HasPendingSymbols()) return;
  symbols_step_ns_ = std::min(2 * symbols_step_ns_, kLongestSymbolsNs);
  symbols_ns_ = now_ns + symbols_step_ns_;
}

// Of these, nobody says when more code is mapped.
void CpuSamples::LookForSignalSamples(int64_t now_ns, Journal* journal) {
  if (now_ns >= maps_ns_) {
    for (const pid_t pid : signals_->Processes()) stacks_.ForgetAddresses(pid);
    maps_ns_ = now_ns + kMapsNs;
  }
  uint64_t lost = 0;
  const auto take = [&](const PerfSample& sample) {
    TakeSample(sample, journal);
    newest_signal_ns_ = std::max(newest_signal_ns_, sample.time_ns);
  };
  signals_->Drain(take, &lost);
  if (lost != 0) journal->AddLoss(trace::MetricLossReason::kOverflow, now_ns, now_ns, 0, lost);
  TellSymbols(now_ns, journal);
  look_ns_ = python_.IsThereSome() ? NextSignalLook(MonotonicNs()) : now_ns + kSignalLookNs;
}

// Timers go off with the clock of the kernel, all of them at the same moments.
int64_t CpuSamples::NextSignalLook(int64_t now_ns) const {
  const int64_t passed_ns = (now_ns - newest_signal_ns_) % kSignalPeriodNs;
  return now_ns - passed_ns + kSignalPeriodNs + kSignalTakesNs;
}

// What Python ran is to be read before the thread is elsewhere. Where the last wake-up was for nothing, as of threads
// that have ended, the next look is early enough.
int CpuSamples::Descriptor() const { return python_.IsThereSome() && has_news_ ? samples_there_ : -1; }

void CpuSamples::Close(int64_t now_ns, Journal* journal) {
  // Somebody may have called these after all, and was gone before its threads were seen.
  if (HasOthers() && !WritersOf(journal->output().path).processes.empty()) return ForgetOthers(journal);
  if (refused_ != 0) TellRefusal(now_ns, journal);
  if (signals_ != nullptr) LookForSignalSamples(now_ns, journal);
  // Threads that began since the last look and have ended already are not known.
  DrainRings(now_ns, journal);
  TakeSwitches(INT64_MAX, journal);
  for (const auto& [tid, off] : off_) {
    if (off.since_ns >= now_ns) continue;
    journal->Add(trace::SwitchRecord{static_cast<uint64_t>(off.since_ns), static_cast<uint64_t>(now_ns - off.since_ns),
                                     static_cast<uint32_t>(off.pid), static_cast<uint32_t>(tid), off.cpu + 1,
                                     off.is_preempted, true});
  }
  off_.clear();
  stacks_.TellSymbols(SIZE_MAX, true, journal);
}

void CpuSamples::DrainRings(int64_t now_ns, Journal* journal) {
  PerfVisitor visitor;
  visitor.sample = [&](const PerfSample& sample) { TakeSample(sample, journal); };
  visitor.change = [&](const PerfSwitch& change) { switches_.push_back(change); };
  visitor.new_code = [&](pid_t pid) { stacks_.ForgetAddresses(pid); };
  for (const std::unique_ptr<PerfRing>& ring : rings_) ring->Drain(&visitor);
  TellLosses(now_ns, &visitor, journal);
}

// The threads of the tracer are in the tree of the program, but none of its own. They have their names from their
// begin.
bool CpuSamples::IsOfTracer(pid_t pid, pid_t tid) {
  if (!WantsTree() || pid == tid) return false;
  const auto [at, is_new] = of_tracer_.try_emplace(tid);
  if (is_new) {
    const ProcFile name("/proc/" + std::to_string(pid) + "/task/" + std::to_string(tid) + "/comm");
    at->second = name.Read().starts_with("gprof-");
  }
  return at->second;
}

void CpuSamples::TakeSample(const PerfSample& sample, Journal* journal) {
  if (IsOfTracer(sample.pid, sample.tid)) return;
  has_news_ = true;
  uint32_t& since = since_backtrace_[sample.tid];
  const bool has_stack = since == 0;
  since = since + 1 >= options_.samples_per_backtrace ? 0 : since + 1;
  // Before anything else: the thread goes on.
  const std::optional<SampledPython> python =
      has_stack && samples_there_ >= 0 ? python_.Of(sample.pid, sample.tid, sample.time_ns) : std::nullopt;
  trace::CpuSampleRecord record;
  record.time_ns = static_cast<uint64_t>(sample.time_ns);
  record.pid = static_cast<uint32_t>(sample.pid);
  record.tid = static_cast<uint32_t>(sample.tid);
  record.stack = has_stack ? stacks_.StackOf(sample, python, journal) : 0;
  record.weight_ns = static_cast<uint64_t>(sample.weight_ns);
  record.cpu = sample.cpu + 1;
  record.sample_kind =
      static_cast<uint8_t>(signals_ != nullptr ? trace::SampleKind::kSignal : trace::SampleKind::kPerf);
  journal->Add(record);
}

void CpuSamples::TakeSwitches(int64_t until_ns, Journal* journal) {
  std::stable_sort(switches_.begin(), switches_.end(),
                   [](const PerfSwitch& a, const PerfSwitch& b) { return a.time_ns < b.time_ns; });
  const auto end = std::partition_point(switches_.begin(), switches_.end(),
                                        [&](const PerfSwitch& change) { return change.time_ns <= until_ns; });
  for (auto change = switches_.begin(); change != end; ++change) TakeSwitch(*change, journal);
  switches_.erase(switches_.begin(), end);
}

void CpuSamples::TakeSwitch(const PerfSwitch& change, Journal* journal) {
  if (IsOfTracer(change.pid, change.tid)) return;
  if (change.is_out) {
    off_[change.tid] = {change.time_ns, change.pid, change.cpu, change.is_preempted};
    return;
  }
  const auto off = off_.find(change.tid);
  if (off == off_.end()) return;  // when it left is not known
  const Off& was = off->second;
  journal->Add(trace::SwitchRecord{
      static_cast<uint64_t>(was.since_ns), static_cast<uint64_t>(std::max<int64_t>(change.time_ns - was.since_ns, 0)),
      static_cast<uint32_t>(change.pid), static_cast<uint32_t>(change.tid), was.cpu + 1, was.is_preempted, false});
  off_.erase(off);
}

// Those of threads that have ended, which write no more into theirs.
std::vector<const PerfRing*> CpuSamples::EndedRings() const {
  std::vector<const PerfRing*> ended;
  if (WantsTree()) return ended;  // one that ends may have started others
  std::vector<pollfd> events;
  for (const std::unique_ptr<PerfRing>& ring : rings_) events.push_back({ring->event(), POLLIN, 0});
  if (events.empty() || poll(events.data(), events.size(), 0) <= 0) return ended;
  for (std::size_t i = 0; i < events.size(); ++i) {
    if ((events[i].revents & POLLHUP) != 0) ended.push_back(rings_[i].get());
  }
  return ended;
}

void CpuSamples::TellLosses(int64_t now_ns, PerfVisitor* visitor, Journal* journal) {
  if (visitor->lost != 0) {
    // The ring had no room. Of which kind they were is not known, and who left the processor is not either.
    off_.clear();
    journal->AddLoss(trace::MetricLossReason::kOverflow, now_ns, now_ns, 0, visitor->lost);
  }
  if (visitor->throttled == 0 || is_throttling_told_) return;
  is_throttling_told_ = true;
  Tell(now_ns, trace::NoticeLevel::kWarning,
       "the kernel limited CPU sampling (kernel.perf_event_max_sample_rate): parts of the run have fewer samples",
       journal);
}

void CpuSamples::TellRefusal(int64_t now_ns, Journal* journal) {
  if (std::exchange(is_refusal_told_, true)) return;
  const PerfRefusal refusal = WhyRefused(refused_, PerfParanoidLevel());
  const bool has_all_else = signals_ != nullptr || !options_.was_asked_for;
  const std::string what =
      signals_ != nullptr
          ? "context switches were not recorded, and a signal sampled only threads that call CUDA or NVTX: "
      : rings_.empty() ? "CPU samples and context switches were not recorded: "
                       : "some threads have no CPU samples and context switches: ";
  const std::string other = signals_ != nullptr ? "" : "; --sample-method signal takes samples without it";
  Tell(now_ns, has_all_else ? trace::NoticeLevel::kInfo : trace::NoticeLevel::kWarning,
       what + refusal.why + " (to change that: " + refusal.advice + other + ")", journal);
}

void CpuSamples::Tell(int64_t now_ns, trace::NoticeLevel level, const std::string& text, Journal* journal) const {
  journal->Add(trace::NoticeRecord{static_cast<uint64_t>(now_ns), static_cast<uint8_t>(level), journal->Name(text)});
}

void CpuSamples::WatchOwnCost(int64_t now_ns, Journal* journal) {
  if (!own_cost_.StepDown(kCostLimit, now_ns, kWatchNs, &period_ns_, journal)) return;
  auto period = static_cast<uint64_t>(period_ns_);
  for (const std::unique_ptr<PerfRing>& ring : rings_) ioctl(ring->event(), PERF_EVENT_IOC_PERIOD, &period);
  for (const int event : redirected_) ioctl(event, PERF_EVENT_IOC_PERIOD, &period);
  Tell(now_ns, trace::NoticeLevel::kInfo,
       "CPU sampling used too much CPU time: from here on, one sample every " + FormatNs(period_ns_), journal);
}

}  // namespace gprof

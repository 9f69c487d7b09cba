#include "collect/host/host_load_collector.h"

#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "collect/run/percent_units.h"

namespace gprof {
namespace {

constexpr int64_t kThoroughNs = kSecondNs;
// Threads are asked one by one, so processes take turns where there are many.
constexpr std::size_t kThreadsATime = 32;
constexpr CostLimit kHostLoadCostLimit = {1, kSecondNs};
constexpr int64_t kWatchedPeriods = 10;
// The kernel puts /proc/stat together from all processors and interrupts, which takes it a millisecond on large
// machines: 1 part in 5,000 is spent on that.
constexpr int64_t kMachineShare = 5000;

std::optional<int64_t> CpuClockOf(pid_t pid) {
  // What clock_getcpuclockid() answers, without the system call in which it looks whether the process is there.
  constexpr unsigned kWholeProcess = 2;
  const int64_t ns = ClockNs(static_cast<clockid_t>(~static_cast<unsigned>(pid) << 3 | kWholeProcess));
  return ns < 0 ? std::nullopt : std::optional<int64_t>(ns);
}

int64_t TickNs() {
  static const int64_t tick_ns = kSecondNs / std::max<int64_t>(sysconf(_SC_CLK_TCK), 1);
  return tick_ns;
}

struct Description {
  const char *name, *unit;
  trace::MetricKind kind;
  int32_t scale;
};

// In the order of Metric.
constexpr Description kDescriptions[] = {
    {"CPU", "%", trace::MetricKind::kRate, kPercentScale},
    {"waiting for a CPU", "%", trace::MetricKind::kRate, kPercentScale},
    {"resident memory", "bytes", trace::MetricKind::kGauge, 0},
    {"runnable threads", "", trace::MetricKind::kGauge, 0},
};

}  // namespace

std::unique_ptr<Collector> MakeHostLoad(const CollectorOptions& options) {
  HostLoadOptions own;
  own.period_ns = static_cast<int64_t>(static_cast<double>(kSecondNs) / std::max(options.host_load_hz, 0.001));
  return std::make_unique<HostLoad>(std::move(own));
}

HostLoad::HostLoad(HostLoadOptions options)
    : options_(std::move(options)),
      period_ns_(options_.period_ns),
      seen_(options_.proc),
      own_cost_(options_.own_cpu_clock) {
  if (!options_.cpu_clock) options_.cpu_clock = CpuClockOf;
}

bool HostLoad::Start(const RunView& run, std::string* why) {
  run_ = run;
  processes_ = std::make_unique<RunProcesses>(
      RunProcesses::Options{options_.proc, run.folder, run.program, run.follows_children});
  machine_file_ = ProcFile(options_.proc + "/stat");
  load_file_ = ProcFile(options_.proc + "/loadavg");
  if (machine_file_.is_open()) return true;
  *why = "cannot read " + options_.proc;
  return false;
}

void HostLoad::Switch(bool is_on, int64_t now_ns) {
  if (is_on && run_.wants_untraced) seen_.SeeProgram(run_, now_ns);
  last_ns_ = machine_read_ns_ = thorough_ns_ = 0;
  own_cost_.Restart();
  machine_.reset();
  if (is_on) loads_.clear();
}

void HostLoad::Close(int64_t /*now_ns*/, Journal* journal) { seen_.Write(run_, journal->output()); }

void HostLoad::Reset() {
  seen_.Reset();
  std::fill(std::begin(machine_sources_.is_told), std::end(machine_sources_.is_told), false);
  for (auto& [pid, load] : loads_) std::fill(std::begin(load.sources.is_told), std::end(load.sources.is_told), false);
}

int64_t HostLoad::Drain(int64_t now_ns, Journal* journal) {
  const bool is_thorough = now_ns >= thorough_ns_;
  if (is_thorough) thorough_ns_ = now_ns + kThoroughNs;
  const std::map<pid_t, RunProcess>& living = processes_->Look(is_thorough);
  std::erase_if(loads_, [&living](const auto& entry) { return living.count(entry.first) == 0; });
  for (const auto& [pid, process] : living) {
    const auto [at, is_new] = loads_.try_emplace(pid, options_.proc, pid);
    if (is_new) at->second.was_seen_to_begin = last_ns_ != 0 && BeganSince(pid, last_ns_, now_ns);
    seen_.See(pid, is_new, is_thorough, now_ns);
  }
  // What has the same times stands together: that takes the least room in the trace.
  for (auto& [pid, load] : loads_) TakeProcess(pid, &load, now_ns, journal);
  TakeWaits(now_ns, journal);
  TakeMachine(now_ns, journal);
  if (last_ns_ != 0) TakeMemory(living, now_ns, journal);
  if (last_ns_ != 0) TakeRunnable(now_ns, journal);
  if (last_ns_ == 0) first_ns_ = now_ns;
  last_ns_ = now_ns;
  own_cost_.StepDown(kHostLoadCostLimit, now_ns, kWatchedPeriods * period_ns_, &period_ns_, journal);
  return first_ns_ + ((now_ns - first_ns_) / period_ns_ + 1) * period_ns_;
}

// Both /proc and the clock count from the start of the machine, the former in ticks.
bool HostLoad::BeganSince(pid_t pid, int64_t since_ns, int64_t now_ns) const {
  const ProcFile stat(options_.proc + "/" + std::to_string(pid) + "/stat");
  const std::optional<int64_t> ticks = StatField(BehindName(stat.Read()), kStartTicksField);
  const int64_t age_ns = ClockNs(CLOCK_BOOTTIME) - ticks.value_or(0) * TickNs();
  return ticks && age_ns <= now_ns - since_ns + TickNs();
}

std::optional<int64_t> HostLoad::CpuOf(pid_t pid) const {
  if (const std::optional<int64_t> ns = options_.cpu_clock(pid)) return ns;
  const ProcFile stat(options_.proc + "/" + std::to_string(pid) + "/stat");
  const std::string_view fields = BehindName(stat.Read());
  const std::optional<int64_t> user = StatField(fields, kUserTicksField), system = StatField(fields, kSystemTicksField);
  if (!user || !system) return std::nullopt;
  return (*user + *system) * TickNs();
}

void HostLoad::TakeProcess(pid_t pid, Load* load, int64_t now_ns, Journal* journal) {
  const std::optional<int64_t> cpu_ns = CpuOf(pid);
  if (!cpu_ns) return;
  // One that began since the last look took nothing before that.
  if (!load->is_new || load->was_seen_to_begin) {
    const int64_t used_ns = std::max<int64_t>(*cpu_ns - load->cpu_ns, 0), duration_ns = now_ns - last_ns_;
    AddSample(pid, &load->sources, Metric::kCpu, last_ns_, duration_ns, PercentUnits(used_ns, duration_ns), journal);
  }
  load->cpu_ns = *cpu_ns;
  load->is_new = false;
}

void HostLoad::TakeWaits(int64_t now_ns, Journal* journal) {
  std::size_t threads = 0;
  for (std::size_t i = 0; i < loads_.size() && threads < kThreadsATime; ++i) {
    auto at = loads_.lower_bound(next_waits_);
    if (at == loads_.end()) at = loads_.begin();
    auto& [pid, load] = *at;
    next_waits_ = pid + 1;
    const bool is_first = load.waits_read_ns == 0;
    const int64_t start_ns = is_first ? last_ns_ : load.waits_read_ns;
    if (!load.waits.has_listed() || now_ns >= load.threads_listed_ns + kThoroughNs) {
      load.waits.List(load.was_seen_to_begin);
      load.threads_listed_ns = now_ns;
    }
    const int64_t waited_ns = load.waits.Read();
    threads += load.waits.threads();
    load.waits_read_ns = now_ns;
    const bool counts = load.waits.is_known() && (!is_first || load.was_seen_to_begin);
    if (!counts) continue;
    const int64_t duration_ns = now_ns - start_ns;
    AddSample(pid, &load.sources, Metric::kWait, start_ns, duration_ns, PercentUnits(waited_ns, duration_ns), journal);
  }
}

// user nice system idle iowait irq softirq steal guest guest_nice; the last two are in the first two.
std::optional<HostLoad::Machine> HostLoad::ReadMachine() const {
  constexpr std::size_t kIdle = 3, kIoWait = 4, kSteal = 7;
  const std::string_view text = machine_file_.Read();
  if (!text.starts_with("cpu ")) return std::nullopt;
  Machine machine;
  std::size_t at = 0;
  ForEachNumber(text.substr(3, text.find('\n') - 3), [&](int64_t ticks) {
    if (at <= kSteal) machine.all_ticks += ticks;
    if (at <= kSteal && at != kIdle && at != kIoWait) machine.busy_ticks += ticks;
    ++at;
  });
  return machine;
}

void HostLoad::TakeMachine(int64_t now_ns, Journal* journal) {
  if (machine_read_ns_ != 0 && now_ns - machine_read_ns_ < machine_step_ns_) return;
  const int64_t before_ns = own_cost_.CpuNs();
  std::optional<Machine> machine = ReadMachine();
  machine_step_ns_ = std::min((own_cost_.CpuNs() - before_ns) * kMachineShare, kSecondNs) - period_ns_ / 2;
  if (machine && machine_ && machine->all_ticks > machine_->all_ticks) {
    const int64_t value =
        PercentUnits(machine->busy_ticks - machine_->busy_ticks, machine->all_ticks - machine_->all_ticks);
    AddSample(0, &machine_sources_, Metric::kCpu, machine_read_ns_, now_ns - machine_read_ns_, value, journal);
  }
  machine_ = machine;
  machine_read_ns_ = now_ns;
}

void HostLoad::TakeMemory(const std::map<pid_t, RunProcess>& living, int64_t now_ns, Journal* journal) {
  static const int64_t page_bytes = sysconf(_SC_PAGESIZE);
  for (const auto& [pid, process] : living) {
    const auto load = loads_.find(pid);
    if (load == loads_.end()) continue;
    AddSample(pid, &load->second.sources, Metric::kMemory, now_ns, 0, process.resident_pages * page_bytes, journal);
  }
}

// "0.20 0.18 0.12 1/80 11206": one thread of 80 runs, or could.
void HostLoad::TakeRunnable(int64_t now_ns, Journal* journal) {
  constexpr std::size_t kRunnable = 3;
  const std::optional<int64_t> threads = NumberAt(load_file_.Read(), kRunnable);
  if (threads) AddSample(0, &machine_sources_, Metric::kRunnable, now_ns, 0, *threads, journal);
}

void HostLoad::AddSample(pid_t pid, Sources* sources, Metric metric, int64_t start_ns, int64_t duration_ns,
                         int64_t value, Journal* journal) {
  const auto index = static_cast<std::size_t>(metric);
  if (sources->ids[index] == 0) sources->ids[index] = next_source_++;
  if (!sources->is_told[index]) {
    const Description& described = kDescriptions[index];
    trace::MetricSourceRecord source;
    source.id = sources->ids[index];
    source.name = journal->Name(described.name);
    source.unit = journal->Name(described.unit);
    source.origin = journal->Name("proc");
    source.metric_kind = static_cast<uint8_t>(described.kind);
    source.scope = static_cast<uint8_t>(pid == 0 ? trace::MetricScope::kHost : trace::MetricScope::kProcess);
    source.scale = described.scale;
    source.period_ns = static_cast<uint64_t>(options_.period_ns);
    source.pid = static_cast<uint32_t>(pid);
    journal->Add(source);
    sources->is_told[index] = true;
  }
  journal->Add(trace::MetricBlockRecord{static_cast<uint64_t>(start_ns), static_cast<uint64_t>(duration_ns),
                                        sources->ids[index], value});
}

}  // namespace gprof

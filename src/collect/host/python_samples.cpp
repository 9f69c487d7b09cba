#include "collect/host/python_samples.h"

#include <sys/prctl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/units.h"
#include "collect/host/perf_ring.h"
#include "collect/run/arenas.h"
#include "collect/run/system_clocks.h"

namespace gprof {
namespace {

// Threads come and go, and Python may be loaded late.
constexpr int64_t kLookNs = 100 * kMillisecondNs;
constexpr double kIdleNs = 1e6;  // in kLookNs
// Each takes two descriptors.
constexpr std::size_t kMostBeside = 128;
constexpr double kPythonHz = 200, kAskedForHz = 1000;
constexpr CostLimit kPythonCostLimit = {5, 100 * kMillisecondNs};
constexpr int64_t kPythonWatchNs = 2 * kSecondNs;
constexpr uint32_t kMostNodes = 4'000'000;
constexpr int64_t kLongestPythonTryNs = 16 * kSecondNs, kNever = INT64_MAX;

bool IsRunning(std::string_view stat) { return BehindName(stat).starts_with('R'); }

}  // namespace

bool IsPythonSamplingWanted(const CollectorOptions& options) { return options.python.mode != PythonSampling::kOff; }

std::unique_ptr<Collector> MakePythonSamples(const CollectorOptions& options) {
  return std::make_unique<PythonSamples>(options);
}

bool PythonSamples::Start(const RunView& run, std::string* /*why*/) {
  run_ = run;
  PerfWish wish;
  const bool was_asked_for = options_.mode == PythonSampling::kOn;
  replaces_perf_ = !was_asked_for && TryPerfEvents(&wish) != 0;
  samples_launching_ = was_asked_for || replaces_perf_;
  const double hz = options_.hz > 0 ? options_.hz : was_asked_for ? kAskedForHz : kPythonHz;
  period_ns_ = static_cast<int64_t>(static_cast<double>(kSecondNs) / hz);
  if (options_.threads == CpuScope::kProcessTree || options_.threads == CpuScope::kLaunchingElseTree) {
    tree_ =
        std::make_unique<RunProcesses>(RunProcesses::Options{"/proc", run.folder, run.program, run.follows_children});
  }
  prctl(PR_SET_TIMERSLACK, static_cast<unsigned long>(period_ns_ / 50));
  return samples_launching_ || tree_ != nullptr;
}

void PythonSamples::Switch(bool /*is_on*/, int64_t now_ns) {
  processes_.clear();
  next_look_ns_ = next_sample_ns_ = now_ns;
  own_cost_.Restart();
}

void PythonSamples::Reset() {
  python_modules_.Reset();
  frames_.clear();
  for (auto& nodes : nodes_) nodes.clear();
  for (auto& [pid, process] : processes_) {
    for (auto& [tid, thread] : process.threads) thread.frames.clear();
  }
}

int64_t PythonSamples::Drain(int64_t now_ns, Journal* journal) {
  if (now_ns >= next_look_ns_) LookForThreads(now_ns, journal);
  bool has_threads = false;
  for (auto& [pid, process] : processes_) {
    for (auto& [tid, thread] : process.threads) {
      // There may be hundreds of them, and what they wait for is known from their calls.
      if (thread.is_beside && thread.is_idle) {
        thread.sampled_ns = 0;
      } else {
        Sample(pid, tid, &process, &thread, journal);
      }
    }
    has_threads |= !process.threads.empty();
  }
  own_cost_.StepDown(kPythonCostLimit, now_ns, kPythonWatchNs, &period_ns_, journal);
  if (!has_threads) return next_look_ns_;
  next_sample_ns_ += period_ns_;
  if (next_sample_ns_ <= now_ns) next_sample_ns_ = now_ns + period_ns_;
  return next_sample_ns_;
}

PythonSamples::Wanted PythonSamples::WantedNow(Journal* journal) {
  if (tree_ == nullptr) return Launching();
  const bool is_of_all = options_.threads == CpuScope::kProcessTree;
  if (is_of_all && samples_launching_) return WholeTree();
  Wanted launching = Launching();
  if (!is_of_all && !launching.empty() && !std::exchange(is_somebody_launching_, true)) ForgetOthers(journal);
  Wanted wanted = is_of_all || !is_somebody_launching_ ? WholeTree() : WorkersOf(launching);
  for (auto& [pid, threads] : launching) {
    wanted.erase(pid);
    threads.has_launching = samples_launching_;
    threads.has_others = !is_of_all && options_.mode == PythonSampling::kAsNeeded;
    if (threads.has_launching || threads.has_others) wanted.emplace(pid, std::move(threads));
  }
  return wanted;
}

// What is not in the trace yet of other processes, as in CpuSamples.
void PythonSamples::ForgetOthers(Journal* journal) {
  processes_.clear();
  journal->Discard();
  Reset();
  is_told_ = false;
  refusals_told_.clear();
}

void PythonSamples::Close(int64_t /*now_ns*/, Journal* journal) {
  const bool is_of_others = options_.threads == CpuScope::kLaunchingElseTree && !is_somebody_launching_;
  if (is_of_others && !WritersOf(journal->output().path).processes.empty()) ForgetOthers(journal);
}

PythonSamples::Wanted PythonSamples::WholeTree() {
  Wanted wanted;
  for (const auto& [pid, process] : tree_->Look(true)) wanted.emplace(pid, Threads{});
  return wanted;
}

// What those that call CUDA or NVTX have started: they wait for it.
PythonSamples::Wanted PythonSamples::WorkersOf(const Wanted& launching) {
  Wanted wanted;
  if (!run_.follows_children) return wanted;
  for (const auto& [pid, threads] : launching) {
    auto& family = families_[pid];
    if (family == nullptr) family = std::make_unique<RunProcesses>(RunProcesses::Options{"/proc", "", pid, true});
    for (const auto& [member, process] : family->Look(is_thorough_)) wanted.emplace(member, Threads{});
  }
  return wanted;
}

PythonSamples::Wanted PythonSamples::Launching() const {
  Wanted wanted;
  for (const TracedProcess& process : TracedProcessesIn(run_.folder)) {
    if (process.threads.empty()) continue;
    Threads& threads = wanted[process.pid];
    threads.has_others = false;
    threads.launching.insert(process.threads.begin(), process.threads.end());
  }
  return wanted;
}

void PythonSamples::LookForThreads(int64_t now_ns, Journal* journal) {
  next_look_ns_ = now_ns + kLookNs;
  is_thorough_ = now_ns >= thorough_ns_;
  if (is_thorough_) thorough_ns_ = now_ns + kSecondNs;
  std::map<pid_t, Process> still;
  for (const auto& [pid, wanted] : WantedNow(journal)) {
    Process& process = still[pid] = std::move(processes_[pid]);
    LookForPython(pid, now_ns, &process, journal);
    if (process.reader == nullptr) continue;
    std::map<pid_t, Thread> threads;
    std::size_t beside = 0;
    for (const auto& [tid, state] : process.reader->Threads()) {
      const bool is_beside = !wanted.launching.empty() && !wanted.IsLaunching(tid);
      if (!wanted.Has(tid) || (is_beside && ++beside > kMostBeside)) continue;
      Thread& thread = threads[tid] = std::move(process.threads[tid]);
      thread.state = state;
      thread.is_beside = is_beside;
      LookHowMuchItRuns(pid, tid, &thread);
    }
    process.threads = std::move(threads);
  }
  processes_ = std::move(still);
}

// The state of a thread does not say whether it has a processor or waits for one, and the kernel knows the sums of
// both.
void PythonSamples::LookHowMuchItRuns(pid_t pid, pid_t tid, Thread* thread) {
  if (!thread->schedstat.is_open()) thread->schedstat = ProcFile(TaskFile(pid, tid, "schedstat"));
  const std::optional<ProcessorTimes> now = ReadProcessorTimes(thread->schedstat);
  if (!now) return;
  const ProcessorTimes before = std::exchange(thread->times, *now);
  const auto ran = static_cast<double>(now->ran_ns - before.ran_ns);
  const auto delayed = static_cast<double>(now->waited_ns - before.waited_ns);
  if (ran > 0) thread->running_share = ran / (ran + delayed);
  thread->is_idle = ran + delayed < kIdleNs;
}

void PythonSamples::LookForPython(pid_t pid, int64_t now_ns, Process* process, Journal* journal) {
  std::string program = PathOfProgram(pid);
  if (program != process->program) *process = {};  // it has become another, or is new
  process->program = std::move(program);
  if (process->reader != nullptr || now_ns < process->try_ns) return;
  process->try_step_ns = std::clamp(2 * process->try_step_ns, kLookNs, kLongestPythonTryNs);
  process->try_ns = now_ns + process->try_step_ns;
  PythonTrial trial = PythonReader::Try(pid);
  // It has ended, or is becoming another program.
  const bool is_gone = trial.error == ESRCH || trial.error == EFAULT;
  if (trial.error != 0 && !is_gone) {
    TellRefusal(now_ns,
                std::string("the memory of the program cannot be read: ") + std::strerror(trial.error) +
                    " (to change that: " + kLiftReading + ")",
                journal);
  }
  if (!trial.unknown.empty()) TellRefusal(now_ns, trial.unknown + " cannot be read; 3.8 to 3.14 can", journal);
  process->reader = std::move(trial.reader);
  if (process->reader == nullptr || !replaces_perf_ || std::exchange(is_told_, true)) return;
  Tell(now_ns, trace::NoticeLevel::kInfo,
       "perf events are not permitted: Python code is sampled by reading its memory instead, every " +
           FormatNs(period_ns_),
       journal);
}

// A thread that runs may leave a function meanwhile. Read again it is elsewhere, and as likely to be whole. And where
// the collector had to wait for a processor in the midst of it, the stack is not that of the time which was taken
// before.
bool PythonSamples::ReadStack(Process* process, const Thread& thread, int64_t* now_ns, bool* is_whole) {
  constexpr int kMostTries = 3;
  constexpr int64_t kOneMomentNs = 1'000'000;
  bool is_read = false;
  for (int i = 0; i < kMostTries; ++i) {
    *now_ns = MonotonicNs();
    is_read = process->reader->StackOf(thread.state, &frames_now_, is_whole);
    if (is_read && MonotonicNs() - *now_ns < kOneMomentNs) break;
  }
  ++(is_read ? process->good : process->torn);
  return is_read;
}

void PythonSamples::Sample(pid_t pid, pid_t tid, Process* process, Thread* thread, Journal* journal) {
  constexpr uint32_t kEnoughTorn = 100;
  if (process->reader == nullptr) return;
  if (!thread->stat.is_open()) thread->stat = ProcFile(TaskFile(pid, tid, "stat"));
  const std::string_view stat = thread->stat.Read();
  if (stat.empty()) return;  // it has ended
  const bool is_running = IsRunning(stat);
  if (thread->is_beside && !is_running) return void(thread->sampled_ns = MonotonicNs());
  int64_t now_ns = 0;
  bool is_whole = false;
  const bool is_read = ReadStack(process, *thread, &now_ns, &is_whole);
  if (process->good == 0 && process->torn >= kEnoughTorn) {
    TellRefusal(now_ns, "its frames were not found where this version of CPython keeps them", journal);
    process->reader = nullptr;
    process->try_ns = kNever;
    return;
  }
  const int64_t since_ns = std::exchange(thread->sampled_ns, now_ns);
  if (is_read && frames_now_.empty()) return;  // no code of Python called what it runs
  trace::CpuSampleRecord record;
  record.time_ns = static_cast<uint64_t>(now_ns);
  record.pid = static_cast<uint32_t>(pid);
  record.tid = static_cast<uint32_t>(tid);
  record.stack = is_read ? StackOf(pid, *process->reader, is_whole, thread, journal) : 0;
  const auto passed_ns = static_cast<double>(since_ns == 0 ? period_ns_ : now_ns - since_ns);
  record.weight_ns = static_cast<uint64_t>(is_running ? passed_ns * thread->running_share : passed_ns);
  record.sample_kind =
      static_cast<uint8_t>(is_running ? trace::SampleKind::kPython : trace::SampleKind::kPythonWaiting);
  journal->Add(record);
}

// Outer frames are those of the sample before most of the time.
uint32_t PythonSamples::StackOf(pid_t pid, const PythonReader& reader, bool is_whole, Thread* thread,
                                Journal* journal) {
  std::size_t same = 0;
  while (is_whole && same < std::min(thread->frames.size(), frames_now_.size()) &&
         thread->frames.rbegin()[static_cast<std::ptrdiff_t>(same)] ==
             frames_now_.rbegin()[static_cast<std::ptrdiff_t>(same)]) {
    ++same;
  }
  thread->nodes.resize(same);
  thread->frames.clear();
  uint32_t node = same == 0 ? 0 : thread->nodes.back();
  for (std::size_t i = same; i < frames_now_.size(); ++i) {
    const PythonFrame& frame = frames_now_[frames_now_.size() - 1 - i];
    const uint32_t module = python_modules_.NumberOf(pid, reader, frame, thread->sampled_ns, &next_module_, journal);
    if (module == 0 || next_node_ > kMostNodes) return 0;
    if (module == kInterpretersOwn) {
      thread->nodes.push_back(node);
      continue;
    }
    const auto [known, is_new_frame] = frames_.try_emplace({module, frame.offset}, next_frame_);
    if (is_new_frame) journal->Add(trace::FrameRecord{next_frame_++, module, frame.offset});
    const bool is_cut = node == 0 && !is_whole;
    const auto [at, is_new] = nodes_[is_cut].try_emplace(uint64_t{node} << 32 | known->second, next_node_);
    if (is_new) journal->Add(trace::StackRecord{next_node_++, node, known->second, is_cut, false});
    thread->nodes.push_back(node = at->second);
  }
  if (is_whole) thread->frames = frames_now_;
  return node;
}

void PythonSamples::TellRefusal(int64_t now_ns, const std::string& why, Journal* journal) {
  if (!refusals_told_.insert(why).second) return;
  Tell(now_ns, options_.mode == PythonSampling::kOn ? trace::NoticeLevel::kWarning : trace::NoticeLevel::kInfo,
       "Python code was not sampled: " + why, journal);
}

void PythonSamples::Tell(int64_t now_ns, trace::NoticeLevel level, const std::string& text, Journal* journal) const {
  journal->Add(trace::NoticeRecord{static_cast<uint64_t>(now_ns), static_cast<uint8_t>(level), journal->Name(text)});
}

}  // namespace gprof

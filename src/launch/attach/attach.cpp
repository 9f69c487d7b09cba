#include "launch/attach/attach.h"

#include <signal.h>

#include <algorithm>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "collect/run/run_processes.h"
#include "gprof/error.h"
#include "gprof/trace/run_folder.h"
#include "launch/attach/attach_target.h"
#include "launch/attach/attachment.h"
#include "launch/run/attendant.h"
#include "launch/salvage/arena_files.h"
#include "launch/salvage/run_folder_files.h"
#include "launch/session/collector_processes.h"

namespace gprof {
namespace {

constexpr int64_t kPollNs = 10'000'000;
constexpr int64_t kLookNs = 100'000'000;             // between two looks for new processes
constexpr int64_t kChildPatienceNs = 5'000'000'000;  // with one that has loaded the driver, and not started it

// SIGINT and its like end the recording, and not us in the midst of it.
class StopSignals {
 public:
  explicit StopSignals(int asking) : asking_(asking) {
    sigemptyset(&set_);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) sigaddset(&set_, signal);
    if (asking != 0) sigaddset(&set_, asking);
    sigprocmask(SIG_BLOCK, &set_, &before_);
  }
  ~StopSignals() { sigprocmask(SIG_SETMASK, &before_, nullptr); }
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
  // One that came within that time, or 0.
  int Wait(int64_t ns) const {
    const timespec patience = {ns / 1'000'000'000, ns % 1'000'000'000};
    const int signal = sigtimedwait(&set_, nullptr, &patience);
    return signal > 0 ? signal : 0;
  }
  bool IsAsking(int signal) const { return signal != 0 && signal == asking_; }

 private:
  int asking_;
  sigset_t set_, before_;
};

RunView ViewOf(Attachment* attachment, const AttachOptions& options, bool follows_children) {
  RunView run;
  run.folder = attachment->folder()->path();
  run.program = options.pid;
  run.program_name = run.command_line = attachment->name();
  run.follows_children = follows_children;
  run.flush_ns = options.trace.flush_ns();
  return run;
}

RunProcesses::Options TreeOf(pid_t root) {
  RunProcesses::Options options;
  options.program = root;
  return options;
}

// A process, or a tree of them, that is recorded into one trace.
class AttachedRun {
 public:
  AttachedRun(const AttachOptions& options, const OutputFile& output)
      : options_(options),
        file_{output.absolute_path, output.device, output.inode, output.run},
        tree_(TreeOf(options.pid)) {}

  AttachResult Run() {
    const StopSignals signals(0);
    const int64_t begin_ns = MonotonicNs();
    if (options_.with_children) {
      LookForChildren(begin_ns);
    } else {
      Add(FindAttachTarget(options_.pid));
    }
    WaitForFirst(signals);
    result_.first_record_ns = MonotonicNs() - begin_ns;
    WaitForEnd(signals);
    Finish();
    return result_;
  }

 private:
  void Add(AttachTarget target) {
    auto attachment = std::make_unique<Attachment>(std::move(target), options_.trace);
    attachment->Begin(file_, 0);
    // What is sampled from outside is so of the whole tree.
    if (!collectors_) {
      collectors_ =
          std::make_unique<CollectorProcesses>(attachment->folder(), options_.trace.collect, options_.trace.warn);
      collectors_->Start(ViewOf(attachment.get(), options_, options_.with_children));
    }
    starting_.push_back(std::move(attachment));
  }

  // Of those that use CUDA. What keeps one from being recorded keeps no other.
  void LookForChildren(int64_t now_ns) {
    if (!options_.with_children || now_ns < next_look_ns_) return;
    next_look_ns_ = now_ns + kLookNs;
    for (const auto& [pid, process] : tree_.Look(true)) {
      if (seen_.contains(pid) || !UsesCuda(pid)) continue;
      const int64_t since_ns = since_ns_.try_emplace(pid, now_ns).first->second;
      try {
        Add(FindAttachTarget(pid));
        seen_.insert(pid);
      } catch (const Error& error) {
        if (now_ns - since_ns < kChildPatienceNs) continue;
        options_.trace.warn(error.what());
        seen_.insert(pid);
      }
    }
  }

  // One of a tree that cannot be recorded is left out; the only one is what this is about.
  void TakeNoteOfBegun(int64_t now_ns) {
    for (auto at = starting_.begin(); at != starting_.end();) {
      try {
        if (!(*at)->HasBegun(now_ns)) {
          ++at;
          continue;
        }
        options_.trace.say("recording " + (*at)->who() + (options_.duration_ns == 0 ? "; Ctrl-C ends it" : ""));
        ++result_.processes;
        recorded_.push_back(std::move(*at));
      } catch (const Error& error) {
        if (!options_.with_children) throw;
        options_.trace.warn(error.what());
      }
      at = starting_.erase(at);
    }
  }

  void Attend() {
    const int64_t now_ns = MonotonicNs();
    for (auto* list : {&starting_, &recorded_}) {
      for (const auto& attachment : *list) attachment->Attend(now_ns);
    }
    if (collectors_) collectors_->Attend(now_ns);
    LookForChildren(now_ns);
    TakeNoteOfBegun(now_ns);
  }

  void WaitForFirst(const StopSignals& signals) {
    if (starting_.empty()) options_.trace.say("no process of the tree uses CUDA yet: waiting for one; Ctrl-C ends it");
    while (recorded_.empty() && !IsTreeGone()) {
      Attend();
      if (!recorded_.empty()) return;
      result_.stop_signal = signals.Wait(kPollNs);
      if (result_.stop_signal != 0) return;
    }
  }

  bool IsTreeGone() { return options_.with_children && starting_.empty() && tree_.Look(false).empty(); }

  void WaitForEnd(const StopSignals& signals) {
    const int64_t end_ns = options_.duration_ns == 0 ? kNoDeadline : MonotonicNs() + options_.duration_ns;
    while (result_.stop_signal == 0 && MonotonicNs() < end_ns && !HasEnded()) {
      Attend();
      result_.stop_signal = signals.Wait(kPollNs);
    }
    result_.has_program_ended = HasEnded();
  }

  bool HasEnded() {
    if (options_.with_children) return IsTreeGone();
    return std::all_of(recorded_.begin(), recorded_.end(), [](const auto& one) { return one->HasEnded(); });
  }

  void Finish() {
    for (const auto& attachment : recorded_) attachment->Stop();
    if (collectors_) collectors_->Finish(0, 0);
    for (const auto& attachment : recorded_) attachment->Leave();
  }

  const AttachOptions& options_;
  TraceFile file_;
  RunProcesses tree_;
  std::set<pid_t> seen_;               // that need no further look
  std::map<pid_t, int64_t> since_ns_;  // when each was first seen to use CUDA
  int64_t next_look_ns_ = 0;
  std::list<std::unique_ptr<Attachment>> starting_, recorded_;
  std::unique_ptr<CollectorProcesses> collectors_;
  AttachResult result_;
};

// Throws where it has ended or does not answer.
void WaitUntilRecorded(Attachment* attachment, CollectorProcesses* collectors, const StopSignals& signals, int* stop) {
  while (*stop == 0 && !attachment->HasBegun(MonotonicNs())) {
    attachment->Attend(MonotonicNs());
    collectors->Attend(MonotonicNs());
    const int signal = signals.Wait(kPollNs);
    if (!signals.IsAsking(signal)) *stop = signal;
  }
}

}  // namespace

AttachResult RunAttached(const AttachOptions& options, const OutputFile& output) {
  return AttachedRun(options, output).Run();
}

AttachResult RunRecorderAttached(const AttachOptions& options) {
  const RecorderOptions& recording = *options.trace.recorder;
  const StopSignals signals(recording.signal);
  AttachResult result;
  const int64_t begin_ns = MonotonicNs();
  Attachment attachment(FindAttachTarget(options.pid), options.trace);
  const OutputFile ring = OpenOutput(attachment.folder()->path() + "/" + trace::kRingFile, options.pid, true);
  CollectorProcesses collectors(attachment.folder(), options.trace.collect, options.trace.warn);
  attachment.Begin({ring.absolute_path, ring.device, ring.inode, ring.run}, recording.limit_bytes);
  collectors.Start(ViewOf(&attachment, options, options.trace.trace_children));
  WaitUntilRecorded(&attachment, &collectors, signals, &result.stop_signal);
  const std::unique_ptr<RunCompanion> recorder = recording.make(attachment.folder());
  recorder->OnProgramStart(options.pid);
  result.first_record_ns = MonotonicNs() - begin_ns;
  options.trace.say("recording " + attachment.who() + "; Ctrl-C ends it");
  while (result.stop_signal == 0 && !attachment.HasEnded()) {
    attachment.Attend(MonotonicNs());
    collectors.Attend(MonotonicNs());
    recorder->Attend(MonotonicNs());
    const int signal = signals.Wait(kPollNs);
    if (signals.IsAsking(signal)) {
      recorder->OnCaptureSignal();
    } else {
      result.stop_signal = signal;
    }
  }
  result.has_program_ended = attachment.HasEnded();
  attachment.Stop();
  collectors.Finish(0, 0);
  recorder->OnProgramEnd(0, 0);  // how it ended is known to its parent alone
  attachment.Leave();
  return result;
}

// Its gprof-cli ends as it does at Ctrl-C. Where that was killed, nobody else ends it; its collectors, which are about
// to end, may hold its lock a while longer.
bool Detach(pid_t pid) {
  const std::optional<FoundRun> run = FindAttachedRun(pid);
  if (!run || !run->session.starts_with(kAttachSession)) return false;
  const uint32_t launcher = LauncherOf(*run);
  if (HasLauncher(*run) && IsProcessAlive(launcher, 0)) return kill(static_cast<pid_t>(launcher), SIGINT) == 0;
  const std::unique_ptr<RunFolder> folder = RunFolder::Adopt(*run);
  if (!folder) return false;
  CaptureOrder order = folder->order();
  order.wish = trace::CaptureWish::kCancel;
  folder->Publish(order);
  return true;
}

}  // namespace gprof

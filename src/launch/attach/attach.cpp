#include "launch/attach/attach.h"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <utility>
#include <vector>

#include "base/machine/descriptor.h"
#include "gprof/error.h"
#include "gprof/trace/run_folder.h"
#include "launch/attach/attach_target.h"
#include "launch/attach/inject.h"
#include "launch/run/environment.h"
#include "launch/run/find_program.h"
#include "launch/salvage/run_folder_files.h"
#include "launch/salvage/salvage.h"
#include "launch/session/collector_processes.h"
#include "launch/session/session.h"

namespace gprof {
namespace {

constexpr int64_t kPollNs = 10'000'000;
constexpr int64_t kStartPatienceNs = 10'000'000'000;

// SIGINT and its like end the recording, and not us in the midst of it.
class StopSignals {
 public:
  StopSignals() {
    sigemptyset(&set_);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) sigaddset(&set_, signal);
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

 private:
  sigset_t set_, before_;
};

std::string NameOf(const AttachTarget& target) { return "'" + target.name + "' (" + std::to_string(target.pid) + ")"; }

bool HasArenaOf(const std::vector<Arena>& arenas, pid_t pid) {
  for (const Arena& arena : arenas) {
    if (!arena.is_of_collector && arena.pid == static_cast<uint32_t>(pid) && IsAlive(arena)) return true;
  }
  return false;
}

// The folder of an earlier attachment, whose tracer waits for the next.
std::unique_ptr<RunFolder> FolderOfEarlier(pid_t pid) {
  for (const FoundRun& run : FindRuns(RunFolderBases())) {
    if (!HasArenaOf(ArenasIn(run.path), pid)) continue;
    std::unique_ptr<RunFolder> folder = RunFolder::Adopt(run);
    if (folder) return folder;
    throw Error(ExitCode::kLaunchFailed,
                "process " + std::to_string(pid) + " is being recorded already, by gprof-cli (" +
                    std::to_string(run.launcher_pid) + ")",
                "wait until it has ended, or end that recording");
  }
  return nullptr;
}

std::unique_ptr<RunFolder> NewFolder(const AttachTarget& target) {
  std::string why;
  std::unique_ptr<RunFolder> folder = RunFolder::Make(std::string(kAttachSession) + std::to_string(target.pid), &why);
  if (folder) return folder;
  throw Error(ExitCode::kLaunchFailed, "no shared memory for the run: " + why, "run gprof-cli doctor for advice");
}

// What the tracer would find in its environment, had the program been started by us. It writes nothing to the stderr of
// a program that somebody else started.
void WriteSettings(const RunFolder& folder, LaunchOptions options, const std::string& tracer) {
  char* none[] = {nullptr};
  options.is_quiet = true;
  Environment environment(none, options, tracer);
  environment.SetRunFolder(folder.path());
  const std::string path = folder.path() + "/" + trace::kAttachSettingsFile;
  std::ofstream file(path, std::ios::binary);
  for (const std::string& entry : environment.entries()) {
    if (entry.starts_with("GPROF_")) file.write(entry.c_str(), static_cast<std::streamsize>(entry.size() + 1));
  }
  file.close();
  const std::string library = folder.path() + "/" + trace::kAttachLibraryFile;
  std::error_code error;
  if (file) std::filesystem::create_symlink(std::filesystem::absolute(tracer), library, error);
  if (file && !error) return;
  throw Error(ExitCode::kLaunchFailed, "cannot write '" + path + "'",
              "check that there is space left in shared memory");
}

class Attachment {
 public:
  Attachment(const AttachOptions& options, AttachTarget target)
      : options_(options),
        target_(std::move(target)),
        tracer_(FindTracer()),
        process_(static_cast<int>(syscall(SYS_pidfd_open, target_.pid, 0))) {
    folder_ = target_.has_tracer ? FolderOfEarlier(target_.pid) : nullptr;
    is_first_ = folder_ == nullptr;
    if (is_first_ && target_.has_tracer) {
      throw Error(ExitCode::kLaunchFailed,
                  NameOf(target_) +
                      " has a tracer that is still starting, or is of another version of gprof-cli or of a "
                      "run that is over",
                  "try again; if that does not help, restart it");
    }
    if (is_first_) folder_ = NewFolder(target_);
    salvager_ = std::make_unique<Salvager>(
        folder_->path(),
        SalvageOptions{.tracer = tracer_, .report_loss = options.trace.report_loss, .traces = &folder_->traces()});
    collectors_ = std::make_unique<CollectorProcesses>(folder_.get(), options.trace.collect, options.trace.warn);
    session_ = std::make_unique<Session>("attach", folder_.get(), salvager_.get());
  }
  ~Attachment() {
    if (process_ >= 0) close(process_);
  }
  Attachment(const Attachment&) = delete;
  Attachment& operator=(const Attachment&) = delete;

  AttachResult Run(const OutputFile& output) {
    const StopSignals signals;
    const int64_t begin_ns = MonotonicNs();
    session_->OnProgramStart(target_.pid);
    session_->Start(output.absolute_path, output.device, output.inode, output.run);
    StartCollectors();
    if (is_first_) {
      WriteSettings(*folder_, options_.trace, tracer_);
      InjectLibrary(target_.pid, NameOf(target_), folder_->path() + "/" + trace::kAttachLibraryFile);
      folder_->SetKept(true);
    }
    WaitForStart(signals);
    folder_->SetKept(false);  // from here on, what the tracer has in it keeps it
    result_.first_record_ns = MonotonicNs() - begin_ns;
    options_.trace.say("recording " + NameOf(target_) + (options_.duration_ns == 0 ? "; Ctrl-C ends it" : ""));
    WaitForEnd(signals);
    Finish();
    return result_;
  }

 private:
  void StartCollectors() {
    RunView run;
    run.folder = folder_->path();
    run.program = target_.pid;
    run.program_name = target_.name;
    run.command_line = target_.name;
    run.follows_children = options_.trace.trace_children;
    run.flush_ns = options_.trace.flush_ns();
    collectors_->Start(run);
  }

  // It may be there still, as somebody has to take note of its end.
  bool HasEnded() const {
    pollfd end = {process_, POLLIN, 0};
    return poll(&end, 1, 0) > 0;
  }

  void Attend() {
    const int64_t now_ns = MonotonicNs();
    salvager_->Attend(now_ns);
    collectors_->Attend(now_ns);
    session_->Attend(now_ns);
  }

  void WaitForStart(const StopSignals& signals) {
    const int64_t deadline_ns = MonotonicNs() + kStartPatienceNs;
    while (!HasArenaOf(folder_->Arenas(), target_.pid) || !session_->Now().IsComplete()) {
      Attend();
      if (HasEnded()) throw Error(ExitCode::kLaunchFailed, NameOf(target_) + " has ended before it was recorded");
      result_.stop_signal = signals.Wait(kPollNs);
      if (result_.stop_signal != 0) return;
      if (MonotonicNs() > deadline_ns) {
        throw Error(ExitCode::kLaunchFailed,
                    NameOf(target_) + " does not answer: the tracer was not loaded, or cannot start",
                    "is it out of memory or descriptors, or in a sandbox?");
      }
    }
  }

  void WaitForEnd(const StopSignals& signals) {
    const int64_t end_ns = options_.duration_ns == 0 ? kNoDeadline : MonotonicNs() + options_.duration_ns;
    while (result_.stop_signal == 0 && MonotonicNs() < end_ns && !HasEnded()) {
      Attend();
      result_.processes = std::max(result_.processes, session_->Now().recording);
      result_.stop_signal = signals.Wait(kPollNs);
    }
    result_.has_program_ended = HasEnded();
  }

  // The tracer stays where it is, and waits for the next attachment. It forgets the trace, which may be moved now.
  void Finish() {
    session_->Finish();
    CaptureOrder order = folder_->order();
    order.wish = trace::CaptureWish::kCancel;
    folder_->Publish(order);
    collectors_->Finish(0, 0);
    salvager_->Finish(true);
  }

  const AttachOptions& options_;
  AttachTarget target_;
  std::string tracer_;
  int process_;  // pidfd
  bool is_first_ = true;
  std::unique_ptr<RunFolder> folder_;
  std::unique_ptr<Salvager> salvager_;
  std::unique_ptr<CollectorProcesses> collectors_;
  std::unique_ptr<Session> session_;
  AttachResult result_;
};

}  // namespace

AttachResult RunAttached(const AttachOptions& options, const OutputFile& output) {
  return Attachment(options, FindAttachTarget(options.pid)).Run(output);
}

}  // namespace gprof

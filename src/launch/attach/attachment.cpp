#include "launch/attach/attachment.h"

#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>
#include <utility>
#include <vector>

#include "gprof/error.h"
#include "gprof/trace/delay_request.h"
#include "gprof/trace/run_folder.h"
#include "launch/attach/inject.h"
#include "launch/run/environment.h"
#include "launch/run/find_program.h"
#include "launch/salvage/arena_files.h"
#include "launch/salvage/run_folder_files.h"

namespace gprof {
namespace {

constexpr int64_t kStartPatienceNs = 10'000'000'000;

bool HasArenaOf(const std::vector<Arena>& arenas, pid_t pid) {
  for (const Arena& arena : arenas) {
    if (!arena.is_of_collector && arena.pid == static_cast<uint32_t>(pid) && IsAlive(arena)) return true;
  }
  return false;
}

// A program that has just begun may have loaded its tracer and not started it.
constexpr int64_t kTracerPatienceNs = 5'000'000'000;

// The folder of an earlier attachment, whose tracer waits for the next.
std::unique_ptr<RunFolder> FolderOfEarlier(pid_t pid) {
  const std::optional<FoundRun> run = FindAttachedRun(pid);
  if (!run) return nullptr;
  std::unique_ptr<RunFolder> folder = RunFolder::Adopt(*run);
  if (folder) return folder;
  // Collectors of a gprof-cli that was killed hold its lock until they have ended, too.
  const uint32_t launcher = LauncherOf(*run);
  if (!IsProcessAlive(launcher, 0)) return nullptr;
  throw Error(
      ExitCode::kLaunchFailed,
      "process " + std::to_string(pid) + " is being recorded already, by gprof-cli (" + std::to_string(launcher) + ")",
      "wait until it has ended, or end it with gprof-cli detach " + std::to_string(pid));
}

std::unique_ptr<RunFolder> NewFolder(const AttachTarget& target) {
  std::string why;
  const std::string name = std::string(kAttachSession) + std::to_string(target.pid);
  std::unique_ptr<RunFolder> folder =
      target.armed_folder.empty() ? RunFolder::Make(name, &why) : RunFolder::MakeIn({target.armed_folder}, name, &why);
  if (folder) return folder;
  throw Error(ExitCode::kLaunchFailed, "no shared memory for the run: " + why, "run gprof-cli doctor for advice");
}

}  // namespace

std::optional<FoundRun> FindAttachedRun(pid_t pid) {
  std::vector<std::string> bases = RunFolderBases();
  const std::string armed = FolderOfArming(pid);
  if (!armed.empty()) bases.insert(bases.begin(), armed);
  for (const FoundRun& run : FindRuns(bases)) {
    if (HasArenaOf(ArenasIn(run.path), pid)) return run;
  }
  return std::nullopt;
}

Attachment::Attachment(AttachTarget target, const LaunchOptions& trace)
    : target_(std::move(target)),
      trace_(trace),
      tracer_(FindTracer()),
      process_(static_cast<int>(syscall(SYS_pidfd_open, target_.pid, 0))) {
  const int64_t deadline_ns = MonotonicNs() + kTracerPatienceNs;
  const auto has_own_tracer = [this] { return target_.has_tracer && target_.armed_folder.empty(); };
  if (has_own_tracer()) folder_ = FolderOfEarlier(target_.pid);
  while (has_own_tracer() && folder_ == nullptr && MonotonicNs() < deadline_ns) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    target_ = FindAttachTarget(target_.pid);
    if (has_own_tracer()) folder_ = FolderOfEarlier(target_.pid);
  }
  is_first_ = folder_ == nullptr;
  if (is_first_ && has_own_tracer()) {
    throw Error(ExitCode::kLaunchFailed,
                who() +
                    " has a tracer that is still starting, or is of another version of gprof-cli or of a "
                    "run that is over",
                "try again; if that does not help, restart it");
  }
  if (is_first_) folder_ = NewFolder(target_);
  salvager_ = std::make_unique<Salvager>(
      folder_->path(),
      SalvageOptions{.tracer = tracer_, .report_loss = trace.report_loss, .traces = &folder_->traces()});
  session_ = std::make_unique<Session>("attach", folder_.get(), salvager_.get());
}

Attachment::~Attachment() {
  // A process that ended before it was recorded comes back to nothing that was made for it.
  if (!has_begun_ && HasEnded()) {
    folder_->SetKept(false);
    Leave();
  }
  if (process_ >= 0) close(process_);
}

std::string Attachment::who() const { return "'" + target_.name + "' (" + std::to_string(target_.pid) + ")"; }

std::string Attachment::DelaysPath() const { return folder_->path() + "/" + trace::delay_request::kFile; }

// What this recording delays; the tracer reads it when it begins.
void Attachment::WriteDelays() const {
  std::ofstream file(DelaysPath(), std::ios::binary | std::ios::trunc);
  file << trace_.delays;
  file.close();
  if (file) return;
  throw Error(ExitCode::kLaunchFailed, "cannot write '" + DelaysPath() + "'",
              "check that there is space left in shared memory");
}

void Attachment::Begin(const TraceFile& file, uint64_t limit_bytes) {
  if (trace_.may_delay) WriteDelays();
  CaptureOrder order = folder_->order();
  order.limit_bytes = limit_bytes;
  order.wish = trace::CaptureWish::kIdle;
  folder_->Publish(order);
  session_->OnProgramStart(target_.pid);
  session_->Start(file.path, file.device, file.inode, file.run);
  deadline_ns_ = MonotonicNs() + kStartPatienceNs;
  if (is_first_) Ask();
}

void Attachment::Ask() {
  if (!target_.armed_folder.empty()) {
    request_ = std::make_unique<ArmedRequest>(target_.pid, who(), target_.armed_folder, Settings());
    request_->Wake();
  } else {
    WriteSettings();
    InjectLibrary(target_.pid, who(), folder_->path() + "/" + trace::kAttachLibraryFile);
  }
  folder_->SetKept(true);
}

// What the tracer would find in its environment, had the program been started by us. It writes nothing to the stderr of
// a program that somebody else started.
std::string Attachment::Settings() const {
  char* none[] = {nullptr};
  LaunchOptions options = trace_;
  options.is_quiet = true;
  Environment environment(none, options, tracer_);
  environment.SetRunFolder(folder_->path());
  if (trace_.may_delay) environment.SetDelays(DelaysPath());
  std::string settings;
  for (const std::string& entry : environment.entries()) {
    if (entry.starts_with("GPROF_")) settings += entry + '\0';
  }
  return settings;
}

void Attachment::WriteSettings() const {
  const std::string path = folder_->path() + "/" + trace::kAttachSettingsFile;
  const mode_t before = umask(0022);  // the tracer takes no file that others may write
  std::ofstream file(path, std::ios::binary);
  umask(before);
  file << Settings();
  file.close();
  const std::string library = folder_->path() + "/" + trace::kAttachLibraryFile;
  std::error_code error;
  if (file) std::filesystem::create_symlink(std::filesystem::absolute(tracer_), library, error);
  if (file && !error) return;
  throw Error(ExitCode::kLaunchFailed, "cannot write '" + path + "'",
              "check that there is space left in shared memory");
}

bool Attachment::HasBegun(int64_t now_ns) {
  if (has_begun_) return true;
  has_begun_ = HasArenaOf(folder_->Arenas(), target_.pid) && session_->Now().IsComplete();
  if (has_begun_) {
    request_ = nullptr;
    folder_->SetKept(false);  // from here on, what the tracer has in it keeps it
    return true;
  }
  if (request_) request_->Wake();
  if (HasEnded()) throw Error(ExitCode::kLaunchFailed, who() + " has ended before it was recorded");
  if (now_ns <= deadline_ns_) return false;
  throw Error(ExitCode::kLaunchFailed, who() + " does not answer: the tracer was not loaded, or cannot start",
              "is it out of memory or descriptors, or in a sandbox?");
}

// It may be there still, as somebody has to take note of its end.
bool Attachment::HasEnded() const {
  pollfd end = {process_, POLLIN, 0};
  return poll(&end, 1, 0) > 0;
}

void Attachment::Attend(int64_t now_ns) {
  salvager_->Attend(now_ns);
  session_->Attend(now_ns);
}

void Attachment::Stop() {
  if (has_begun_) session_->Finish();
}

void Attachment::Leave() {
  CaptureOrder order = folder_->order();
  order.wish = trace::CaptureWish::kCancel;
  folder_->Publish(order);
  salvager_->Finish(true);
}

}  // namespace gprof

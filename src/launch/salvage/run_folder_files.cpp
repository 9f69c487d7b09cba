#include "launch/salvage/run_folder_files.h"

#include <dirent.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <utility>

#include "base/machine/descriptor.h"
#include "gprof/trace/delay_request.h"
#include "gprof/trace/env.h"
#include "gprof/trace/write_notes.h"

namespace gprof {
namespace {

// Containers often have 64 MB of it. With less than this, a disk is the better place.
constexpr uint64_t kLeastShared = 32u << 20;
constexpr int kMostFolders = 10'000;

bool IsUsableSharedMemory(const char* path) {
  struct statfs status;
  if (statfs(path, &status) != 0 || access(path, W_OK | X_OK) != 0) return false;
  const bool is_memory = status.f_type == TMPFS_MAGIC || status.f_type == RAMFS_MAGIC;
  const bool is_unlimited = status.f_blocks == 0;
  return is_memory && (is_unlimited || status.f_bavail * static_cast<uint64_t>(status.f_bsize) >= kLeastShared);
}

// /tmp is everybody's: the folder may be somebody else's trap.
bool IsOursAlone(const std::string& path, std::string* why) {
  struct stat status;
  if (lstat(path.c_str(), &status) != 0) {
    *why = "'" + path + "': " + std::strerror(errno);
  } else if (!S_ISDIR(status.st_mode)) {
    *why = "'" + path + "' is not a folder";
  } else if (status.st_uid != geteuid()) {
    *why = "'" + path + "' belongs to another user";
  } else if ((status.st_mode & (geteuid() == 0 ? 066 : 077)) != 0) {
    *why = "'" + path + "' is accessible to other users (chmod 700 it, or remove it)";
  } else {
    return true;
  }
  return false;
}

std::string FolderOfUser(const std::string& base) {
  // XDG_RUNTIME_DIR is the user's own already, /run/user/UID.
  const char* const runtime = std::getenv("XDG_RUNTIME_DIR");
  if (runtime != nullptr && base == runtime) return base + "/gprof-cli";
  return base + "/gprof-cli-" + std::to_string(geteuid());
}

// A descriptor of a new file that only we may open, or -1 with errno.
int CreatePrivate(const std::string& path) {
  return OpenHigh(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
}

// A file that grows beyond `ulimit -f` costs its writer its life (SIGXFSZ).
bool MayWriteFiles(std::string* why) {
  rlimit limit;
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur >= sizeof(trace::ControlPage)) return true;
  *why = "file size is limited to " + std::to_string(limit.rlim_cur) + " bytes (ulimit -f)";
  return false;
}

// Root's programs often go on as another user, who then has to find the folder. Nobody else does: it can be entered but
// not listed, and the name in the environment of the program cannot be guessed.
std::string SecretPart() {
  uint64_t number[2] = {};
  if (getrandom(number, sizeof number, 0) != static_cast<ssize_t>(sizeof number)) return {};
  char text[40];
  snprintf(text, sizeof text, "-%016llx%016llx", static_cast<unsigned long long>(number[0]),
           static_cast<unsigned long long>(number[1]));
  return text;
}

void OpenToOthers(const std::string& path) {
  const std::string others = path + "/" + trace::kOthersFolder;
  if (mkdir(others.c_str(), 0700) == 0 && chmod(others.c_str(), 01733) == 0) chmod(path.c_str(), 0711);
}

// A folder in `parent` that was not there before; empty with errno.
std::string MakeFolder(const std::string& parent, const std::string& session) {
  const std::string secret = geteuid() == 0 ? SecretPart() : std::string();
  for (int number = 0; number < kMostFolders; ++number) {
    const std::string path = parent + "/" + std::to_string(getpid()) + "-" + std::to_string(number) + secret +
                             (session.empty() ? "" : "@" + session);
    if (mkdir(path.c_str(), 0700) == 0) {
      if (!secret.empty()) OpenToOthers(path);
      return path;
    }
    if (errno != EEXIST) return {};
  }
  return {};
}

bool ReadPage(int descriptor, RunTraces* traces) {
  alignas(trace::ControlPage) static thread_local unsigned char bytes[sizeof(trace::ControlPage)];
  if (pread(descriptor, bytes, sizeof bytes, 0) != static_cast<ssize_t>(sizeof bytes)) return false;
  const auto* const page = reinterpret_cast<const trace::ControlPage*>(bytes);
  if (page->magic != trace::kControlMagic) return false;
  traces->Add({{page->output, strnlen(page->output, sizeof page->output)},
               page->output_device.load(std::memory_order_relaxed),
               page->output_inode.load(std::memory_order_relaxed),
               page->output_run.load(std::memory_order_relaxed)});
  return true;
}

CaptureOrder OrderOn(const trace::ControlPage& page) {
  return {static_cast<trace::CaptureWish>(page.wish.load(std::memory_order_relaxed)),
          static_cast<trace::CaptureTrigger>(page.trigger.load(std::memory_order_relaxed)),
          {page.output, strnlen(page.output, sizeof page.output)},
          page.output_device.load(std::memory_order_relaxed),
          page.output_inode.load(std::memory_order_relaxed),
          page.output_run.load(std::memory_order_relaxed),
          page.output_limit.load(std::memory_order_relaxed)};
}

std::optional<FoundRun> RunOfName(const std::string& parent, std::string_view name) {
  FoundRun run;
  const auto [stop, error] = std::from_chars(name.data(), name.data() + name.size(), run.launcher_pid);
  if (error != std::errc() || stop == name.data() + name.size() || *stop != '-') return std::nullopt;
  const std::size_t at = name.find('@');
  if (at != std::string_view::npos) run.session = name.substr(at + 1);
  run.path = parent + "/" + std::string(name);
  return run;
}

int OpenControl(const FoundRun& run) {
  return OpenHigh((run.path + "/" + trace::kControlFile).c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK, 0);
}

// A process that a dead launcher had just forked has its lock until it gets to let go of it, and another command may be
// clearing the folder: both are soon over.
bool TakeLock(int control, bool is_launcher_alive) {
  constexpr int kMostTries = 200, kTryMs = 10;
  for (int tries = 0; flock(control, LOCK_EX | LOCK_NB) != 0; ++tries) {
    if (is_launcher_alive || tries == kMostTries) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(kTryMs));
  }
  return true;
}

}  // namespace

std::vector<std::string> RunFolderBases() {
  const char* const chosen = std::getenv(trace::env::kRunBase);
  if (chosen != nullptr && chosen[0] == '/') return {chosen};
  std::vector<std::string> bases = {"/dev/shm"};
  const char* const runtime = std::getenv("XDG_RUNTIME_DIR");
  std::string ignored;
  // After `sudo -E` it is somebody else's.
  if (runtime != nullptr && runtime[0] == '/' && IsOursAlone(runtime, &ignored)) bases.push_back(runtime);
  bases.push_back("/tmp");
  return bases;
}

bool PrepareBase(const std::string& base, std::string* folder, std::string* why) {
  if (base == "/dev/shm" && !IsUsableSharedMemory(base.c_str())) {
    *why = base + " is not writable memory, or nearly full";
    return false;
  }
  *folder = FolderOfUser(base);
  if (mkdir(folder->c_str(), 0700) != 0 && errno != EEXIST) {
    *why = "cannot create '" + *folder + "': " + std::strerror(errno);
    return false;
  }
  if (!IsOursAlone(*folder, why)) return false;
  if (geteuid() == 0) chmod(folder->c_str(), 0711);
  return true;
}

std::string ExistingBase(const std::string& base) {
  const std::string folder = FolderOfUser(base);
  std::string ignored;
  return IsOursAlone(folder, &ignored) ? folder : std::string();
}

std::unique_ptr<RunFolder> RunFolder::Make(const std::string& session, std::string* why) {
  return MakeIn(RunFolderBases(), session, why);
}

std::unique_ptr<RunFolder> RunFolder::MakeIn(const std::vector<std::string>& bases, const std::string& session,
                                             std::string* why) {
  if (!MayWriteFiles(why)) return nullptr;
  for (const std::string& base : bases) {
    std::string parent;
    if (!PrepareBase(base, &parent, why)) continue;
    const std::string path = MakeFolder(parent, session);
    if (path.empty()) {
      *why = "cannot create a folder in '" + parent + "': " + std::strerror(errno);
      continue;
    }
    const int control = CreatePrivate(path + "/" + trace::kControlFile);
    void* page = MAP_FAILED;
    // Reserved, not only promised: a full memory must show here and not when the page is written.
    // Who looks whether we live may have the lock for a moment, so this waits for it.
    const bool is_ready = control >= 0 && flock(control, LOCK_EX) == 0 &&
                          (errno = posix_fallocate(control, 0, sizeof(trace::ControlPage))) == 0;
    if (is_ready) page = mmap(nullptr, sizeof(trace::ControlPage), PROT_READ | PROT_WRITE, MAP_SHARED, control, 0);
    if (page != MAP_FAILED) {
      if (geteuid() == 0) fchmod(control, 0644);
      MakeSpareArenas(path);
      return std::unique_ptr<RunFolder>(new RunFolder(path, control, static_cast<trace::ControlPage*>(page), false));
    }
    *why = "cannot use '" + path + "': " + std::strerror(errno);
    if (control >= 0) close(control);
    RemoveRunFolder(path);
  }
  return nullptr;
}

std::unique_ptr<RunFolder> RunFolder::Adopt(const FoundRun& run) { return TakeOver(run, false); }
std::unique_ptr<RunFolder> RunFolder::GoOnWith(const FoundRun& run) { return TakeOver(run, true); }

std::unique_ptr<RunFolder> RunFolder::TakeOver(const FoundRun& run, bool keeps_order) {
  const int control = OpenControl(run);
  struct stat status;
  const bool is_ours = control >= 0 && TakeLock(control, IsProcessAlive(LauncherOf(run), 0)) &&
                       fstat(control, &status) == 0 && status.st_size == sizeof(trace::ControlPage);
  void* const page =
      is_ours ? mmap(nullptr, sizeof(trace::ControlPage), PROT_READ | PROT_WRITE, MAP_SHARED, control, 0) : MAP_FAILED;
  if (page != MAP_FAILED && static_cast<trace::ControlPage*>(page)->magic == trace::kControlMagic) {
    return std::unique_ptr<RunFolder>(
        new RunFolder(run.path, control, static_cast<trace::ControlPage*>(page), keeps_order));
  }
  if (page != MAP_FAILED) munmap(page, sizeof(trace::ControlPage));
  if (control >= 0) close(control);
  return nullptr;
}

RunFolder::RunFolder(std::string path, int control, trace::ControlPage* page, bool keeps_order)
    : path_(std::move(path)), control_(control), page_(page) {
  page_->run_has_ended.store(0, std::memory_order_relaxed);
  page_->launcher_pid.store(static_cast<uint32_t>(getpid()), std::memory_order_relaxed);
  page_->magic = trace::kControlMagic;
  Publish(keeps_order ? OrderOn(*page_) : order_);
}

RunFolder::~RunFolder() {
  munmap(page_, sizeof *page_);
  if (!is_kept_) RemoveRunFolder(path_);
  close(control_);
}

uint32_t RunFolder::Publish(const CaptureOrder& order) {
  order_ = order;
  traces_.Add({order.output, order.device, order.inode, order.run});
  // A launcher that was killed in here has left an odd number.
  const uint32_t before = (page_->epoch.load(std::memory_order_relaxed) + 1) / 2 * 2;
  page_->epoch.store(before + 1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  page_->wish.store(static_cast<uint32_t>(order.wish), std::memory_order_relaxed);
  page_->trigger.store(static_cast<uint32_t>(order.trigger), std::memory_order_relaxed);
  page_->output_device.store(order.device, std::memory_order_relaxed);
  page_->output_inode.store(order.inode, std::memory_order_relaxed);
  page_->output_run.store(order.run, std::memory_order_relaxed);
  page_->output_limit.store(order.limit_bytes, std::memory_order_relaxed);
  // A path that does not fit is left out whole: half a path names another file.
  const bool fits = order.output.size() < sizeof page_->output;
  std::memset(page_->output, 0, sizeof page_->output);
  if (fits) std::memcpy(page_->output, order.output.data(), order.output.size());
  page_->epoch.store(before + 2, std::memory_order_release);
  for (const Arena& arena : Arenas()) RingBell(arena);
  return before + 2;
}

void RunFolder::EndRun(int exit_code, int signal) {
  page_->exit_code.store(static_cast<uint16_t>(exit_code), std::memory_order_relaxed);
  page_->end_signal.store(static_cast<uint16_t>(signal), std::memory_order_relaxed);
  page_->run_has_ended.store(1, std::memory_order_release);
  for (const Arena& arena : Arenas()) RingBell(arena);
}

std::vector<FoundRun> FindRuns(const std::vector<std::string>& bases) {
  std::vector<FoundRun> runs;
  for (const std::string& base : bases) {
    const std::string parent = ExistingBase(base);
    DIR* const listing = parent.empty() ? nullptr : opendir(parent.c_str());
    if (listing == nullptr) continue;
    while (const dirent* entry = readdir(listing)) {
      std::optional<FoundRun> run = RunOfName(parent, entry->d_name);
      std::string ignored;
      if (run && IsOursAlone(run->path, &ignored)) runs.push_back(std::move(*run));
    }
    closedir(listing);
  }
  std::sort(runs.begin(), runs.end(), [](const FoundRun& a, const FoundRun& b) { return a.path < b.path; });
  return runs;
}

// The name says who made it. Later another may have gone on with it.
uint32_t LauncherOf(const FoundRun& run) {
  const int control = OpenControl(run);
  uint32_t pid = 0;
  const bool is_read =
      control >= 0 && pread(control, &pid, sizeof pid, offsetof(trace::ControlPage, launcher_pid)) == sizeof pid;
  if (control >= 0) close(control);
  return is_read && pid != 0 ? pid : run.launcher_pid;
}

bool HasLauncher(const FoundRun& run) {
  const int control = OpenControl(run);
  // Just being made, or half removed.
  if (control < 0) return IsProcessAlive(run.launcher_pid, 0);
  const bool is_free = flock(control, LOCK_EX | LOCK_NB) == 0;
  struct stat status;
  const bool is_new = fstat(control, &status) == 0 && status.st_size == 0;
  close(control);
  return !is_free || (is_new && IsProcessAlive(run.launcher_pid, 0));
}

std::string OutputOf(const FoundRun& run) {
  if (!HasLauncher(run)) return {};
  const int control = OpenControl(run);
  if (control < 0) return {};
  RunTraces traces;
  ReadPage(control, &traces);
  close(control);
  return traces.Last() == nullptr ? std::string() : traces.Last()->path;
}

std::unique_ptr<RunClaim> RunClaim::Take(const FoundRun& run) {
  const bool is_launcher_alive = IsProcessAlive(LauncherOf(run), 0);
  if (is_launcher_alive && HasLauncher(run)) return nullptr;
  const int control = OpenControl(run);
  if (control < 0) return std::unique_ptr<RunClaim>(new RunClaim(-1, {}));
  if (!TakeLock(control, is_launcher_alive)) {
    close(control);
    return nullptr;
  }
  RunTraces traces;
  ReadPage(control, &traces);
  return std::unique_ptr<RunClaim>(new RunClaim(control, std::move(traces)));
}

RunClaim::~RunClaim() {
  if (control_ >= 0) close(control_);
}

void MakeSpareArenas(const std::string& path) {
  rlimit limit;
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur < trace::kSpareBytes) return;
  for (uint32_t i = 0; i < trace::kSpareArenas; ++i) {
    const std::string file = path + "/" + trace::kSpareFile + std::to_string(i);
    const int descriptor = CreatePrivate(file);
    if (descriptor < 0) continue;
    // Without a page to it yet.
    if (ftruncate(descriptor, trace::kSpareBytes) != 0) unlink(file.c_str());
    close(descriptor);
  }
}

void RemoveRunFolder(const std::string& path) {
  if (!ArenasIn(path).empty()) return;
  for (uint32_t i = 0; i < trace::kSpareArenas; ++i)
    unlink((path + "/" + trace::kSpareFile + std::to_string(i)).c_str());
  rmdir((path + "/" + trace::kOthersFolder).c_str());
  // A process may make its arena just now: then the folder is not empty, and the control page is the last to go.
  unlink((path + "/" + trace::kSocketFile).c_str());
  unlink((path + "/" + trace::kCounterRequestFile).c_str());
  unlink((path + "/" + trace::delay_request::kFile).c_str());
  unlink((path + "/" + trace::kMonitorsFile).c_str());
  unlink((path + "/" + trace::kWriteNotesFile).c_str());
  unlink((path + "/" + trace::kAttachLibraryFile).c_str());
  unlink((path + "/" + trace::kAttachSettingsFile).c_str());
  const std::string control = path + "/" + trace::kControlFile, moved = path + ".control";
  if (rename(control.c_str(), moved.c_str()) != 0 && errno != ENOENT) return;
  if (rmdir(path.c_str()) != 0 && errno == ENOTEMPTY) {
    rename(moved.c_str(), control.c_str());
    return;
  }
  unlink(moved.c_str());
}

}  // namespace gprof

#include "launch/attach/armed_process.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>
#include <fstream>
#include <optional>
#include <string_view>

#include "base/machine/descriptor.h"
#include "base/machine/read_proc.h"
#include "collect/run/open_proc_file.h"
#include "gprof/trace/env.h"
#include "gprof/trace/run_folder.h"
#include "launch/attach/attach_target.h"
#include "launch/salvage/run_folder_files.h"

namespace gprof {
namespace {

constexpr std::size_t kPageBytes = 4096;

std::string Proc(pid_t pid) { return "/proc/" + std::to_string(pid); }

bool HasWaitingThread(pid_t pid) {
  const std::string tasks = Proc(pid) + "/task";
  for (const int tid : NumbersIn(tasks)) {
    std::string name;
    std::getline(std::ifstream(tasks + "/" + std::to_string(tid) + "/comm") >> std::ws, name);
    if (name == trace::kArmedThread) return true;
  }
  return false;
}

// As the process sees it.
std::string PathOfTracer(pid_t pid) {
  std::ifstream maps(Proc(pid) + "/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find("/libgprof-tracer.so") != std::string::npos) return line.substr(line.find('/'));
  }
  return {};
}

void* MapBell(pid_t pid) {
  const int file = OpenHigh((Proc(pid) + "/root" + PathOfTracer(pid)).c_str(), O_RDONLY, 0);
  if (file < 0) return MAP_FAILED;
  void* const page = mmap(nullptr, kPageBytes, PROT_READ, MAP_SHARED, file, 0);
  close(file);
  return page;
}

std::string StartTicksOf(pid_t pid) {
  const std::string stat = ReadProcFile(Proc(pid) + "/stat");
  const std::optional<int64_t> ticks = StatField(BehindName(stat), kStartTicksField);
  return ticks ? std::to_string(*ticks) : std::string();
}

// Whole or not at all: it may look at any time.
bool WritePrivate(const std::string& path, const std::string& text, uid_t owner) {
  const std::string fresh = path + ".new";
  unlink(fresh.c_str());
  const int file = OpenHigh(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
  if (file < 0) return false;
  const bool is_good = write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
                       (owner == geteuid() || fchown(file, owner, static_cast<gid_t>(-1)) == 0);
  const int error = errno;
  close(file);
  if (is_good && rename(fresh.c_str(), path.c_str()) == 0) return true;
  unlink(fresh.c_str());
  if (!is_good) errno = error;
  return false;
}

}  // namespace

// Of the environment that it began with; empty where it has written something else over that, as setproctitle does.
std::string FolderOfArming(pid_t pid) {
  const std::string wanted = std::string(trace::env::kArmed) + "=";
  std::ifstream file(Proc(pid) + "/environ", std::ios::binary);
  for (std::string entry; std::getline(file, entry, '\0');) {
    if (entry.starts_with(wanted)) return entry.substr(wanted.size());
  }
  return {};
}

std::string ArmedFolderOf(pid_t pid) {
  if (!HasWaitingThread(pid)) return {};
  const std::string folder = FolderOfArming(pid);
  return folder.empty() ? RunFolderBases().front() : folder;
}

ArmedRequest::ArmedRequest(pid_t pid, const std::string& who, const std::string& folder, const std::string& settings)
    : path_(folder + "/" + trace::kArmedRequestPrefix + std::to_string(pid) + "-" + StartTicksOf(pid)),
      bell_(MapBell(pid)) {
  struct stat process;
  if (bell_ == MAP_FAILED) {
    RefuseToAttach(who, "the tracer that it was prepared with is gone: " + std::string(std::strerror(errno)),
                   "gprof-cli was updated or removed since it began; restart it");
  }
  if (stat(Proc(pid).c_str(), &process) == 0 && WritePrivate(path_, settings, process.st_uid)) return;
  const std::string why = "cannot leave a request in '" + folder + "': " + std::strerror(errno);
  munmap(bell_, kPageBytes);
  RefuseToAttach(who, why, "it looks there, as GPROF_ARMED says: make room, or give the folder the right to write");
}

ArmedRequest::~ArmedRequest() {
  unlink(path_.c_str());
  munmap(bell_, kPageBytes);
}

void ArmedRequest::Wake() const { syscall(SYS_futex, bell_, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0); }

}  // namespace gprof

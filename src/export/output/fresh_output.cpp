#include "export/output/fresh_output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/text.h"
#include "gprof/error.h"

namespace gprof {
namespace {

namespace fs = std::filesystem;

bool IsRegularOrNew(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) != 0 || S_ISREG(status.st_mode);
}

std::string PathOf(int descriptor) { return "/proc/self/fd/" + std::to_string(descriptor); }

}  // namespace

FreshOutput::FreshOutput(const std::string& path, Kind kind) : path_(path), kind_(kind) {
  // Through a link, what it leads to is replaced and the link stays.
  std::error_code failed;
  target_ = fs::weakly_canonical(path, failed).string();
  if (failed) Fail(failed.value());
  if (target_.empty()) target_ = path;
  // "out/" is the folder out.
  if (target_.size() > 1 && target_.ends_with('/')) target_.pop_back();
  work_path_ = target_ + ".new" + std::to_string(getpid());
  RemoveLeftOver(target_);
  if (kind == Kind::kBytes) OpenBytes();
  if (kind == Kind::kFolder && mkdir(work_path_.c_str(), 0777) != 0) Fail(errno);
  if (!is_in_place_ && !is_nameless_) unfinished_.emplace(work_path_, kind == Kind::kFolder);
}

FreshOutput::~FreshOutput() {
  if (descriptor_ >= 0) close(descriptor_);
  if (is_done_ || is_in_place_ || is_nameless_) return;
  std::error_code ignored;
  fs::remove_all(work_path_, ignored);
}

void FreshOutput::OpenBytes() {
  is_in_place_ = !IsRegularOrNew(path_);
  if (!is_in_place_ && OpenNameless()) return;
  descriptor_ = is_in_place_ ? open(path_.c_str(), O_WRONLY | O_CLOEXEC)
                             : open(work_path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor_ < 0) Fail(errno);
}

// False where the file system has no such files, or no /proc to name them by.
bool FreshOutput::OpenNameless() {
  const fs::path folder = fs::path(target_).parent_path();
  descriptor_ = open(folder.empty() ? "." : folder.c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
  is_nameless_ = descriptor_ >= 0 && access(PathOf(descriptor_).c_str(), F_OK) == 0;
  if (descriptor_ >= 0 && !is_nameless_) close(std::exchange(descriptor_, -1));
  return is_nameless_;
}

// A name beside its place first, as only renaming replaces what is there.
void FreshOutput::GiveName() {
  if (linkat(AT_FDCWD, PathOf(descriptor_).c_str(), AT_FDCWD, work_path_.c_str(), AT_SYMLINK_FOLLOW) != 0) Fail(errno);
  unfinished_.emplace(work_path_, false);
  is_nameless_ = false;
}

void FreshOutput::Write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) Fail(errno);
    written_bytes_ += static_cast<uint64_t>(written);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

void FreshOutput::MakeAsGoodAs(const std::string& path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0 || fchmod(descriptor_, status.st_mode & 07777) != 0) Fail(errno);
  if (fdatasync(descriptor_) != 0 && errno != EINVAL) Fail(errno);
}

void FreshOutput::Finish() {
  if (is_nameless_) GiveName();
  if (descriptor_ >= 0) {
    const int closed = close(descriptor_);
    descriptor_ = -1;
    if (closed != 0) Fail(errno);
  }
  if (is_in_place_) return;
  if (kind_ == Kind::kFolder && fs::is_directory(target_)) {
    MoveFiles();
  } else if (rename(work_path_.c_str(), target_.c_str()) != 0) {
    Fail(errno);
  }
  is_done_ = true;
  unfinished_.reset();
}

void FreshOutput::MoveFiles() {
  for (const fs::directory_entry& entry : fs::directory_iterator(work_path_)) {
    const std::string to = (fs::path(target_) / entry.path().filename()).string();
    if (rename(entry.path().c_str(), to.c_str()) != 0) Fail(errno);
  }
  if (rmdir(work_path_.c_str()) != 0) Fail(errno);
}

void FreshOutput::Fail(int error) const {
  throw Error(ExitCode::kUnreadable, "cannot write '" + path_ + "': " + std::strerror(error),
              error == ENOENT ? MakeFolderHint(path_) : "");
}

}  // namespace gprof

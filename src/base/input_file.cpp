#include "base/input_file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace gprof {
namespace {

[[noreturn]] void Refuse(const std::string& path, int number, const std::string& why, std::string hint) {
  throw FileError(number, "cannot read '" + path + "': " + why, std::move(hint));
}

[[noreturn]] void RefuseWithErrno(const std::string& path, int number, std::string hint) {
  if (number == ENXIO) Refuse(path, number, "it is a socket, not a file", "give a regular file");
  if (number == EACCES) hint = "the file belongs to another user; ask for read permission";
  if (number != ENOENT && number != EACCES) hint.clear();
  Refuse(path, number, std::string(std::strerror(number)) + " (errno " + std::to_string(number) + ")", std::move(hint));
}

// Nobody can name a pipe of the shell but by a descriptor, so somebody writes to it or has closed it.
bool IsPipeOfShell(int descriptor) {
  struct statfs system {};
  return fstatfs(descriptor, &system) == 0 && system.f_type == PIPEFS_MAGIC;
}

void RequireReadable(const std::string& path, int descriptor, mode_t mode) {
  if (S_ISREG(mode)) return;
  if (S_ISDIR(mode)) Refuse(path, EISDIR, "it is a folder", "give a file in it, for example run.trace");
  if (!S_ISFIFO(mode)) Refuse(path, EINVAL, "it is a device, not a file", "give a regular file");
  if (!IsPipeOfShell(descriptor))
    Refuse(path, EINVAL, "it is a named pipe, not a file", "give a regular file, or a pipe of the shell: <(command)");
}

}  // namespace

InputFile::InputFile(const std::string& path, const std::string& hint) : path_(path) {
  // Without O_NONBLOCK a named pipe is not open before somebody writes to it.
  descriptor_ = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor_ < 0) RefuseWithErrno(path_, errno, hint);
  try {
    struct stat status {};
    if (fstat(descriptor_, &status) != 0) RefuseWithErrno(path_, errno, hint);
    RequireReadable(path_, descriptor_, status.st_mode);
    is_regular_ = S_ISREG(status.st_mode);
    if (is_regular_) size_bytes_ = static_cast<std::size_t>(status.st_size);
    if (fcntl(descriptor_, F_SETFL, 0) != 0) RefuseWithErrno(path_, errno, hint);
  } catch (...) {
    close(descriptor_);
    throw;
  }
}

InputFile::~InputFile() { close(descriptor_); }

std::string InputFile::ReadAll() const {
  constexpr std::size_t kBlockBytes = 1 << 18;
  std::string bytes;
  bytes.reserve(size_bytes_);
  std::string block(kBlockBytes, '\0');
  for (;;) {
    const ssize_t got = read(descriptor_, block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) RefuseWithErrno(path_, errno, "");
    if (got == 0) return bytes;
    bytes.append(block.data(), static_cast<std::size_t>(got));
  }
}

std::string ReadInputFile(const std::string& path, const std::string& hint) { return InputFile(path, hint).ReadAll(); }

std::string StartOfInputFile(const std::string& path, std::size_t size_bytes) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  try {
    const InputFile file(path);
    std::string start(size_bytes, '\0');
    const ssize_t got = file.IsRegular() ? pread(file.descriptor(), start.data(), size_bytes, 0) : 0;
    start.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return start;
  } catch (const FileError&) {
    return {};
  }
}

}  // namespace gprof

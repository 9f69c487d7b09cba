#include "trace/file/mapped_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/machine/spill.h"
#include "gprof/error.h"

namespace gprof {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

[[noreturn]] void Fail(const std::string& path, std::string_view why, std::string hint) {
  throw Error(ExitCode::kUnreadable, fmt::format("cannot read '{}': {}", path, why), std::move(hint));
}

[[noreturn]] void FailWithErrno(const std::string& path) {
  const int number = errno;
  std::string hint;
  if (number == ENOENT) hint = "check the name; 'gprof-cli profile -o FILE -- APP' writes a trace";
  if (number == EACCES) hint = "the file belongs to another user; ask for read permission";
  throw FileError(number, fmt::format("cannot read '{}': {} (errno {})", path, std::strerror(number), number),
                  std::move(hint));
}

void CheckType(const std::string& path, mode_t mode) {
  if (S_ISDIR(mode)) {
    throw FileError(EISDIR, fmt::format("cannot read '{}': it is a folder", path),
                    "give a trace file in it, for example run.trace");
  }
  if (S_ISCHR(mode) || S_ISBLK(mode)) Fail(path, "it is a device, not a file", "give a trace file, or a pipe");
}

std::string ReadAll(const std::string& path, int fd) {
  std::string bytes;
  std::string block(1u << 20, '\0');
  for (;;) {
    const ssize_t got = read(fd, block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) FailWithErrno(path);
    if (got == 0) return bytes;
    bytes.append(block.data(), static_cast<std::size_t>(got));
  }
}

}  // namespace

MappedFile::MappedFile(const std::string& path) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) FailWithErrno(path);
  struct stat info {};
  if (fstat(file.get(), &info) != 0) FailWithErrno(path);
  CheckType(path, info.st_mode);
  if (S_ISREG(info.st_mode) && info.st_size > 0) {
    const auto size = static_cast<std::size_t>(info.st_size);
    void* map = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
    if (map != MAP_FAILED) {
      madvise(map, size, MADV_SEQUENTIAL);
      map_ = map;
      map_bytes_ = size;
      RememberMapped(map_, map_bytes_);
      return;
    }
  }
  // Pipes, files of /proc (size 0) and file systems that cannot map.
  copy_ = ReadAll(path, file.get());
}

MappedFile::~MappedFile() {
  if (map_ == nullptr) return;
  ForgetMapped(map_);
  munmap(map_, map_bytes_);
}

std::string_view MappedFile::bytes() const {
  return map_ != nullptr ? std::string_view(static_cast<const char*>(map_), map_bytes_) : std::string_view(copy_);
}

void MappedFile::DropPages() const {
  if (map_ != nullptr) madvise(map_, map_bytes_, MADV_DONTNEED);
}

}  // namespace gprof

#include "trace/write/append.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/machine/descriptor.h"
#include "gprof/trace/file.h"

namespace gprof {
namespace {

bool IsOfRun(int descriptor, uint64_t run) {
  unsigned char first[trace::kChunkHeaderBytes];
  return run == 0 || (pread(descriptor, first, sizeof first, 0) == static_cast<ssize_t>(sizeof first) &&
                      trace::IsFileOfRun(first, run));
}

int Open(const TraceFile& file, uint64_t* size_bytes) {
  const int descriptor = OpenHigh(file.path.c_str(), O_RDWR | O_APPEND | O_NOCTTY | O_NONBLOCK, 0);
  struct stat status;
  if (descriptor < 0) return descriptor;
  const bool is_known = fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
  const bool is_it = file.inode == 0 || (status.st_dev == file.device && status.st_ino == file.inode);
  if (is_known && is_it && IsOfRun(descriptor, file.run)) {
    *size_bytes = static_cast<uint64_t>(status.st_size);
    return descriptor;
  }
  close(descriptor);
  errno = ESTALE;
  return -1;
}

// 0: all of it is in the file.
int WriteOnce(int descriptor, std::string_view chunk, bool* is_untouched) {
  ssize_t written;
  do {
    written = write(descriptor, chunk.data(), chunk.size());
  } while (written < 0 && errno == EINTR);
  if (written < 0) return errno;
  *is_untouched = *is_untouched && written == 0;
  return static_cast<std::size_t>(written) == chunk.size() ? 0 : ENOSPC;
}

}  // namespace

Appended AppendChunks(const TraceFile& file, std::string_view chunks) {
  Appended result;
  uint64_t size_bytes = 0;
  const int descriptor = Open(file, &size_bytes);
  const int open_error = descriptor < 0 ? errno : 0;
  trace::ChunkHeader header;
  while (chunks.size() >= trace::kChunkHeaderBytes) {
    if (trace::ReadHeader(reinterpret_cast<const unsigned char*>(chunks.data()), &header) != trace::HeaderStatus::kGood)
      break;
    const std::size_t size = trace::kChunkHeaderBytes + header.body_bytes;
    const int error = descriptor < 0 ? open_error : WriteOnce(descriptor, chunks.substr(0, size), &result.is_untouched);
    ++result.chunks;
    if (result.error == 0) result.error = error;
    if (error != 0) result.lost_records += header.record_count;
    chunks.remove_prefix(std::min(size, chunks.size()));
  }
  if (descriptor >= 0) close(descriptor);
  return result;
}

int OpenTrace(const TraceFile& file) {
  uint64_t size_bytes = 0;
  return Open(file, &size_bytes);
}

std::optional<uint64_t> SizeOf(const TraceFile& file) {
  uint64_t size_bytes = 0;
  const int descriptor = Open(file, &size_bytes);
  if (descriptor < 0) return std::nullopt;
  close(descriptor);
  return size_bytes;
}

bool IsStillEmpty(const TraceFile& file) {
  const std::optional<uint64_t> size_bytes = SizeOf(file);
  return size_bytes && trace::HoldsNothing(*size_bytes);
}

}  // namespace gprof

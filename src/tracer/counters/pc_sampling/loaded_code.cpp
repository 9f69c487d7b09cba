#include "tracer/counters/pc_sampling/loaded_code.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <cstring>

#include "tracer/system/system_calls.h"

namespace gprof::tracer {
namespace {

constexpr uint32_t kMost = 16384;
// Libraries may have gigabytes of code, of which a program loads what it needs.
constexpr std::size_t kMostBytes = std::size_t{2} << 30;

struct Code {
  LoadedCode code;
  bool is_written = false;
};
Code* all = nullptr;
uint32_t code_count = 0;
std::size_t bytes_kept = 0;
Lock lock;

Code* Find(uint64_t checksum) {
  for (uint32_t i = 0; i < code_count; ++i) {
    if (all[i].code.checksum == checksum) return &all[i];
  }
  return nullptr;
}

}  // namespace

void NoteLoadedCode(uint64_t checksum, const void* bytes, std::size_t size) {
  const LockGuard guard(lock);
  if (all == nullptr) all = static_cast<Code*>(MapMemory(kMost * sizeof(Code)));
  if (all == nullptr || code_count == kMost || bytes_kept + size > kMostBytes || Find(checksum) != nullptr) return;
  void* copy = MapMemory(size);
  if (copy == nullptr) return;
  std::memcpy(copy, bytes, size);
  bytes_kept += size;
  constexpr char kLines[] = ".debug_line";  // a section's name
  all[code_count++].code = {checksum, copy, size, memmem(copy, size, kLines, sizeof kLines - 1) != nullptr};
}

LoadedCode FindLoadedCode(uint64_t checksum) {
  const LockGuard guard(lock);
  const Code* code = Find(checksum);
  return code == nullptr ? LoadedCode() : code->code;
}

void WriteLoadedCode(const char* folder, uint64_t checksum) {
  const LockGuard guard(lock);
  Code* code = Find(checksum);
  if (code == nullptr || code->is_written) return;
  code->is_written = true;
  char path[4200];
  snprintf(path, sizeof path, "%s/%016llx.cubin", folder, static_cast<unsigned long long>(checksum));
  const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return;
  const auto* at = static_cast<const char*>(code->code.bytes);
  for (std::size_t left = code->code.size; left > 0;) {
    const ssize_t n = write(fd, at, left);
    if (n <= 0) break;
    at += n;
    left -= static_cast<std::size_t>(n);
  }
  close(fd);
}

}  // namespace gprof::tracer

#include "tracer/store/memory/process_key.h"

#include <stdlib.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstring>

#include "tracer/store/interned_names.h"
#include "tracer/system/proc_file.h"

namespace gprof::tracer {
namespace {

uint64_t HostHash() {
  char id[320];
  utsname host;
  std::size_t used = 0;
  if (uname(&host) == 0) {
    used = strnlen(host.nodename, sizeof host.nodename);
    std::memcpy(id, host.nodename, used);
  }
  const auto n = ReadProcFile("/proc/sys/kernel/random/boot_id", id + used, sizeof id - used);
  if (n > 0) used += static_cast<std::size_t>(n);
  return HashBytes(id, used);
}

}  // namespace

uint64_t StartTicksOf(const char* stat_file) {
  char stat[1024];
  if (ReadProcFile(stat_file, stat, sizeof stat) <= 0) return 0;
  const char* state = StatField(stat, 3);
  if (state == nullptr || *state == 'Z' || *state == 'X') return 0;
  const char* ticks = StatField(stat, 22);
  return ticks == nullptr ? 0 : strtoull(ticks, nullptr, 10);
}

bool IsForkWithoutExec() {
  constexpr uint64_t kForkNoExec = 0x40;  // PF_FORKNOEXEC of the kernel
  char stat[1024];
  if (ReadProcFile("/proc/self/stat", stat, sizeof stat) <= 0) return false;
  const char* flags = StatField(stat, 9);
  return flags != nullptr && (strtoull(flags, nullptr, 10) & kForkNoExec) != 0;
}

trace::ProcessKey OwnKey(uint64_t start_ns) {
  trace::ProcessKey key;
  key.host = HostHash();
  key.start_ticks = StartTicksOf("/proc/self/stat");
  key.pid = static_cast<uint32_t>(getpid());
  key.image = static_cast<uint32_t>(start_ns >> 10);
  return key;
}

}  // namespace gprof::tracer

#include "tracer/core/process_facts.h"

#include <stdlib.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstring>

#include "tracer/core/capture_mode.h"
#include "tracer/core/notice.h"
#include "tracer/core/proc_file.h"
#include "tracer/core/rank.h"
#include "tracer/core/tracer.h"
#include "tracer/store/interned_names.h"

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

trace::StringId CommandLine() {
  static char text[kMaxNameBytes];
  const auto n = ReadProcFile("/proc/self/cmdline", text, sizeof text);
  if (n <= 0) return {};
  std::size_t size = static_cast<std::size_t>(n);
  while (size > 0 && text[size - 1] == 0) --size;
  for (std::size_t i = 0; i < size; ++i) {
    if (text[i] == 0) text[i] = ' ';
  }
  return Strings().Intern(text, size);
}

trace::StringId ProgramName() {
  static char path[4096];
  const ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
  if (n <= 0) return {};
  path[n] = 0;
  const char* slash = std::strrchr(path, '/');
  return Strings().Intern(slash == nullptr ? path : slash + 1);
}

}  // namespace

// Field 22; the name in field 2 may hold spaces and brackets, so count from the last bracket.
uint64_t StartTicksOf(const char* stat_file) {
  char stat[1024];
  if (ReadProcFile(stat_file, stat, sizeof stat) <= 0) return 0;
  const char* at = std::strrchr(stat, ')');
  if (at == nullptr || at[1] != ' ' || at[2] == 'Z' || at[2] == 'X') return 0;
  for (int field = 2; at != nullptr && field < 22; ++field) at = std::strchr(at + 1, ' ');
  return at == nullptr ? 0 : strtoull(at + 1, nullptr, 10);
}

trace::ProcessKey OwnKey(uint64_t start_ns) {
  trace::ProcessKey key;
  key.host = HostHash();
  key.start_ticks = StartTicksOf("/proc/self/stat");
  key.pid = static_cast<uint32_t>(getpid());
  key.image = static_cast<uint32_t>(start_ns >> 10);
  return key;
}

void FillProcess(trace::ProcessRecord* process) {
  process->pid = static_cast<uint32_t>(getpid());
  process->parent_pid = static_cast<uint32_t>(getppid());
  process->name = ProgramName();
  process->command_line = CommandLine();
  utsname host;
  if (uname(&host) == 0) process->host = Strings().Intern(host.nodename);
  process->tracer_version = Strings().Intern(GPROF_VERSION);
  process->capture_mode = CaptureModeText(Config());
  FillRank(process);
}

trace::StringId ThreadName(uint32_t tid) {
  Message path;
  path << "/proc/self/task/" << tid << "/comm";
  char name[64];
  const auto n = ReadProcFile(path.c_str(), name, sizeof name);
  return n <= 0 ? trace::StringId{} : Strings().Intern(name, static_cast<std::size_t>(n));
}

}  // namespace gprof::tracer

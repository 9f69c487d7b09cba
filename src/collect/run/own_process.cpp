#include "collect/run/own_process.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <string>

#include "base/machine/read_proc.h"
#include "collect/run/open_proc_file.h"
#include "collect/run/system_clocks.h"
#include "gprof/trace/hash.h"

namespace gprof {
namespace {

uint64_t StartTicks() {
  const std::string stat = ReadProcFile("/proc/self/stat");
  return static_cast<uint64_t>(StatField(BehindName(stat), kStartTicksField).value_or(0));
}

}  // namespace

trace::ProcessKey OwnProcessKey() {
  utsname host;
  std::string id = uname(&host) == 0 ? host.nodename : "";
  std::string boot = ReadProcFile("/proc/sys/kernel/random/boot_id");
  if (!boot.empty() && boot.back() == '\n') boot.pop_back();
  trace::ProcessKey key;
  id += boot;
  key.host = trace::HashBytes(id.data(), id.size());
  key.start_ticks = StartTicks();
  key.pid = static_cast<uint32_t>(getpid());
  key.image = static_cast<uint32_t>(MonotonicNs() >> 10);
  return key;
}

}  // namespace gprof

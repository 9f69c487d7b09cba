#include "collect/run/own_process.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "base/machine/read_proc.h"
#include "collect/run/system_clocks.h"
#include "gprof/trace/hash.h"

namespace gprof {
namespace {

// Field 22; the name in field 2 may hold anything, so fields are counted from its end.
uint64_t StartTicks() {
  const std::string stat = ReadProcFile("/proc/self/stat");
  std::size_t at = stat.rfind(')');
  for (int field = 2; at != std::string::npos && field < 22; ++field) at = stat.find(' ', at + 1);
  return at == std::string::npos ? 0 : std::strtoull(stat.c_str() + at, nullptr, 10);
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

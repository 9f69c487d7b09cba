#include "tracer/core/process_record.h"

#include <sched.h>
#include <stdlib.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <atomic>
#include <cstring>

#include "gprof/trace/rank_variables.h"
#include "tracer/capture/capture_mode.h"
#include "tracer/core/notice.h"
#include "tracer/core/tracer.h"
#include "tracer/store/chunk_output.h"
#include "tracer/store/interned_names.h"
#include "tracer/store/memory/arena.h"
#include "tracer/system/proc_file.h"

namespace gprof::tracer {
namespace {

constinit trace::ProcessRecord own_process GPROF_IN_ARENA;
constinit UsedCupti cupti GPROF_IN_ARENA;
constinit std::atomic<bool> has_cupti GPROF_IN_ARENA{false};  // `cupti` is whole
constinit bool is_told GPROF_IN_ARENA = false, was_told_with_cupti GPROF_IN_ARENA = false;

trace::StringId CommandLine() {
  static char text[kMaxNameBytes];
  const auto n = ReadProcFile("/proc/self/cmdline", text, sizeof text);
  if (n <= 0) return {};
  std::size_t size = static_cast<std::size_t>(n);
  while (size > 0 && text[size - 1] == 0) --size;
  for (std::size_t i = 0; i < size; ++i) {
    if (text[i] == 0) text[i] = ' ';
  }
  return Names().Intern(text, size);
}

trace::StringId ProgramName() {
  static char path[4096];
  const ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
  if (n <= 0) return {};
  path[n] = 0;
  const char* slash = std::strrchr(path, '/');
  return Names().Intern(slash == nullptr ? path : slash + 1);
}

// The kernel refuses a set that is smaller than the number of processors that it was built for.
uint32_t UsableCores() {
  cpu_set_t sets[8];
  CPU_ZERO_S(sizeof sets, sets);
  return sched_getaffinity(0, sizeof sets, sets) == 0 ? static_cast<uint32_t>(CPU_COUNT_S(sizeof sets, sets)) : 0;
}

void FillProcess(trace::ProcessRecord* process) {
  process->pid = static_cast<uint32_t>(getpid());
  process->parent_pid = static_cast<uint32_t>(getppid());
  process->name = ProgramName();
  process->command_line = CommandLine();
  utsname host;
  if (uname(&host) == 0) process->host = Names().Intern(host.nodename);
  process->tracer_version = Names().Intern(GPROF_VERSION);
  process->capture_mode = CaptureModeText(Config());
  process->cores = UsableCores();
  FillRank(process);
}

}  // namespace

void SetOwnProcess(bool is_forked) {
  trace::ProcessRecord process;
  FillProcess(&process);
  process.start_ns = Header().start_ns;
  process.is_forked = is_forked;
  own_process = process;
}

void SetUsedCupti(const UsedCupti& used) {
  cupti = used;
  has_cupti.store(true, std::memory_order_release);
}

bool ProcessHasCupti() { return has_cupti.load(std::memory_order_acquire); }

bool IsOwnProcessKnown() { return own_process.pid != 0; }

void TakeOwnProcessFrom(const trace::ArenaHeader& header) {
  own_process.pid = header.pid;
  own_process.start_ns = header.start_ns;
}

void RetellProcess() { is_told = was_told_with_cupti = false; }

void TellProcess(DrainRound* round) {
  const bool is_with_cupti = ProcessHasCupti();
  if (round->depth == Depth::kReady || (is_told && is_with_cupti == was_told_with_cupti)) return;
  if (is_with_cupti) {
    own_process.cupti_path = cupti.path;
    own_process.cupti_version = cupti.version;
    own_process.driver_version = cupti.driver_version;
  }
  Output().Add(own_process);
  is_told = true;
  was_told_with_cupti = is_with_cupti;
}

// The writer thread says more of the child when it runs; should the child die before, this is what is known.
void ResetProcessAfterFork() {
  own_process = {};
  own_process.is_forked = 1;
  own_process.parent_pid = static_cast<uint32_t>(getppid());
  has_cupti.store(false, std::memory_order_relaxed);
  is_told = was_told_with_cupti = false;
}

trace::StringId ThreadName(uint32_t tid) {
  Message path;
  path << "/proc/self/task/" << tid << "/comm";
  char name[64];
  const auto n = ReadProcFile(path.c_str(), name, sizeof name);
  return n <= 0 ? trace::StringId{} : Names().Intern(name, static_cast<std::size_t>(n));
}

void FillRank(trace::ProcessRecord* process) {
  const trace::Rank found = trace::FindRank();
  if (found.variables == nullptr) return;
  process->rank = found.rank;
  process->local_rank = found.local_rank;
  process->world_size = found.world_size > 0 ? static_cast<uint32_t>(found.world_size) : 0;
  process->rank_source = Names().Intern(found.variables->starter);
}

}  // namespace gprof::tracer

#include "launch/salvage/salvage.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <string_view>
#include <utility>
#include <vector>

#include "collect/run/helper.h"
#include "gprof/trace/run_folder.h"
#include "launch/salvage/outbox_taker.h"
#include "launch/salvage/run_folder_files.h"
#include "launch/salvage/signal_action.h"

namespace gprof {
namespace {

constexpr std::size_t kMostJobs = 4;
constexpr int64_t kPollNs = 2'000'000, kSweepNs = 1'000'000'000, kOutboxNs = 20'000'000;
constexpr int kCannotLoad = 255;  // beyond every errno
constexpr rlim_t kSpareBytes = 1u << 30;

// Address space that this process has already.
rlim_t MappedBytes() {
  std::ifstream statm("/proc/self/statm");
  rlim_t pages = 0;
  statm >> pages;
  return pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE));
}

// What a damaged header may ask for must not cost the machine its memory.
void LimitMemory(uint64_t arena_bytes) {
  rlimit limit;
  if (getrlimit(RLIMIT_AS, &limit) != 0) return;
  const rlim_t wanted = MappedBytes() + 2 * static_cast<rlim_t>(arena_bytes) + kSpareBytes;
  limit.rlim_cur = std::min({limit.rlim_cur, limit.rlim_max, wanted});
  setrlimit(RLIMIT_AS, &limit);
}

// The launcher blocks signals; a crash must be one, and leave neither a core file nor a word on the terminal.
void Isolate(const ArenaClaim& claim, int64_t limit_ns) {
  sigset_t none;
  sigemptyset(&none);
  for (const int signal : {SIGALRM, SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGXFSZ}) {
    struct sigaction by_default = {};
    by_default.sa_handler = SIG_DFL;
    sigaction(signal, &by_default, nullptr);
  }
  sigprocmask(SIG_SETMASK, &none, nullptr);
  // Ctrl-C, and what is sent to the whole group, is meant for the program, and what is left of it is still wanted.
  for (const int signal : {SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGHUP, SIGUSR1, SIGUSR2, SIGPIPE})
    ::signal(signal, SIG_IGN);
  const rlimit no_core = {0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  LimitMemory(claim.size_bytes());
  // Ends this process also when the launcher is killed meanwhile.
  alarm(static_cast<unsigned>(limit_ns / 1'000'000'000 + 2));
  const int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (nowhere >= 0) {
    for (int i = 0; i < 3; ++i) dup2(nowhere, i);
  }
}

// What a program left may be made to mislead who reads it: for root, that is done by nobody. A container may have but
// one user; then there is none that files of others would be kept from.
bool GiveUpRights(const Arena& arena) {
  constexpr uid_t kNobody = 65534;
  if (geteuid() != 0) return true;
  const bool is_nobody = setgroups(0, nullptr) == 0 && setresgid(kNobody, kNobody, kNobody) == 0 &&
                         setresuid(kNobody, kNobody, kNobody) == 0;
  return is_nobody || !arena.is_of_other_user;
}

// What a collector left was written by this program, what a target left by its tracer.
int SalvageByTracer(const std::string& tracer, const ArenaClaim& claim, uint64_t died_ns, const TraceFile* trace) {
  void* const library = dlopen(tracer.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return kCannotLoad;
  const auto salvage = reinterpret_cast<trace::SalvageFunction*>(dlsym(library, trace::kSalvageFunction));
  // A tracer without it keeps nothing in arenas.
  if (salvage == nullptr) return 0;
  const int descriptor = geteuid() == 0 && trace != nullptr ? OpenTrace(*trace) : -1;
  if (descriptor < 0 && geteuid() == 0 && trace != nullptr) return errno;
  return GiveUpRights(claim.arena()) ? salvage(claim.descriptor(), died_ns, descriptor) : EPERM;
}

[[noreturn]] void SalvageAndExit(const SalvageOptions& options, const ArenaClaim& claim, uint64_t died_ns) {
  Isolate(claim, options.limit_ns);
  char* nothing[] = {nullptr};
  environ = nothing;
  const Arena& arena = claim.arena();
  const TraceFile* trace = options.traces->Find(arena.output_run);
  if (trace == nullptr) trace = options.traces->Last();
  const int error = arena.is_of_collector ? SalvageCollector(arena.path, died_ns)
                                          : SalvageByTracer(options.tracer, claim, died_ns, trace);
  _exit(error >= 0 && error <= kCannotLoad ? error : EIO);
}

std::string WhyNot(int status, bool is_late, int64_t limit_ns) {
  if (is_late) return "it took longer than " + std::to_string(limit_ns / 1'000'000'000) + " s";
  if (WIFSIGNALED(status)) {
    const char* const name = sigabbrev_np(WTERMSIG(status));
    return "it crashed (" + (name != nullptr ? std::string("SIG") + name : std::to_string(WTERMSIG(status))) + ")";
  }
  if (WEXITSTATUS(status) == kCannotLoad) return "cannot load the tracer";
  return strerror(WEXITSTATUS(status));
}

}  // namespace

Salvager::Salvager(std::string folder, SalvageOptions options)
    : folder_(std::move(folder)), options_(std::move(options)) {
  if (options_.traces == nullptr) options_.traces = &no_traces_;
}

Salvager::~Salvager() = default;

bool Salvager::WasCancelled(const Arena& arena) const {
  const auto dropped = dropped_.find(arena.path);
  return dropped != dropped_.end() && arena.epoch_done < dropped->second;
}

void Salvager::NoteLosses(uint64_t records, int error) {
  losses_.records += records;
  if (records != 0) losses_.error = error;
}

void Salvager::TakeChunksOf(const Arena& arena, bool is_living) {
  const TakenChunks taken = TakeOutbox(arena, *options_.traces);
  if (!is_living) return NoteLosses(taken.left_records, taken.error);
  has_outbox_ = has_outbox_ || arena.outbox_page != 0;
}

void Salvager::DropUnlessDone(uint32_t epoch) {
  dropped_.clear();
  for (const Arena& arena : ArenasIn(folder_)) dropped_.emplace(arena.path, epoch);
}

void Salvager::Sweep(bool knows_when) {
  has_more_ = has_outbox_ = false;
  knows_when_ = knows_when;
  const uint64_t died_ns = knows_when ? static_cast<uint64_t>(MonotonicNs()) : 0;
  for (const Arena& arena : ArenasIn(folder_)) {
    const auto is_at_work = [&arena](const Job& job) { return job.claim.arena().path == arena.path; };
    if (std::any_of(jobs_.begin(), jobs_.end(), is_at_work)) continue;
    std::optional<ArenaClaim> claim = ArenaClaim::Take(arena);
    if (!claim) {
      TakeChunksOf(arena, true);
      continue;
    }
    const Arena& left = claim->arena();
    const bool is_wanted = left.has_header && !WasCancelled(left);
    if (is_wanted) TakeChunksOf(left, false);
    if (!is_wanted || left.state == trace::ArenaState::kFinished) {
      if (is_wanted) NoteLosses(left.lost_records, static_cast<int>(left.write_error));
      claim->Delete();
    } else if (jobs_.size() < kMostJobs) {
      Begin(std::move(*claim), died_ns);
    } else {
      has_more_ = true;
      return;
    }
  }
}

void Salvager::Begin(ArenaClaim claim, uint64_t died_ns) {
  const pid_t pid = fork();
  if (pid == 0) SalvageAndExit(options_, claim, died_ns);
  if (pid < 0) return;  // there are too many processes: the next sweep tries again
  jobs_.push_back({std::move(claim), pid, MonotonicNs() + options_.limit_ns});
}

void Salvager::End(const Job& job, int status, bool is_late) {
  const Arena arena = job.claim.ReadAgain();
  NoteLosses(arena.lost_records, static_cast<int>(arena.write_error));
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
    ++recovered_;
  } else {
    options_.report_loss("unwritten data of process " + std::to_string(arena.pid) +
                         " could not be recovered: " + WhyNot(status, is_late, options_.limit_ns));
  }
  job.claim.Delete();
}

bool Salvager::Poll() {
  for (auto job = jobs_.begin(); job != jobs_.end();) {
    int status = 0;
    pid_t ended = waitpid(job->pid, &status, WNOHANG);
    const bool is_late = ended == 0 && MonotonicNs() > job->deadline_ns;
    if (is_late) {
      kill(job->pid, SIGKILL);
      ended = waitpid(job->pid, &status, 0);
    }
    if (ended == 0 || (ended < 0 && errno == EINTR)) {
      ++job;
      continue;
    }
    if (ended < 0) status = 0;
    End(*job, status, is_late);
    job = jobs_.erase(job);
  }
  if (has_more_ && jobs_.size() < kMostJobs) Sweep(knows_when_);
  return !jobs_.empty() || has_more_;
}

int64_t Salvager::Attend(int64_t now_ns) {
  Poll();
  if (now_ns >= next_sweep_ns_) {
    MakeSpareArenas(folder_);
    Sweep(true);
    next_sweep_ns_ = now_ns + (has_outbox_ ? kOutboxNs : kSweepNs);
  }
  // The end of a job wakes the launcher by SIGCHLD.
  int64_t until_ns = next_sweep_ns_;
  for (const Job& job : jobs_) until_ns = std::min(until_ns, job.deadline_ns);
  return until_ns;
}

void Salvager::Finish(bool knows_when) {
  Sweep(knows_when);
  while (Poll()) {
    const timespec pause = {0, kPollNs};
    nanosleep(&pause, nullptr);
  }
}

namespace {

bool HasLivingTarget(const std::vector<Arena>& arenas) {
  return std::any_of(arenas.begin(), arenas.end(),
                     [](const Arena& arena) { return !arena.is_of_collector && IsAlive(arena); });
}

// A tracer that was brought into a program that lives may be about to start there.
bool IsOfLivingAttachment(const FoundRun& run) {
  const std::string_view session = run.session;
  if (!session.starts_with(kAttachSession)) return false;
  const std::string pid(session.substr(kAttachSession.size()));
  return IsProcessAlive(static_cast<uint32_t>(std::strtoul(pid.c_str(), nullptr, 10)), 0);
}

// They end by themselves a moment after their launcher.
void AwaitCollectors(const std::string& folder) {
  constexpr int64_t kPatienceNs = 1'000'000'000;
  const int64_t deadline_ns = MonotonicNs() + kPatienceNs;
  const auto is_living = [](const Arena& arena) { return arena.is_of_collector && IsAlive(arena); };
  for (;;) {
    const std::vector<Arena> arenas = ArenasIn(folder);
    if (std::none_of(arenas.begin(), arenas.end(), is_living) || MonotonicNs() > deadline_ns) return;
    const timespec pause = {0, kPollNs};
    nanosleep(&pause, nullptr);
  }
}

}  // namespace

void RecoverDeadRuns(const std::vector<std::string>& bases, const SalvageOptions& options,
                     const std::function<void(const std::string&)>& say) {
  // Inherited as ignored, SIGCHLD would have the kernel throw away how the work ended.
  const SignalAction child_ended(SIGCHLD, SIG_DFL);
  for (const FoundRun& run : FindRuns(bases)) {
    const std::unique_ptr<RunClaim> claim = RunClaim::Take(run);
    if (!claim) continue;
    if (HasLivingTarget(ArenasIn(run.path)) || IsOfLivingAttachment(run)) continue;
    AwaitCollectors(run.path);
    SalvageOptions of_run = options;
    of_run.traces = &claim->traces();
    Salvager salvager(run.path, of_run);
    salvager.Finish(false);
    RemoveRunFolder(run.path);
    const TraceFile* const last = claim->traces().Last();
    const bool is_recorder = last != nullptr && last->path == run.path + "/" + trace::kRingFile;
    if (salvager.recovered() == 0 || is_recorder) continue;
    const std::size_t count = salvager.recovered();
    say("recovered unwritten data of " +
        (count == 1 ? std::string("a process") : std::to_string(count) + " processes") + " from an earlier run" +
        (last == nullptr ? "" : ", into '" + last->path + "'"));
  }
}

}  // namespace gprof

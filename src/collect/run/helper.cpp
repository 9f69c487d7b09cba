#include "collect/run/helper.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <fstream>
#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

#include "base/machine/descriptor.h"
#include "collect/run/control_view.h"
#include "collect/run/run_processes.h"
#include "collect/run/system_clocks.h"

namespace gprof {
namespace {

// The journal outlives its process, so that this is what a killed machine can lose; chunks are small if it is short.
constexpr int64_t kFlushNs = 5 * kSecondNs;
constexpr int64_t kNever = INT64_MAX;
constexpr int64_t kBellNs = 20'000'000;

// Until the bell rings, for `timeout_ns` at most.
void WaitForBell(std::atomic<uint32_t>* bell, uint32_t seen, int64_t timeout_ns) {
  const timespec timeout = {timeout_ns / kSecondNs, timeout_ns % kSecondNs};
  syscall(SYS_futex, bell, FUTEX_WAIT, seen, &timeout, nullptr, 0);
}

// A pipe that stays open here would keep others waiting for its end; the lock on the control page says that the
// launcher lives.
void CloseEverything() {
#ifdef SYS_close_range
  if (syscall(SYS_close_range, 3u, ~0u, 0u) == 0) return;
#endif
  // A kernel before 5.9. What is closed while it is being listed may hide another, so that is done twice.
  for (const int descriptor : NumbersIn("/proc/self/fd")) {
    if (descriptor > 2) close(descriptor);
  }
}

void TakeDefaultsFor(std::initializer_list<int> signals) {
  for (const int signal : signals) ::signal(signal, SIG_DFL);
}

void Isolate() {
  CloseEverything();
  const int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int i = 0; i < 3; ++i) nowhere < 0 ? close(i) : dup2(nowhere, i);
  if (nowhere > 2) close(nowhere);
  setsid();
  if (chdir("/") != 0) _exit(kCannotCollect);
  // A crash has to be one; what is meant for the program has to be nothing, as what is in memory is still wanted.
  TakeDefaultsFor({SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGCHLD});
  for (const int signal : {SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGHUP, SIGUSR1, SIGPIPE, SIGXFSZ})
    ::signal(signal, SIG_IGN);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  const rlimit no_core = {0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  rlimit files;
  if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
  }
  prctl(PR_SET_NAME, "gprof-collect");
  // The launcher's death cuts a wait short, and is seen then.
  struct sigaction wake = {};
  wake.sa_handler = [](int) {};
  sigaction(SIGUSR2, &wake, nullptr);
  prctl(PR_SET_PDEATHSIG, SIGUSR2);
  // A millisecond more or less does not matter here, and fewer wake-ups do.
  constexpr unsigned long kSlackNs = 1'000'000;
  prctl(PR_SET_TIMERSLACK, kSlackNs);
}

std::string ReasonPath(const std::string& run_folder, const CollectorKind& kind) {
  return run_folder + "/" + kind.name + ".reason";
}

void LeaveReason(const std::string& run_folder, const CollectorKind& kind, const std::string& why) {
  std::ofstream(ReasonPath(run_folder, kind), std::ios::binary) << why;
}

// What a helper does until the run is over.
class Helper {
 public:
  Helper(std::unique_ptr<Collector> collector, const RunView& run, pid_t launcher)
      : collector_(std::move(collector)),
        run_(run),
        launcher_(launcher),
        flush_step_ns_(run.flush_ns != 0 ? run.flush_ns : kFlushNs) {}

  int Run(const CollectorKind& kind) {
    std::string why;
    control_ = ControlView::Open(run_.folder);
    if (control_ != nullptr) journal_ = Journal::Create(run_.folder, kind.name, &why);
    if (journal_ == nullptr) return kNoJournal;
    if (!collector_->Start(run_, &why)) {
      journal_->Finish();
      if (why.empty()) return kNothingToCollect;
      LeaveReason(run_.folder, kind, why);
      return kCannotCollect;
    }
    journal_->SetMayBeAlone(run_.wants_untraced);
    // Once in any case: the program may have ended before this process came to look.
    do Attend();
    while (!IsOver());
    if (is_on_ && kind.tells_end) TellEndOfProgram();
    TurnOff(MonotonicNs());
    Flush(true);
    journal_->Finish();
    const std::string failure = collector_->Failure();
    if (failure.empty()) return error_;
    LeaveReason(run_.folder, kind, failure);
    return kCannotCollect;
  }

 private:
  void TellEndOfProgram() {
    const std::string failure = control_->FailureOfProgram();
    if (failure.empty()) return;
    journal_->Add(trace::NoticeRecord{static_cast<uint64_t>(MonotonicNs()),
                                      static_cast<uint8_t>(trace::NoticeLevel::kWarning),
                                      journal_->Name("The program " + failure)});
  }

  bool IsOver() const { return control_->RunHasEnded() || getppid() != launcher_; }

  void Attend() {
    trace::ArenaHeader& header = journal_->header();
    const uint32_t bell = header.bell.load(std::memory_order_acquire);
    int64_t now_ns = MonotonicNs();
    if (control_->Read(&order_)) Follow(now_ns);
    header.epoch_done.store(order_.epoch, std::memory_order_release);
    if (run_.follows_captures && FollowsTriggers()) FollowCaptures(now_ns);
    if (is_on_ && now_ns >= next_ns_) next_ns_ = collector_->Drain(now_ns, journal_.get());
    if (now_ns >= flush_ns_ || journal_->IsFilling()) Flush(false);
    now_ns = MonotonicNs();
    header.heartbeat_ns.store(static_cast<uint64_t>(now_ns), std::memory_order_relaxed);
    if (IsOver()) return;
    const int64_t until_ns = std::min(is_on_ ? std::min(next_ns_, flush_ns_) : kNever, now_ns + LongestWait());
    if (until_ns > now_ns && !WaitForCollector(until_ns - now_ns)) WaitForBell(&header.bell, bell, until_ns - now_ns);
  }

  // Nothing can wait for the bell and a descriptor: the bell is looked at now and then.
  bool WaitForCollector(int64_t timeout_ns) {
    const int descriptor = is_on_ ? collector_->Descriptor() : -1;
    if (descriptor < 0) return false;
    const timespec timeout = {0, std::min(timeout_ns, kBellNs)};
    pollfd event = {descriptor, POLLIN, 0};
    if (ppoll(&event, 1, &timeout, nullptr) > 0) next_ns_ = 0;
    return true;
  }

  // Nothing wakes this process when the launcher is gone, or when a program turns its own capture on.
  int64_t LongestWait() const { return run_.follows_captures ? kSecondNs / 20 : kSecondNs / 4; }

  void Follow(int64_t now_ns) {
    switch (order_.wish) {
      case trace::CaptureWish::kRecord:
        TurnOn(now_ns);
        break;
      case trace::CaptureWish::kTriggered:
        if (!run_.follows_captures) TurnOn(now_ns);
        break;
      case trace::CaptureWish::kFlush:
      case trace::CaptureWish::kLook:
        if (!run_.follows_captures) TurnOn(now_ns);
        if (is_on_ && order_.wish == trace::CaptureWish::kLook) collector_->Look(order_.epoch, now_ns, journal_.get());
        if (is_on_) next_ns_ = collector_->Drain(now_ns, journal_.get());
        Flush(false);
        break;
      case trace::CaptureWish::kIdle:
        TurnOff(now_ns);
        Flush(true);
        break;
      case trace::CaptureWish::kCancel:
        TurnOff(now_ns);
        journal_->Discard();
        break;
    }
  }

  bool FollowsTriggers() const {
    return order_.wish == trace::CaptureWish::kTriggered || order_.wish == trace::CaptureWish::kFlush ||
           order_.wish == trace::CaptureWish::kLook;
  }

  void FollowCaptures(int64_t now_ns) {
    if (IsAnyoneRecorded(run_.folder)) {
      TurnOn(now_ns);
    } else if (is_on_) {
      TurnOff(now_ns);
      Flush(true);
    }
  }

  void TurnOn(int64_t now_ns) {
    const bool is_same = journal_->output() == order_.output;
    if (is_on_ && is_same) return;
    if (!is_same) {
      Flush(true);
      collector_->Reset();
      journal_->Discard();
      journal_->SetOutput(order_.output);
    }
    is_on_ = true;
    on_since_ns_ = now_ns;
    journal_->header().state.store(static_cast<uint32_t>(trace::ArenaState::kRecording), std::memory_order_release);
    collector_->Switch(true, now_ns);
    next_ns_ = now_ns;
    flush_ns_ = now_ns + flush_step_ns_;
  }

  void TurnOff(int64_t now_ns) {
    if (!is_on_) return;
    is_on_ = false;
    collector_->Close(now_ns, journal_.get());
    collector_->Switch(false, now_ns);
    flush_ns_ = kNever;
    journal_->header().state.store(static_cast<uint32_t>(trace::ArenaState::kIdle), std::memory_order_release);
  }

  // A trace in which the program left nothing stays empty, which says more than its load would, unless the user wants
  // to know what ran without CUDA. So records wait until somebody else has written, as long as there is room for them.
  void Flush(bool is_last) {
    flush_ns_ = is_on_ ? MonotonicNs() + flush_step_ns_ : kNever;
    if (journal_->IsEmpty() && journal_->lost_records() == 0) return;
    if (IsStillEmpty(journal_->output())) {
      if (!is_last && !journal_->IsFilling()) return;
      if (!run_.wants_untraced) return Forget(is_last);
    }
    const int error = journal_->Write();
    if (error == 0) return;
    if (error_ == 0) error_ = error;
    collector_->Reset();
  }

  void Forget(bool is_last) {
    journal_->Discard();
    collector_->Reset();
    if (is_last) return;
    journal_->AddLoss(trace::MetricLossReason::kOverflow, on_since_ns_, MonotonicNs(), 0, 0);
  }

  std::unique_ptr<Collector> collector_;
  RunView run_;
  pid_t launcher_;
  std::unique_ptr<ControlView> control_;
  std::unique_ptr<Journal> journal_;
  ControlOrder order_;
  bool is_on_ = false;
  int64_t on_since_ns_ = 0;
  int64_t next_ns_ = 0, flush_ns_ = kNever, flush_step_ns_;
  int error_ = 0;  // the first
};

}  // namespace

std::string TakeReason(const std::string& run_folder, const CollectorKind& kind) {
  const std::string path = ReasonPath(run_folder, kind);
  std::ifstream file(path, std::ios::binary);
  std::string why;
  std::getline(file, why);
  unlink(path.c_str());
  return why;
}

pid_t StartHelper(const CollectorKind& kind, const CollectorOptions& options, const RunView& run) {
  const pid_t launcher = getpid();
  const pid_t pid = fork();
  if (pid != 0) return pid;
  int code = kCannotCollect;
  try {
    Isolate();
    code = Helper(kind.make(options), run, launcher).Run(kind);
  } catch (const std::exception&) {
    // Out of memory, most likely. What is in the journal is salvaged.
  }
  _exit(code);
}

int SalvageCollector(const std::string& journal_path, uint64_t died_ns) try {
  int error = 0;
  const std::unique_ptr<Journal> journal = Journal::Adopt(journal_path, &error);
  if (journal == nullptr) return error;
  const auto state = static_cast<trace::ArenaState>(journal->header().state.load(std::memory_order_acquire));
  if (state == trace::ArenaState::kFinished || journal->output().path.empty()) return 0;
  const CollectorKind* const kind = FindCollector(journal->collector());
  if (kind != nullptr) kind->make({})->Salvage(journal.get());
  // As in Flush(): there is nothing that this could belong to.
  if (IsStillEmpty(journal->output()) && !journal->may_be_alone()) return 0;
  error = journal->Write();
  // A capture that was over when it died lacks nothing.
  if (error != 0 || state != trace::ArenaState::kRecording) return error;
  const std::string title = kind == nullptr ? journal->collector() : kind->title;
  const uint64_t time_ns = died_ns != 0 ? died_ns : journal->header().heartbeat_ns.load(std::memory_order_relaxed);
  journal->Add(trace::NoticeRecord{
      time_ns, static_cast<uint8_t>(trace::NoticeLevel::kWarning),
      journal->Name("the process recording the " + title + " was killed: no data after this point")});
  return journal->Write();
} catch (const std::exception&) {
  return ENOMEM;
}

}  // namespace gprof

// Ends in every way a program can end, whatever it is doing. usage: exit_matrix HOW DOING
//   DOING  idle: nothing; threads: four threads make ranges and launches; gpu: kernels run and wait; graph: graphs do
// TEST_PROGRESS names the file that says what was done. With TEST_GO the end waits until that file exists.
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include <string>
#include <thread>

#include "cuda_work.h"
#include "progress.h"

namespace {

constexpr int kSteps = 40, kBusyThreads = 4, kQueuedLaunches = 10, kGraphLaunches = 4;
constexpr unsigned kSlotOfNext = 8;  // of the child, or of what is executed next
constexpr uint64_t kEnoughMarks = 100;

progress::Page* page = nullptr;
bool has_cuda = false;

nvtxEventAttributes_t Attributes(uint64_t number) {
  nvtxEventAttributes_t a = {};
  a.version = NVTX_VERSION;
  a.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  a.messageType = NVTX_MESSAGE_TYPE_ASCII;
  a.message.ascii = "step";
  a.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
  a.payload.ullValue = number;
  return a;
}

// A mark and a range with a launch in it. Both have the same number, which no other mark or range of the run has.
// False: the launch failed.
bool Step(unsigned slot_number, bool launches) {
  progress::Slot& slot = page->slots[slot_number];
  const nvtxEventAttributes_t attributes =
      Attributes((static_cast<uint64_t>(slot_number) << 32) | slot.marks.begun.load());
  progress::Count(slot.marks, [&] { nvtxMarkEx(&attributes); });
  progress::Count(slot.ranges, [&] { nvtxRangePushEx(&attributes); });
  int result = 0;
  if (launches) progress::Count(slot.launches, [&] { result = cuda_work::Launch(); });
  progress::Count(slot.pops, [] { nvtxRangePop(); });
  return result == 0;
}

void NoteSync(progress::Slot& slot) {
  const progress::Sync now = {0, slot.launches.done.load(), slot.graphs.done.load()};
  CHECK(cuda_work::Synchronize());
  const uint64_t i = slot.sync_count.load();
  slot.syncs[i % progress::kSyncs] = {progress::NowNs(), now.launches, now.graphs};
  slot.sync_count.store(i + 1);
}

void OpenSlot(unsigned slot_number) {
  page->slots[slot_number].pid = static_cast<uint32_t>(getpid());
  page->slots[slot_number].tid = facts::Tid();
}

void Steps(unsigned slot_number, bool launches) {
  OpenSlot(slot_number);
  for (int i = 0; i < kSteps; ++i) {
    if (!Step(slot_number, launches)) std::exit(99);
  }
  if (launches) NoteSync(page->slots[slot_number]);
}

[[noreturn]] void BeBusy(unsigned slot_number) {
  OpenSlot(slot_number);
  // While the process ends, CUDA goes away under its threads.
  while (Step(slot_number, has_cuda)) usleep(300);
  for (;;) pause();
}

void StartBusyThreads() {
  for (unsigned t = 1; t <= kBusyThreads; ++t) std::thread(BeBusy, t).detach();
  for (unsigned t = 1; t <= kBusyThreads; ++t) {
    while (page->slots[t].marks.done.load() < kEnoughMarks) usleep(1000);
  }
}

void Do(const std::string& what) {
  if (what == "threads") StartBusyThreads();
  progress::Slot& slot = page->slots[0];
  if (what == "gpu" && has_cuda) {
    progress::Count(slot.launches, [] { CHECK(cuda_work::LaunchLong()); });
    for (int i = 0; i < kQueuedLaunches; ++i) progress::Count(slot.launches, [] { CHECK(cuda_work::Launch()); });
  }
  if (what == "graph" && has_cuda) {
    for (int i = 0; i < kGraphLaunches; ++i) progress::Count(slot.graphs, [] { CHECK(cuda_work::LaunchGraph()); });
    slot.captured = static_cast<uint64_t>(cuda_work::CapturedLaunches());
  }
}

void WaitForGo() {
  const char* path = std::getenv("TEST_GO");
  while (path != nullptr && access(path, F_OK) != 0) usleep(2000);
}

int ForkAndExit() {
  const pid_t child = fork();
  if (child == 0) {
    Steps(kSlotOfNext, false);  // CUDA of the parent is of no use here
    _exit(5);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 5 ? 11 : 98;
}

[[noreturn]] void LeaveToAnotherThread() {
  std::thread([] {
    usleep(20000);
    Steps(kSlotOfNext, false);
    std::exit(8);
  }).detach();
  pthread_exit(nullptr);
}

[[noreturn]] void Raise(int signal) {
  kill(getpid(), signal);
  for (;;) pause();
}

int End(const std::string& how) {
  if (how == "return") return 3;
  if (how == "exit") std::exit(4);
  if (how == "_exit") _exit(5);
  if (how == "quick_exit") std::quick_exit(6);
  if (how == "abort") std::abort();
  if (how == "segv") Raise(SIGSEGV);
  if (how == "term") Raise(SIGTERM);
  if (how == "int") Raise(SIGINT);
  if (how == "kill") Raise(SIGKILL);
  if (how == "exec") {
    setenv("TEST_SLOT", std::to_string(kSlotOfNext).c_str(), 1);
    execl("/proc/self/exe", "exit_matrix", "return", "idle", nullptr);
  }
  if (how == "fork__exit") return ForkAndExit();
  if (how == "pthread_exit") LeaveToAnotherThread();
  return 97;
}

}  // namespace

int main(int argc, char** argv) {
  const char* path = std::getenv("TEST_PROGRESS");
  if (argc < 3 || path == nullptr) return 2;
  page = progress::Open(path);
  has_cuda = cuda_work::Open();
  const char* slot = std::getenv("TEST_SLOT");
  Steps(slot != nullptr ? static_cast<unsigned>(std::atoi(slot)) : 0, has_cuda);
  Do(argv[2]);
  facts::Say(R"({"fact":"ready","pid":%d,"cuda":%d})", static_cast<int>(getpid()), has_cuda ? 1 : 0);
  WaitForGo();
  for (progress::Slot& s : page->slots) s.marks_at_end.store(s.marks.done.load());
  return End(argv[1]);
}

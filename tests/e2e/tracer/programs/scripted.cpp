// Does what its arguments say, one after another. Every mark is also a line on stdout with its time, so that a test can
// compare what was recorded with when it was recorded.
//   mark NAME             an NVTX mark                          launch N         N launches and a synchronisation
//   push RANGE | pop R    range RANGE, or NAME@DOMAIN           rpush | rpop     the same with a registered string
//   start RANGE | end R   a range that any thread may end       rstart | rend    the same with a registered string
//   pstart | pstop        cudaProfilerStart, cudaProfilerStop   wait FILE        until that file exists
//   work FILE             a launch, a mark and a synchronisation again and again until that file exists
//   crowd FILE            the same on three threads at once
//   queue FILE            launches again and again until that file exists, and never waits
//   malloc N              allocates and frees N bytes           say TEXT         a line on stdout
//   exit CODE | term      leaves                               leave CODE       by _exit, once the tracer knows of that
//   fork                  goes on as its own child
//   user UID              goes on as another user          run COMMAND      has the shell run it
//   subscribe | finalize  calls cuptiSubscribe or cuptiFinalize as another profiler in the program would, says the
//   answer
#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <map>
#include <string>
#include <thread>
#include <vector>

#include "bench/import_slot.h"
#include "cuda_work.h"
#include "facts.h"

namespace {

// CUDA is opened when the script first asks for it.
void OpenCuda() {
  static const bool has_cuda = cuda_work::Open();
  if (!has_cuda) std::exit(98);
}

uint64_t NowNs() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

void GoOnAs(uid_t user) {
  CHECK(setgid(user));
  CHECK(setuid(user));
}

// The parent ends as its child does.
void GoOnAsChild() {
  const pid_t child = fork();
  if (child == 0) return;
  int status = 0;
  waitpid(child, &status, 0);
  std::_Exit(WIFEXITED(status) ? WEXITSTATUS(status) : 98);
}

struct Domain {
  nvtxDomainHandle_t handle = nullptr;
  std::map<std::string, nvtxStringHandle_t> strings;
};

struct Range {
  std::string name;
  Domain* domain;  // null: the default one
};

Range RangeOf(const std::string& text) {
  static std::map<std::string, Domain> domains;
  const size_t at = text.find('@');
  if (at == std::string::npos) return {text, nullptr};
  Domain& domain = domains[text.substr(at + 1)];
  if (domain.handle == nullptr) domain.handle = nvtxDomainCreateA(text.substr(at + 1).c_str());
  return {text.substr(0, at), &domain};
}

nvtxEventAttributes_t AttributesOf(const Range& range, bool is_registered) {
  static Domain plain;
  nvtxEventAttributes_t a = {};
  a.version = NVTX_VERSION;
  a.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  if (!is_registered) {
    a.messageType = NVTX_MESSAGE_TYPE_ASCII;
    a.message.ascii = range.name.c_str();
    return a;
  }
  Domain& domain = range.domain != nullptr ? *range.domain : plain;
  nvtxStringHandle_t& handle = domain.strings[range.name];
  if (handle == nullptr) handle = nvtxDomainRegisterStringA(domain.handle, range.name.c_str());
  a.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  a.message.registered = handle;
  return a;
}

void Push(const std::string& text, bool is_registered) {
  const Range range = RangeOf(text);
  const nvtxEventAttributes_t a = AttributesOf(range, is_registered);
  if (range.domain != nullptr) {
    nvtxDomainRangePushEx(range.domain->handle, &a);
  } else {
    is_registered ? nvtxRangePushEx(&a) : nvtxRangePushA(range.name.c_str());
  }
}

void Pop(const std::string& text) {
  const Range range = RangeOf(text);
  range.domain != nullptr ? nvtxDomainRangePop(range.domain->handle) : nvtxRangePop();
}

std::map<std::string, std::vector<nvtxRangeId_t>> started;

void Start(const std::string& text, bool is_registered) {
  const Range range = RangeOf(text);
  const nvtxEventAttributes_t a = AttributesOf(range, is_registered);
  nvtxDomainHandle_t domain = range.domain != nullptr ? range.domain->handle : nullptr;
  started[text].push_back(domain != nullptr ? nvtxDomainRangeStartEx(domain, &a)
                          : is_registered   ? nvtxRangeStartEx(&a)
                                            : nvtxRangeStartA(range.name.c_str()));
}

// On another thread, as programs with pipelines do.
void End(const std::string& text) {
  const nvtxRangeId_t id = started[text].back();
  started[text].pop_back();
  const Range range = RangeOf(text);
  std::thread([&] {
    range.domain != nullptr ? nvtxDomainRangeEnd(range.domain->handle, id) : nvtxRangeEnd(id);
  }).join();
}

void Mark(const std::string& name) {
  const uint64_t before = NowNs();
  nvtxMarkA(name.c_str());
  facts::Say(R"({"fact":"mark","name":"%s","pid":%d,"before_ns":%llu,"after_ns":%llu})", name.c_str(),
             static_cast<int>(getpid()), static_cast<unsigned long long>(before),
             static_cast<unsigned long long>(NowNs()));
}

void Launch(int count) {
  for (int i = 0; i < count; ++i) CHECK(cuda_work::Launch());
  CHECK(cuda_work::Synchronize());
}

// With the libcupti that is there, or else the one that the loader finds.
void* OpenCupti() {
  const char* name = std::getenv("TEST_CUPTI");
  void* cupti = name != nullptr ? dlopen(name, RTLD_NOW) : nullptr;
  if (cupti == nullptr) std::exit(98);
  return cupti;
}

void IgnoreCallback(void*, uint32_t, uint32_t, const void*) {}

void Subscribe() {
  using Function = int (*)(void**, void (*)(void*, uint32_t, uint32_t, const void*), void*);
  static void* subscriber = nullptr;
  const auto subscribe = reinterpret_cast<Function>(dlsym(OpenCupti(), "cuptiSubscribe"));
  facts::Say(R"({"fact":"subscribe","answer":%d})", subscribe(&subscriber, IgnoreCallback, nullptr));
}

void Finalize() {
  const auto finalize = reinterpret_cast<int (*)()>(dlsym(OpenCupti(), "cuptiFinalize"));
  if (finalize == nullptr) std::exit(96);
  facts::Say(R"({"fact":"finalize","answer":%d})", finalize());
}

bool DoPlain(const std::string& what) {
  if (what == "fork")
    GoOnAsChild();
  else if (what == "pstart")
    OpenCuda(), CHECK(cuda_work::ProfilerStart());
  else if (what == "pstop")
    OpenCuda(), CHECK(cuda_work::ProfilerStop());
  else if (what == "term")
    kill(getpid(), SIGTERM);
  else if (what == "subscribe")
    Subscribe();
  else if (what == "finalize")
    Finalize();
  else
    return false;
  return true;
}

void WorkUntil(const std::string& file) {
  for (OpenCuda(); access(file.c_str(), F_OK) != 0; usleep(200)) Launch(1), Mark("work");
}

// Steps that nobody is told of.
void StepUntil(const std::string& file) {
  for (OpenCuda(); access(file.c_str(), F_OK) != 0; usleep(200)) {
    nvtxRangePushA("step");
    Launch(1);
    nvtxRangePop();
  }
}

// More ranges than fit into a small budget, and no more than a test can read.
void StormUntil(const std::string& file) {
  for (OpenCuda(); access(file.c_str(), F_OK) != 0; usleep(1000)) {
    for (int i = 0; i < 20; ++i) nvtxRangePushA("storm"), nvtxRangePop();
    Launch(1);
  }
}

void CrowdUntil(const std::string& file) {
  OpenCuda();
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) threads.emplace_back(WorkUntil, file);
  for (std::thread& thread : threads) thread.join();
}

[[noreturn]] void Leave(int code) {
  for (int i = 0; i < 10'000 && !gprof::bench::LeadsToTracer("_exit"); ++i) usleep(1000);
  _exit(code);
}

void Do(const std::string& what, const std::string& argument) {
  if (what == "mark")
    Mark(argument);
  else if (what == "push" || what == "rpush")
    Push(argument, what[0] == 'r');
  else if (what == "pop" || what == "rpop")
    Pop(argument);
  else if (what == "start" || what == "rstart")
    Start(argument, what[0] == 'r');
  else if (what == "end" || what == "rend")
    End(argument);
  else if (what == "launch")
    OpenCuda(), Launch(std::atoi(argument.c_str()));
  else if (what == "malloc")
    OpenCuda(), CHECK(cuda_work::Allocate(static_cast<size_t>(std::atol(argument.c_str()))));
  else if (what == "wait")
    while (access(argument.c_str(), F_OK) != 0) usleep(2000);
  else if (what == "work")
    WorkUntil(argument);
  else if (what == "steps")
    StepUntil(argument);
  else if (what == "storm")
    StormUntil(argument);
  else if (what == "crowd")
    CrowdUntil(argument);
  else if (what == "queue")
    for (OpenCuda(); access(argument.c_str(), F_OK) != 0; usleep(500)) CHECK(cuda_work::Launch());
  else if (what == "say")
    facts::Say(R"({"fact":"said","text":"%s"})", argument.c_str());
  else if (what == "exit")
    std::exit(std::atoi(argument.c_str()));
  else if (what == "user")
    GoOnAs(static_cast<uid_t>(std::atoi(argument.c_str())));
  else if (what == "run")
    CHECK(std::system(argument.c_str()));
  else if (what == "leave")
    Leave(std::atoi(argument.c_str()));
  else
    std::exit(97);
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (DoPlain(argv[i])) continue;
    if (i + 1 >= argc) return 97;
    Do(argv[i], argv[i + 1]);
    ++i;
  }
  return 0;
}

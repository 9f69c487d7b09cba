// More of everything than any table of fixed size is likely to hold. usage: stress WHAT [N [M]]
//   threads N M   N threads one after another and M at once, each makes a mark with its number as payload
//   strings N     N marks with N texts                nested N    a stack of N ranges
//   unbalanced N  N ranges without an end, N ends without a range, on two threads
//   nofile        with a tracer at work, uses up every descriptor and goes on
//   chroot DIR    with a tracer at work, goes into DIR and goes on
//   wait FILE     marks, waits for the file, marks again
#include <fcntl.h>
#include <nvtx3/nvToolsExt.h>
#include <sys/resource.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "facts.h"

namespace {

constexpr int kMarks = 50;

void MarkNumber(uint64_t number) {
  nvtxEventAttributes_t a = {};
  a.version = NVTX_VERSION;
  a.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  a.messageType = NVTX_MESSAGE_TYPE_ASCII;
  a.message.ascii = "thread";
  a.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
  a.payload.ullValue = number;
  nvtxMarkEx(&a);
}

// How many there could be at once is what the machine allows; the test asks for as many marks as threads that ran.
void Threads(int one_by_one, int at_once) {
  for (int i = 0; i < one_by_one; ++i) std::thread(MarkNumber, static_cast<uint64_t>(i)).join();
  std::atomic<bool> is_go{false};
  std::atomic<size_t> begun{0};
  std::vector<std::thread> threads;
  try {
    for (int i = 0; i < at_once; ++i) {
      threads.emplace_back([i, one_by_one, &is_go, &begun] {
        MarkNumber(static_cast<uint64_t>(one_by_one + i));
        ++begun;
        is_go.wait(false);
      });
    }
  } catch (const std::system_error&) {
  }
  while (begun < threads.size()) usleep(1000);  // else those that come late need not wait
  is_go = true;
  is_go.notify_all();
  for (std::thread& t : threads) t.join();
  facts::Say(R"({"fact":"threads","count":%d})", one_by_one + static_cast<int>(threads.size()));
}

void Strings(int count) {
  char text[64];
  for (int i = 0; i < count; ++i) {
    std::snprintf(text, sizeof(text), "text number %d", i);
    nvtxMarkA(text);
  }
}

void Nested(int depth) {
  for (int i = 0; i < depth; ++i) nvtxRangePushA("nested");
  for (int i = 0; i < depth; ++i) nvtxRangePop();
}

void Unbalanced(int count) {
  for (int i = 0; i < count; ++i) nvtxRangePop();
  for (int i = 0; i < count; ++i) nvtxRangePushA("never popped");
  std::thread([count] {
    for (int i = 0; i < count; ++i) nvtxRangeStartA("never ended");
    for (int i = 0; i < count; ++i) nvtxRangeEnd(0xabcdef0000000000u + static_cast<uint64_t>(i));
    for (int i = 0; i < count; ++i) nvtxRangePop();
  }).join();
}

void Marks(const char* name) {
  for (int i = 0; i < kMarks; ++i) nvtxMarkA(name);
}

void UseUpDescriptors() {
  Marks("before");
  rlimit limit = {};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max < 256 ? limit.rlim_max : 256;
  setrlimit(RLIMIT_NOFILE, &limit);
  int opened = 0;
  while (open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0) ++opened;
  Marks("after");
  std::thread(Marks, "after").join();
  facts::Say(R"({"fact":"nofile","opened":%d})", opened);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  const int n = argc > 2 ? std::atoi(argv[2]) : 0, m = argc > 3 ? std::atoi(argv[3]) : 0;
  if (what == "threads")
    Threads(n, m);
  else if (what == "strings")
    Strings(n);
  else if (what == "nested")
    Nested(n);
  else if (what == "unbalanced")
    Unbalanced(n);
  else if (what == "nofile")
    UseUpDescriptors();
  else if (what == "chroot") {
    Marks("before");
    if (argc < 3 || chroot(argv[2]) != 0 || chdir("/") != 0) return 3;
    Marks("after");
  } else if (what == "wait") {
    Marks("before");
    facts::Say(R"({"fact":"ready","pid":%d})", static_cast<int>(getpid()));
    while (access(argv[2], F_OK) != 0) usleep(2000);
    Marks("after");
  } else {
    return 2;
  }
  return 7;
}

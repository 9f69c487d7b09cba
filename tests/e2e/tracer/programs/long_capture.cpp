// Records for as long as it is told to, and says what its memory is while it does. usage: long_capture EVENTS SAYS
// [RATE]
//   EVENTS  of NVTX, calls and work on the double's GPU together
//   SAYS    how often it says so
//   RATE    events a second; without it the program waits now and then until the trace that LONG_CAPTURE_TRACE names
//   has
//           all but the last 400,000: what is recorded and not written is bounded by that, however slow the machine is
#include <fcntl.h>
#include <nvtx3/nvToolsExt.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "cuda_work.h"
#include "facts.h"

namespace {

// A step: two ranges around two launches, and a wait now and then.
constexpr uint64_t kEventsOfStep = 2 * 2 + 2 * 2, kStepsOfWait = 64;
constexpr uint64_t kMostWaiting = 400'000, kEventsOfPace = 2'000;
constexpr int kPatienceS = 60;

double Now() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// KiB of a line of /proc/self/status.
long Status(const char* key) {
  std::FILE* file = std::fopen("/proc/self/status", "r");
  char line[256];
  long kib = -1;
  while (file != nullptr && std::fgets(line, sizeof line, file) != nullptr) {
    if (std::strncmp(line, key, std::strlen(key)) == 0) kib = std::strtol(line + std::strlen(key), nullptr, 10);
  }
  if (file != nullptr) std::fclose(file);
  return kib;
}

long long TraceBytes() {
  const char* path = std::getenv("LONG_CAPTURE_TRACE");
  struct stat found = {};
  return path != nullptr && stat(path, &found) == 0 ? found.st_size : -1;
}

void SayMemory(uint64_t events, double started) {
  facts::Say(R"({"fact":"memory","events":%llu,"anonymous_kib":%ld,"shared_kib":%ld,"trace_bytes":%lld,"ms":%.0f})",
             static_cast<unsigned long long>(events), Status("RssAnon:"), Status("RssShmem:"), TraceBytes(),
             (Now() - started) * 1e3);
}

void Step(uint64_t step) {
  nvtxRangePushA("step");
  CHECK(cuda_work::Launch());
  nvtxRangePushA(step % 2 == 0 ? "even" : "odd");
  CHECK(cuda_work::Launch());
  nvtxRangePop();
  nvtxRangePop();
  if (step % kStepsOfWait == 0) CHECK(cuda_work::Synchronize());
}

// Counts the records of a trace that grows, by the headers of its chunks (docs/trace-format.md).
class TraceFollower {
 public:
  TraceFollower() {
    const char* path = std::getenv("LONG_CAPTURE_TRACE");
    fd_ = path != nullptr && path[0] != 0 ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  }
  ~TraceFollower() {
    if (fd_ >= 0) close(fd_);
  }
  TraceFollower(const TraceFollower&) = delete;
  TraceFollower& operator=(const TraceFollower&) = delete;

  // Until there are as many; at once without a trace.
  void WaitFor(uint64_t records) {
    const double end = Now() + kPatienceS;
    while (fd_ >= 0 && Count() < records) {
      if (Now() > end) {
        std::fprintf(stderr, "%llu records are missing\n", static_cast<unsigned long long>(records - records_));
        std::exit(98);
      }
      usleep(1000);
    }
  }

 private:
  uint64_t Count() {
    struct Header {
      unsigned char before[14];
      uint16_t header_bytes;
      uint32_t records, body_bytes;
    } header;
    while (pread(fd_, &header, sizeof header, at_) == static_cast<ssize_t>(sizeof header)) {
      records_ += header.records;
      at_ += header.header_bytes + static_cast<off_t>(header.body_bytes);
    }
    return records_;
  }

  int fd_ = -1;
  off_t at_ = 0;
  uint64_t records_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3 || !cuda_work::Open()) return 97;
  const uint64_t most = std::strtoull(argv[1], nullptr, 10), says = std::strtoull(argv[2], nullptr, 10);
  const double rate = argc > 3 ? std::strtod(argv[3], nullptr) : 0;
  const double started = Now();
  uint64_t events = 0, said = 0;
  TraceFollower trace;
  SayMemory(0, started);
  for (uint64_t step = 0; events < most; ++step) {
    Step(step);
    events += kEventsOfStep;
    if (rate > 0 && events % kEventsOfPace < kEventsOfStep) {
      const double early = static_cast<double>(events) / rate - (Now() - started);
      if (early > 0) usleep(static_cast<useconds_t>(early * 1e6));
    }
    if (rate == 0 && events % kEventsOfPace < kEventsOfStep && events > kMostWaiting)
      trace.WaitFor(events - kMostWaiting);
    if ((events - said) * says >= most) {
      SayMemory(events, started);
      said = events;
    }
  }
  facts::Say(R"({"fact":"end","events":%llu,"steps":%llu})", static_cast<unsigned long long>(events),
             static_cast<unsigned long long>(events / kEventsOfStep));
  return 0;
}

// A picture pipeline on the CPU that tells a profiler what it does through NVTX: no GPU, no CUDA.
// Uses every common kind of annotation: ranges that nest, ranges that begin and end on different threads, marks,
// domains, categories, colours, payloads, registered strings, thread names.
#include <nvtx3/nvToolsExt.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "common/arguments.h"
#include "common/facts.h"

using namespace gprof::examples;

namespace {

constexpr std::size_t kSide = 512;
constexpr std::size_t kMarkEvery = 10;
constexpr std::uint32_t kReading = 1, kArithmetic = 2;  // categories of the domain "pictures"

using Picture = std::vector<std::uint32_t>;

// The domain and the string that all threads use; made once, because making them costs more than using them.
struct Annotations {
  nvtxDomainHandle_t pictures = nvtxDomainCreateA("pictures");
  nvtxStringHandle_t blur = nvtxDomainRegisterStringA(pictures, "blur");

  Annotations() {
    nvtxDomainNameCategoryA(pictures, kReading, "reading");
    nvtxDomainNameCategoryA(pictures, kArithmetic, "arithmetic");
  }
};

nvtxEventAttributes_t Attributes(std::uint32_t category, std::uint32_t color) {
  nvtxEventAttributes_t attributes{};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.category = category;
  attributes.colorType = NVTX_COLOR_ARGB;
  attributes.color = color;
  return attributes;
}

Picture Load(const Annotations& nvtx, std::size_t frame) {
  nvtxEventAttributes_t attributes = Attributes(kReading, 0xFF2E86AB);
  attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
  attributes.message.ascii = "load";
  attributes.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
  attributes.payload.ullValue = frame;
  nvtxDomainRangePushEx(nvtx.pictures, &attributes);
  Picture picture(kSide * kSide);
  std::uint32_t state = static_cast<std::uint32_t>(frame) * 2654435761u + 1;
  for (std::uint32_t& pixel : picture) pixel = (state = state * 1664525u + 1013904223u) >> 24;
  nvtxDomainRangePop(nvtx.pictures);
  return picture;
}

Picture Blur(const Annotations& nvtx, const Picture& in) {
  nvtxEventAttributes_t attributes = Attributes(kArithmetic, 0xFFA23B72);
  attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  attributes.message.registered = nvtx.blur;
  nvtxDomainRangePushEx(nvtx.pictures, &attributes);
  Picture out(in);
  for (std::size_t y = 1; y + 1 < kSide; ++y) {
    for (std::size_t x = 1; x + 1 < kSide; ++x) {
      std::uint32_t sum = 0;
      for (std::size_t k = 0; k < 9; ++k) sum += in[(y + k / 3 - 1) * kSide + x + k % 3 - 1];
      out[y * kSide + x] = sum / 9;
    }
  }
  nvtxDomainRangePop(nvtx.pictures);
  return out;
}

std::uint64_t Encode(const Picture& picture) {
  nvtxRangePushA("encode");
  std::uint64_t hash = 14695981039346656037u;
  for (const std::uint32_t pixel : picture) hash = (hash ^ pixel) * 1099511628211u;
  nvtxRangePop();
  return hash;
}

struct Frame {
  nvtxRangeId_t range = 0;  // from the hand-over by the main thread to the end of the work on it
  std::uint64_t hash = 0;
};

void WorkOnFrame(const Annotations& nvtx, std::size_t number, Frame& frame) {
  nvtxRangePushA("frame");
  frame.hash = Encode(Blur(nvtx, Load(nvtx, number)));
  if (number % kMarkEvery == 0) nvtxMarkA("checkpoint");
  nvtxRangePop();
  nvtxRangeEnd(frame.range);
}

void NameThread(const std::string& name) {
  nvtxNameOsThreadA(static_cast<std::uint32_t>(syscall(SYS_gettid)), name.c_str());
}

// Worker w of n takes the frames w, w + n, w + 2n, …
void Work(const Annotations& nvtx, std::size_t worker, std::size_t workers, std::vector<Frame>& frames) {
  NameThread("worker " + std::to_string(worker));
  for (std::size_t i = worker; i < frames.size(); i += workers) WorkOnFrame(nvtx, i, frames[i]);
}

bool WriteFacts(const std::string& path, std::size_t frame_count, std::size_t workers) {
  const auto frames = static_cast<std::int64_t>(frame_count);
  Facts facts;
  facts.AddCount("nvtx", "push_pop", 2 + 4 * frames);
  facts.AddCount("nvtx", "start_end", frames);
  facts.AddCount("nvtx", "mark", static_cast<std::int64_t>((frame_count + kMarkEvery - 1) / kMarkEvery));
  facts.AddCount("nvtx_ranges", "|hand out", 1);
  facts.AddCount("nvtx_ranges", "|join", 1);
  facts.AddCount("nvtx_ranges", "|frame", frames);
  facts.AddCount("nvtx_ranges", "|encode", frames);
  facts.AddCount("nvtx_ranges", "pictures|load", frames);
  facts.AddCount("nvtx_ranges", "pictures|blur", frames);
  facts.AddCount("nvtx_start_end", "|frame in flight", frames);
  facts.AddCount("nvtx_categories", "pictures|reading");
  facts.AddCount("nvtx_categories", "pictures|arithmetic");
  facts.AddCount("thread_names", "main");
  for (std::size_t w = 0; w < workers; ++w) facts.AddCount("thread_names", "worker " + std::to_string(w));
  return facts.Write(path, "nvtx_cpu");
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments(argc, argv, "nvtx_cpu [-n FRAMES] [-t THREADS] [--facts FILE]");
  const std::size_t frame_count = arguments.Number("-n", 120);
  const std::size_t worker_count = arguments.Number("-t", 3);
  const std::string facts_path = arguments.Text("--facts", "");
  arguments.Finish();

  const Annotations nvtx;
  NameThread("main");
  std::vector<Frame> frames(frame_count);
  nvtxRangePushA("hand out");
  for (Frame& frame : frames) frame.range = nvtxRangeStartA("frame in flight");
  std::vector<std::thread> workers;
  for (std::size_t w = 0; w < worker_count; ++w) {
    workers.emplace_back([&nvtx, &frames, w, worker_count] { Work(nvtx, w, worker_count, frames); });
  }
  nvtxRangePop();
  nvtxRangePushA("join");
  for (std::thread& worker : workers) worker.join();
  nvtxRangePop();

  std::uint64_t hash = 0;
  for (const Frame& frame : frames) hash = hash * 31 + frame.hash;
  std::printf("%zu pictures, checksum %016llx\n", frame_count, static_cast<unsigned long long>(hash));
  if (!facts_path.empty() && !WriteFacts(facts_path, frame_count, worker_count)) {
    std::fprintf(stderr, "cannot write %s\n", facts_path.c_str());
    return 1;
  }
  return 0;
}

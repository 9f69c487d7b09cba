#include "tracer/counters/request/wanted_counters.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "gprof/trace/counter_request.h"
#include "gprof/trace/env.h"
#include "tracer/core/notice.h"
#include "tracer/system/settings.h"
#include "tracer/system/system_calls.h"

namespace gprof::tracer {
namespace {

namespace words = trace::counter_request;

constinit CounterRequest request;
bool is_read = false;

uint32_t Number(const char* text) { return static_cast<uint32_t>(strtoul(text, nullptr, 10)); }

template <class T>
struct Word {
  const char* name;
  T value;
};
template <class T, std::size_t N>
T ValueOf(const char* text, const Word<T> (&all)[N]) {
  for (const Word<T>& word : all) {
    if (std::strcmp(word.name, text) == 0) return word.value;
  }
  return all[0].value;
}

template <uint32_t N>
void Append(const char* value, const char* (&list)[N], uint32_t* count) {
  if (*count < N) list[(*count)++] = value;
}

bool Lists(const char* words, const char* word) { return std::strstr(words, word) != nullptr; }

void BeginNvtxFilter(bool excludes, const char* words) {
  NvtxFilter* filter = request.nvtx.Add(excludes);
  if (filter == nullptr) return;
  filter->is_stack = Lists(words, "stack");
  filter->has_expressions = Lists(words, "regex");
  filter->is_from_bottom = Lists(words, "bottom");
  filter->is_to_top = Lists(words, "top");
}

void AddNvtxPart(NvtxPart::Kind kind, const char* text) {
  NvtxFilter* filter = request.nvtx.Last();
  if (filter != nullptr && filter->part_count < NvtxFilter::kMostParts)
    filter->parts[filter->part_count++] = {kind, text};
}

void TakeRangeLine(const char* word, const char* value) {
  const auto is = [&](const char* name) { return std::strcmp(word, name) == 0; };
  if (is(words::kNvtxInclude) || is(words::kNvtxExclude)) BeginNvtxFilter(is(words::kNvtxExclude), value);
  if (is(words::kNvtxDomain) && request.nvtx.Last() != nullptr) request.nvtx.Last()->domain = value;
  if (is(words::kNvtxRange)) AddNvtxPart(NvtxPart::Kind::kRange, value);
  if (is(words::kNvtxGap)) {
    AddNvtxPart(std::strcmp(value, "one") == 0 ? NvtxPart::Kind::kOne : NvtxPart::Kind::kAny, "");
  }
}

void TakeLine(const char* word, const char* value) {
  const auto is = [&](const char* name) { return std::strcmp(word, name) == 0; };
  constexpr Word<Replay> kReplays[] = {
      {"auto", Replay::kAuto}, {"none", Replay::kNone}, {"kernel", Replay::kKernel}, {"range", Replay::kRange}};
  constexpr Word<CountMode> kModes[] = {{"global", CountMode::kGlobal},
                                        {"per-gpu", CountMode::kPerGpu},
                                        {"per-launch-config", CountMode::kPerLaunchConfig}};
  constexpr Word<trace::ClockControl> kClockControls[] = {{"none", trace::ClockControl::kNone},
                                                          {"base", trace::ClockControl::kBase},
                                                          {"boost", trace::ClockControl::kBoost}};
  if (is(words::kMetric)) Append(value, request.metrics, &request.metric_count);
  if (is(words::kSet)) request.set = value;
  if (is(words::kReplay)) request.replay = ValueOf(value, kReplays);
  if (is(words::kKernel)) request.kernel = value;
  if (is(words::kKernelExpression)) request.kernel_expression = value;
  if (is(words::kNameBase)) request.compares_mangled = std::strcmp(value, "mangled") == 0;
  if (is(words::kKernelId)) request.kernel_id = value;
  if (is(words::kSkipBefore)) request.skip_before = Number(value);
  if (is(words::kSkip)) request.skip = Number(value);
  if (is(words::kCount)) request.count = Number(value);
  if (is(words::kMode)) request.mode = ValueOf(value, kModes);
  if (is(words::kGraphs)) request.measures_graphs = std::strcmp(value, "graph") == 0;
  if (is(words::kCaches)) request.flushes_caches = std::strcmp(value, "all") == 0;
  if (is(words::kClocks)) request.clocks = ValueOf(value, kClockControls);
  if (is(words::kKill)) request.ends_program = std::strcmp(value, "1") == 0;
  if (is(words::kDevice) && Number(value) < 64) request.devices |= uint64_t{1} << Number(value);
  if (is(words::kSampling)) {
    request.samples_instructions = true;
    request.sampling_period = Number(value);
  }
  if (is(words::kCodeFolder)) request.code_folder = value;
  if (is(words::kHangLimit)) request.hang_limit_ns = uint64_t{Number(value)} * 1'000'000'000;
}

// The whole file, with a zero behind it; null where it cannot be read.
char* ReadWhole(const char* path) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return nullptr;
  struct stat status;
  char* text = nullptr;
  if (fstat(fd, &status) == 0) {
    const auto size = static_cast<std::size_t>(status.st_size);
    text = static_cast<char*>(MapMemory(size + 1));
    std::size_t used = 0;
    while (text != nullptr && used < size) {
      const ssize_t n = read(fd, text + used, size - used);
      if (n <= 0) break;
      used += static_cast<std::size_t>(n);
    }
  }
  close(fd);
  return text;
}

void TakeLines(char* text) {
  for (char* line = text; *line != 0;) {
    char* end = std::strchr(line, '\n');
    if (end != nullptr) *end = 0;
    if (char* space = std::strchr(line, ' '); space != nullptr) {
      *space = 0;
      TakeLine(line, space + 1);
      TakeRangeLine(line, space + 1);
    }
    if (end == nullptr) return;
    line = end + 1;
  }
}

}  // namespace

const CounterRequest* TheCounterRequest() { return is_read ? &request : nullptr; }

CounterRequest* ReadCounterRequest() {
  if (is_read) return &request;
  const char* path = Setting(trace::env::kCounters);
  if (path == nullptr || path[0] != '/') return nullptr;
  char* text = ReadWhole(path);
  if (text == nullptr) {
    Message message;
    message << "no kernel counters: cannot read " << path;
    Say(trace::NoticeLevel::kWarning, message);
    return nullptr;
  }
  TakeLines(text);
  is_read = true;
  return &request;
}

}  // namespace gprof::tracer

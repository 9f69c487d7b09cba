#include "tracer/counters/request/launch_filter.h"

#include <regex.h>
#include <stdlib.h>

#include <cstring>

#include "tracer/core/notice.h"
#include "tracer/store/interned_names.h"
#include "tracer/system/system_calls.h"

namespace gprof::tracer {
namespace {

regex_t kernel_expression;
regex_t id_expression;

// ContextId:StreamId:[operation:]name:number, each of which may be empty.
struct KernelId {
  char context[32] = {}, stream[32] = {}, name[512] = {}, number[32] = {};
  bool is_expression = false;
};
KernelId kernel_id;

constexpr char kRegex[] = "regex:";

void SayNoExpression(const char* text) {
  Message message;
  message << "no kernel counters: '" << text << "' is not a valid regular expression";
  Say(trace::NoticeLevel::kWarning, message);
}

bool Compile(regex_t* expression, const char* text) {
  if (regcomp(expression, text, REG_EXTENDED | REG_NOSUB) == 0) return true;
  SayNoExpression(text);
  return false;
}

template <std::size_t N>
void CopyPart(const char* from, const char* to, char (&out)[N]) {
  std::size_t size = static_cast<std::size_t>(to - from);
  if (size >= N) size = N - 1;
  std::memcpy(out, from, size);
  out[size] = 0;
}

// Names may have colons in them, so the parts are taken from both ends.
bool ReadKernelId(const char* text) {
  const char* first = std::strchr(text, ':');
  const char* second = first == nullptr ? nullptr : std::strchr(first + 1, ':');
  const char* last = std::strrchr(text, ':');
  if (second == nullptr || last <= second) return false;
  CopyPart(text, first, kernel_id.context);
  CopyPart(first + 1, second, kernel_id.stream);
  const char* name = second + 1;
  kernel_id.is_expression = std::strncmp(name, kRegex, sizeof kRegex - 1) == 0;
  if (kernel_id.is_expression) name += sizeof kRegex - 1;
  CopyPart(name, last, kernel_id.name);
  CopyPart(last + 1, last + std::strlen(last), kernel_id.number);
  return !kernel_id.is_expression || Compile(&id_expression, kernel_id.name);
}

bool IsNumber(const char* wanted, uint32_t value) { return *wanted == 0 || strtoul(wanted, nullptr, 10) == value; }

NamePart ComparedName(const CounterRequest& request, const char* symbol) {
  if (request.compares_mangled) return {symbol, std::strlen(symbol)};
  return FunctionNameOf(symbol);
}

bool Matches(const regex_t& expression, NamePart name) {
  char text[4096];
  CopyPart(name.at, name.at + name.size, text);
  return regexec(&expression, text, 0, nullptr, 0) == 0;
}

bool IsName(const char* wanted, NamePart name) {
  return std::strlen(wanted) == name.size && std::memcmp(wanted, name.at, name.size) == 0;
}

// How often launches of a sort were seen: a table without removal.
struct Sort {
  uint64_t key;  // 0: free
  uint32_t count;
};
constexpr uint32_t kSorts = 1u << 16;
Sort* sorts = nullptr;

// Null when there are too many.
Sort* SortOf(uint64_t key) {
  if (sorts == nullptr) sorts = static_cast<Sort*>(MapMemory(kSorts * sizeof(Sort)));
  if (sorts == nullptr) return nullptr;
  if (key == 0) key = 1;
  for (uint32_t i = 0, at = static_cast<uint32_t>(key % kSorts); i < kSorts; ++i, at = (at + 1) % kSorts) {
    if (sorts[at].key == 0) sorts[at].key = key;
    if (sorts[at].key == key) return &sorts[at];
  }
  return nullptr;
}

uint64_t KeyOf(CountMode mode, const Launch& launch) {
  if (mode == CountMode::kGlobal) return 1;
  if (mode == CountMode::kPerGpu) return launch.device + 1;
  const uint32_t shape[] = {launch.grid[0],  launch.grid[1],  launch.grid[2], launch.block[0],
                            launch.block[1], launch.block[2], launch.device};
  return HashBytes(launch.symbol, std::strlen(launch.symbol)) * 31 + HashBytes(shape, sizeof shape);
}

bool Holds(const char* text, const char* word) { return text != nullptr && std::strstr(text, word) != nullptr; }

// They wait for other GPUs, which wait for them. Who names them wants them.
bool WaitsForOthers(const CounterRequest& request, const char* symbol) {
  for (const char* library : {"nccl", "nvshmem"}) {
    if (!Holds(symbol, library)) continue;
    if (Holds(request.kernel, library) || Holds(request.kernel_expression, library) ||
        Holds(request.kernel_id, library))
      continue;
    Message message;
    message << "kernels of NCCL and NVSHMEM are not measured, because they wait for other GPUs: -k regex:" << library
            << " measures them";
    Say(trace::NoticeLevel::kWarning, message);
    return true;
  }
  return false;
}

}  // namespace

bool LaunchFilter::Prepare(CounterRequest* wanted) {
  CounterRequest& request = *wanted;
  request_ = wanted;
  if (const char* bad = nullptr; !request.nvtx.Prepare(&bad)) {
    SayNoExpression(bad);
    return false;
  }
  if (request.kernel_expression != nullptr && !Compile(&kernel_expression, request.kernel_expression)) return false;
  if (request.kernel_id == nullptr || ReadKernelId(request.kernel_id)) return true;
  Message message;
  message << "no kernel counters: '" << request.kernel_id << "' is not a kernel id (context:stream:name:number)";
  Say(trace::NoticeLevel::kWarning, message);
  return false;
}

Choice LaunchFilter::Choose(const Launch& launch) {
  if (request_ == nullptr || ++launches_ <= request_->skip_before) return Choice::kLeftOut;
  if (request_->devices != 0 && (launch.device >= 64 || (request_->devices >> launch.device & 1) == 0))
    return Choice::kLeftOut;
  if (!TakesName(launch) || !request_->nvtx.Takes(launch.nvtx)) return Choice::kLeftOut;
  if (WaitsForOthers(*request_, launch.symbol) || !IsTheOne(launch)) return Choice::kLeftOut;
  return IsInCount(launch) ? Choice::kMeasured : Choice::kCounted;
}

bool LaunchFilter::TakesName(const Launch& launch) const {
  if (request_->kernel != nullptr) return IsName(request_->kernel, ComparedName(*request_, launch.symbol));
  return request_->kernel_expression == nullptr || Matches(kernel_expression, ComparedName(*request_, launch.symbol));
}

bool LaunchFilter::IsTheOne(const Launch& launch) {
  if (request_->kernel_id == nullptr) return true;
  const NamePart name = ComparedName(*request_, launch.symbol);
  if (!IsNumber(kernel_id.context, launch.context) || !IsNumber(kernel_id.stream, launch.stream)) return false;
  if (kernel_id.is_expression ? !Matches(id_expression, name) : kernel_id.name[0] != 0 && !IsName(kernel_id.name, name))
    return false;
  return IsNumber(kernel_id.number, ++same_);
}

bool LaunchFilter::IsInCount(const Launch& launch) {
  if (request_->skip == 0 && request_->count == 0) return true;
  Sort* sort = SortOf(KeyOf(request_->mode, launch));
  if (sort == nullptr) return false;
  const uint32_t number = ++sort->count;
  if (number <= request_->skip) return false;
  return request_->count == 0 || number - request_->skip <= request_->count;
}

}  // namespace gprof::tracer

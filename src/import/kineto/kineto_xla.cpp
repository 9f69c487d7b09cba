// What TensorFlow and JAX write (trace.json.gz of XLA's profiler): lanes are told by the names of their processes and
// threads, there are no categories, and facts are words in one text.
#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "import/kineto/kineto_import.h"
#include "import/shared/decimal.h"

namespace gprof {
namespace {

using trace::MemoryKind;

constexpr std::string_view kGpuProcess = "/device:GPU:", kHostProcess = "/host:CPU", kStreamThread = "Stream #",
                           kPythonFrame = "$";  // "$profiler.py:151 start_trace"

int64_t NumberAtFront(std::string_view text) {
  int64_t number = -1;
  const auto [stop, status] = std::from_chars(text.data(), text.data() + text.size(), number);
  return status == std::errc() && stop != text.data() ? number : -1;
}

// The value of "size" in "kind_src:pageable kind_dst:device size:8 dest:0 async:1".
std::string_view WordIn(std::string_view details, std::string_view key) {
  while (!details.empty()) {
    const std::string_view word = details.substr(0, details.find(' '));
    details.remove_prefix(std::min(details.size(), word.size() + 1));
    if (word.size() > key.size() && word.starts_with(key) && word[key.size()] == ':')
      return word.substr(key.size() + 1);
  }
  return {};
}

int64_t NumberOf(std::string_view details, std::string_view key) { return NumberAtFront(WordIn(details, key)); }

// "grid:4,1,1"
std::array<uint32_t, 3> DimIn(std::string_view details, std::string_view key) {
  std::array<uint32_t, 3> dim{};
  std::string_view text = WordIn(details, key);
  for (uint32_t& size : dim) {
    const int64_t number = NumberAtFront(text);
    if (number < 0 || number > 0xFFFFFFFFll) return {};
    size = static_cast<uint32_t>(number);
    text.remove_prefix(
        std::min(text.size(), text.find(',') == std::string_view::npos ? text.size() : text.find(',') + 1));
  }
  return dim;
}

MemoryKind MemoryIn(std::string_view details, std::string_view key) {
  std::string word(WordIn(details, key));
  std::transform(word.begin(), word.end(), word.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  constexpr std::pair<std::string_view, MemoryKind> kKinds[] = {{"pageable", MemoryKind::kPageable},
                                                                {"pinned", MemoryKind::kPinned},
                                                                {"device", MemoryKind::kDevice},
                                                                {"array", MemoryKind::kArray},
                                                                {"managed", MemoryKind::kManaged},
                                                                {"device_static", MemoryKind::kDeviceStatic},
                                                                {"managed_static", MemoryKind::kManagedStatic}};
  for (const auto& [name, kind] : kKinds) {
    if (word == name) return kind;
  }
  return MemoryKind::kUnknown;
}

// "MemcpyH2D" is HtoD.
std::string_view CopyKindIn(std::string_view name) {
  constexpr std::pair<std::string_view, std::string_view> kKinds[] = {
      {"H2D", "HtoD"}, {"D2H", "DtoH"}, {"D2D", "DtoD"}, {"P2P", "PtoP"}, {"H2H", "HtoH"}};
  for (const auto& [theirs, kinetos] : kKinds) {
    if (name.find(theirs) != std::string_view::npos) return kinetos;
  }
  return {};
}

// cuLaunchKernel, cudaMemcpyAsync, and not "current".
bool IsCallName(std::string_view name) {
  const std::string_view rest = name.substr(name.starts_with("cuda") ? 4 : name.starts_with("cu") ? 2 : name.size());
  return !rest.empty() && std::isupper(static_cast<unsigned char>(rest.front())) != 0;
}

struct XlaArgs {
  std::string_view kernel, copy, fill;
  int64_t correlation = -1, context = -1;
  bool is_about_memory = false;  // allocations, which have no time on the GPU
  bool has_device = false;
};

XlaArgs ReadXlaArgs(const JsonPiece& args) {
  XlaArgs read;
  JsonScanner(args.text).ReadObject([&](std::string_view key, const JsonPiece& value) {
    if (key == "kernel_details") read.kernel = value.text;
    if (key == "memcpy_details") read.copy = value.text;
    if (key == "Memset_details" || key == "memset_details") read.fill = value.text;
    if (key == "correlation_id" && value.IsNumber()) read.correlation = ReadDecimal(value.text).value_or(-1);
    read.has_device = read.has_device || key == "device_id";
    if (key == "context_id") {  // "$$1"
      const std::size_t digits = value.text.find_first_not_of('$');
      if (digits != std::string_view::npos) read.context = NumberAtFront(value.text.substr(digits));
    }
    read.is_about_memory = read.is_about_memory || key == "memalloc_details" || key == "MemFree_details" ||
                           key == "MemoryResidency_details";
  });
  return read;
}

// A call that launches something has the name of that in place of its own, so of its function only this much is known.
std::string FunctionOf(std::string_view name, const XlaArgs& xla) {
  if (xla.copy.empty() && xla.fill.empty()) return "cuLaunchKernel";
  const bool is_async = NumberOf(xla.copy.empty() ? xla.fill : xla.copy, "async") == 1;
  std::string function = xla.copy.empty() ? "cuMemsetD8" : "cuMemcpy" + std::string(CopyKindIn(name));
  return function + (is_async ? "Async" : "");
}

void SetCopy(std::string_view details, std::string_view name, KinetoArgs* args) {
  args->bytes = NumberOf(details, "size");
  args->is_async = NumberOf(details, "async");
  args->source_memory = MemoryIn(details, "kind_src");
  args->destination_memory = MemoryIn(details, "kind_dst");
  args->copy_kind = CopyKindIn(name);
  if (args->copy_kind != "PtoP") return;
  args->from_device = args->device;
  args->to_device = NumberOf(details, "dest");
}

void SetKernel(std::string_view details, KinetoArgs* args) {
  args->registers = NumberOf(details, "regs");
  const int64_t shared = std::max<int64_t>(NumberOf(details, "static_shared"), 0) +
                         std::max<int64_t>(NumberOf(details, "dynamic_shared"), 0);
  args->shared_bytes = shared;
  args->grid = DimIn(details, "grid");
  args->block = DimIn(details, "block");
}

}  // namespace

void KinetoImport::NoteXlaProcess(std::string_view name) { is_xla_ = is_xla_ || name.starts_with(kGpuProcess); }

// False: it is to be read as an event of any other program.
bool KinetoImport::TakeXla(Slice slice, uint64_t start_ns) {
  const Track& track = tracks_[slice.track];
  const auto process = process_names_.find(track.pid);
  if (process == process_names_.end()) return false;
  const std::string_view process_name = builder_.TextOf(process->second);
  if (process_name.starts_with(kHostProcess)) return TakeXlaCall(slice, start_ns);
  if (!process_name.starts_with(kGpuProcess)) return false;
  const auto thread = thread_names_.find({track.pid, track.tid});
  const std::string_view lane = thread == thread_names_.end() ? "" : builder_.TextOf(thread->second);
  const XlaArgs xla = ReadXlaArgs(slice.args);
  const bool is_stream = lane.starts_with(kStreamThread);
  const bool has_details = !xla.kernel.empty() || !xla.copy.empty() || !xla.fill.empty();
  // The other lanes of a GPU are made from its streams: "XLA Ops", "XLA Modules", "Steps".
  if (xla.is_about_memory || !(is_stream && (has_details || xla.correlation >= 0))) {
    Skip("events of lanes that XLA derives from streams");
    return true;
  }
  KinetoArgs args;
  args.device = NumberAtFront(process_name.substr(kGpuProcess.size()));
  args.stream = NumberAtFront(lane.substr(kStreamThread.size()));
  args.context = xla.context;
  args.correlation = xla.correlation;
  slice.category = !xla.copy.empty()   ? KinetoCategory::kMemcpy
                   : !xla.fill.empty() ? KinetoCategory::kMemset
                                       : KinetoCategory::kKernel;
  if (!xla.copy.empty()) SetCopy(xla.copy, builder_.TextOf(slice.name), &args);
  if (!xla.fill.empty()) {
    args.bytes = NumberOf(xla.fill, "num_bytes");
    args.is_async = NumberOf(xla.fill, "async");
    args.destination_memory = MemoryIn(xla.fill, "kind");
  }
  if (slice.category == KinetoCategory::kKernel) SetKernel(xla.kernel, &args);
  TakeGpuWork(slice, args, start_ns);
  return true;
}

bool KinetoImport::TakeXlaCall(Slice slice, uint64_t start_ns) {
  const std::string_view name = builder_.TextOf(slice.name);
  if (name.starts_with(kPythonFrame)) {
    // As torch.profiler keeps them apart; else they would stand between the ranges of the program.
    slice.category_text = builder_.Text("python_function");
    TakeRange(slice, start_ns, true, false);
    return true;
  }
  const XlaArgs xla = ReadXlaArgs(slice.args);
  const bool is_call_name = IsCallName(name);
  const bool is_launch = xla.correlation >= 0 && xla.has_device && !xla.is_about_memory;
  if (!is_call_name && !is_launch) return false;
  KinetoArgs args;
  args.correlation = xla.correlation;
  slice.category = name.starts_with("cuda") ? KinetoCategory::kRuntime : KinetoCategory::kDriver;
  if (!is_call_name) slice.name = builder_.Text(FunctionOf(name, xla));
  TakeCall(slice, args, start_ns);
  return true;
}

}  // namespace gprof

#include "import/kineto/kineto_events.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "base/text.h"
#include "import/shared/decimal.h"

namespace gprof {
namespace {

using trace::CopyKind;
using trace::MemoryKind;
using trace::SyncKind;

// Names with capitals are those of 2020 and 2021.
constexpr std::pair<std::string_view, KinetoCategory> kCategories[] = {
    {"kernel", KinetoCategory::kKernel},
    {"cpu_op", KinetoCategory::kRange},
    {"cuda_runtime", KinetoCategory::kRuntime},
    {"cuda_driver", KinetoCategory::kDriver},
    {"python_function", KinetoCategory::kRange},
    {"gpu_memcpy", KinetoCategory::kMemcpy},
    {"gpu_memset", KinetoCategory::kMemset},
    {"user_annotation", KinetoCategory::kRange},
    {"cuda_sync", KinetoCategory::kSync},
    {"overhead", KinetoCategory::kOverhead},
    {"gpu_graph", KinetoCategory::kGraph},
    {"gpu_user_annotation", KinetoCategory::kProjection},
    {"os_call", KinetoCategory::kProjection},  // of our own exports: no range of the program
    {"cuda_profiler_range", KinetoCategory::kProjection},
    {"Trace", KinetoCategory::kProjection},
    {"Kernel", KinetoCategory::kKernel},
    {"Memcpy", KinetoCategory::kMemcpy},
    {"Memset", KinetoCategory::kMemset},
    {"Runtime", KinetoCategory::kRuntime},
    {"Operator", KinetoCategory::kRange},
    {"Overhead", KinetoCategory::kOverhead},
};

void Set(const JsonPiece& value, int64_t* field) {
  if (!value.IsNumber()) return;
  if (const auto number = ReadDecimal(value.text); number && *number >= 0) *field = *number;
}

void SetBits(const JsonPiece& value, uint64_t* field) {
  if (!value.IsNumber()) return;
  if (const auto bits = ReadBits(value.text)) *field = *bits;
}

void SetDim(const JsonPiece& value, std::array<uint32_t, 3>* dim) {
  if (value.kind != JsonPiece::Kind::kArray) return;
  std::size_t at = 0;
  JsonScanner(value.text).ReadArray([&](const JsonPiece& element) {
    int64_t size = 0;
    Set(element, &size);
    if (at < dim->size() && size <= std::numeric_limits<uint32_t>::max()) (*dim)[at] = static_cast<uint32_t>(size);
    ++at;
  });
}

using Setter = void (*)(const JsonPiece&, KinetoArgs*);
struct Argument {
  std::string_view key;
  Setter set;
};

constexpr Argument kArguments[] = {
    {"device", [](const JsonPiece& v, KinetoArgs* a) { Set(v, &a->device); }},
    {"context", [](const JsonPiece& v, KinetoArgs* a) { Set(v, &a->context); }},
    {"stream", [](const JsonPiece& v, KinetoArgs* a) { Set(v, &a->stream); }},
    {"correlation", [](const JsonPiece& v, KinetoArgs* a) { Set(v, &a->correlation); }},
    {"bytes", [](const JsonPiece& v, KinetoArgs* a) { Set(v, &a->bytes); }},
    {"registers per thread", [](const JsonPiece& v, KinetoArgs* a) { Set(v, &a->registers); }},
    {"shared memory", [](const JsonPiece& v, KinetoArgs* a) { Set(v, &a->shared_bytes); }},
    {"grid", [](const JsonPiece& v, KinetoArgs* a) { SetDim(v, &a->grid); }},
    {"block", [](const JsonPiece& v, KinetoArgs* a) { SetDim(v, &a->block); }},
    {"cluster", [](const JsonPiece& v, KinetoArgs* a) { SetDim(v, &a->cluster); }},
    {"kind",
     [](const JsonPiece& v, KinetoArgs* a) {
       if (v.IsText()) a->copy_kind = v.text;
     }},
    {"graph id", [](const JsonPiece& v, KinetoArgs* a) { SetBits(v, &a->graph); }},
    {"graph node id", [](const JsonPiece& v, KinetoArgs* a) { SetBits(v, &a->graph_node); }},
    {"fromDevice", [](const JsonPiece& v, KinetoArgs* a) { Set(v, &a->from_device); }},
    {"inDevice", [](const JsonPiece& v, KinetoArgs* a) { Set(v, &a->device); }},
    {"toDevice", [](const JsonPiece& v, KinetoArgs* a) { Set(v, &a->to_device); }},
    {"inContext", [](const JsonPiece& v, KinetoArgs* a) { Set(v, &a->context); }},
    {"peer device", [](const JsonPiece& v, KinetoArgs* a) { Set(v, &a->peer_device); }},
    {"process", [](const JsonPiece& v, KinetoArgs* a) { Set(v, &a->process); }},
    {"asynchronous", [](const JsonPiece& v, KinetoArgs* a) { a->is_async = v.kind == JsonPiece::Kind::kTrue ? 1 : 0; }},
    {"result",
     [](const JsonPiece& v, KinetoArgs* a) {
       const auto n = ReadDecimal(v.text);
       if (n) a->result = *n;
       a->has_result = n.has_value();
     }},
    {"cuda_sync_kind",
     [](const JsonPiece& v, KinetoArgs* a) {
       if (v.IsText()) a->sync_kind = v.text;
     }},
    {"wait_on_cuda_event_id", [](const JsonPiece& v, KinetoArgs* a) { Set(v, &a->event); }},
    {"wait_on_stream", [](const JsonPiece& v, KinetoArgs* a) { Set(v, &a->waited_stream); }},
    {"wait_on_cuda_event_record_corr_id", [](const JsonPiece& v, KinetoArgs* a) { Set(v, &a->record_correlation); }},
};

// clang-format off
constexpr std::pair<std::string_view, CopyKind> kCopyKinds[] = {
    {"HtoD", CopyKind::kHostToDevice}, {"DtoH", CopyKind::kDeviceToHost},  {"DtoD", CopyKind::kDeviceToDevice},
    {"PtoP", CopyKind::kPeerToPeer},   {"HtoH", CopyKind::kHostToHost},    {"HtoA", CopyKind::kHostToArray},
    {"AtoH", CopyKind::kArrayToHost},  {"AtoA", CopyKind::kArrayToArray},  {"AtoD", CopyKind::kArrayToDevice},
    {"DtoA", CopyKind::kDeviceToArray}, {"HostToDevice", CopyKind::kHostToDevice},
    {"DeviceToHost", CopyKind::kDeviceToHost}, {"DeviceToDevice", CopyKind::kDeviceToDevice},
};
// clang-format on

// "Host" of AMD's captures may be either.
// clang-format off
constexpr std::pair<std::string_view, MemoryKind> kMemoryKinds[] = {
    {"Pageable", MemoryKind::kPageable}, {"Pinned", MemoryKind::kPinned},
    {"Device", MemoryKind::kDevice},     {"Array", MemoryKind::kArray},
    {"Managed", MemoryKind::kManaged},   {"Device Static", MemoryKind::kDeviceStatic},
    {"Managed Static", MemoryKind::kManagedStatic},
};
// clang-format on

template <class Table, class Value>
Value Find(const Table& table, std::string_view word, Value otherwise) {
  const auto at = std::find_if(std::begin(table), std::end(table), [&](const auto& row) { return row.first == word; });
  return at == std::end(table) ? otherwise : at->second;
}

// What is between the first "(" and the last ")".
std::string_view InParentheses(std::string_view name) {
  const std::size_t open = name.find('('), close = name.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return {};
  return name.substr(open + 1, close - open - 1);
}

// The word of a copy's name that says where it goes.
CopyKind KindIn(std::string_view text) {
  for (const auto& [word, kind] : kCopyKinds) {
    if (Contains(text, word)) return kind;
  }
  return CopyKind::kUnknown;
}

}  // namespace

KinetoCategory CategoryOf(std::string_view category) { return Find(kCategories, category, KinetoCategory::kOther); }

bool IsGpuWork(KinetoCategory category) {
  return category == KinetoCategory::kKernel || category == KinetoCategory::kMemcpy ||
         category == KinetoCategory::kMemset || category == KinetoCategory::kGraph;
}

KinetoArgs ReadKinetoArgs(const JsonPiece& args) {
  KinetoArgs read;
  if (args.kind != JsonPiece::Kind::kObject) return read;
  JsonScanner(args.text).ReadObject([&](std::string_view key, const JsonPiece& value) {
    const auto at = std::find_if(std::begin(kArguments), std::end(kArguments),
                                 [&](const Argument& argument) { return argument.key == key; });
    if (at != std::end(kArguments)) at->set(value, &read);
  });
  return read;
}

CopyEnds ReadCopyName(std::string_view name, std::string_view kind) {
  CopyEnds ends;
  const std::string_view inside = InParentheses(name);
  ends.kind = KindIn(name.substr(0, name.find('(')));
  if (ends.kind == CopyKind::kUnknown) ends.kind = KindIn(kind);
  constexpr std::string_view kArrow = " -> ";
  const std::size_t arrow = inside.find(kArrow);
  if (arrow == std::string_view::npos) return ends;
  ends.source = Find(kMemoryKinds, inside.substr(0, arrow), MemoryKind::kUnknown);
  ends.destination = Find(kMemoryKinds, inside.substr(arrow + kArrow.size()), MemoryKind::kUnknown);
  return ends;
}

MemoryKind ReadMemsetName(std::string_view name) {
  return Find(kMemoryKinds, InParentheses(name), MemoryKind::kUnknown);
}

SyncKind ReadSyncKind(std::string_view kind) {
  if (Contains(kind, "Wait")) return SyncKind::kStreamWaitEvent;
  if (Contains(kind, "Event")) return SyncKind::kEvent;
  if (Contains(kind, "Stream")) return SyncKind::kStream;
  if (Contains(kind, "Context") || Contains(kind, "Device")) return SyncKind::kContext;
  return SyncKind::kUnknown;
}

uint32_t ReadOverheadName(std::string_view name) {
  if (Contains(name, "Compiler")) return 1;
  if (Contains(name, "Flush")) return 1u << 16;
  if (Contains(name, "Instrumentation")) return 2u << 16;
  if (Contains(name, "Resource")) return 3u << 16;
  if (Contains(name, "Module Loading")) return 4u << 16;
  if (Contains(name, "Lazy Function")) return 5u << 16;
  if (Contains(name, "Command Buffer Full")) return 6u << 16;
  if (Contains(name, "Activity Buffer Request")) return 7u << 16;
  return 0;
}

}  // namespace gprof

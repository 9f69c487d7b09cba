#include "trace_maker.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <tuple>

namespace gprof::test {
namespace {

template <class List, class Less>
std::vector<uint32_t> SortAndRenumber(List* items, Less less) {
  std::vector<uint32_t> order(items->size()), new_index(items->size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return less((*items)[a], (*items)[b]); });
  List sorted;
  for (uint32_t i = 0; i < order.size(); ++i) {
    new_index[order[i]] = i;
    sorted.push_back((*items)[order[i]]);
  }
  *items = std::move(sorted);
  return new_index;
}

template <class List, class KeyOf>
std::vector<Trace::Slice> SlicesOf(const List& sorted, size_t count, KeyOf key_of) {
  std::vector<Trace::Slice> slices(count);
  uint32_t at = 0;
  for (size_t key = 0; key < count; ++key) {
    slices[key].first = at;
    while (at < sorted.size() && key_of(sorted[at]) == key) ++at;
    slices[key].last = at;
  }
  return slices;
}

void Renumber(uint32_t* index, const std::vector<uint32_t>& new_index) {
  if (*index != kNone) *index = new_index[*index];
}

}  // namespace

ApiClass ClassOf(std::string_view function) {
  const auto has = [&](std::string_view part) { return function.find(part) != std::string_view::npos; };
  if (has("GraphLaunch")) return ApiClass::kGraphLaunch;
  if (has("Launch")) return ApiClass::kLaunch;
  if (has("Memcpy")) return ApiClass::kCopy;
  if (has("Memset")) return ApiClass::kMemset;
  if (has("Synchronize")) return ApiClass::kSync;
  if (has("Malloc") || has("Free")) return ApiClass::kMemory;
  if (has("Module")) return ApiClass::kLoad;
  if (has("Query")) return ApiClass::kQuery;
  return ApiClass::kOther;
}

TraceMaker::TraceMaker() {
  Name("");
  AddProcess(100);
  AddThread(0, 100, "main");
  AddDevice(0);
}

NameId TraceMaker::Name(std::string_view text) {
  const auto [found, is_new] = names_.try_emplace(std::string(text), static_cast<uint32_t>(trace_.strings.size()));
  if (is_new) trace_.strings.emplace_back(text);
  return NameId{found->second};
}

uint32_t TraceMaker::AddProcess(uint32_t pid, int64_t start_ns) {
  Process process;
  process.pid = pid;
  process.start_ns = start_ns;
  process.has_end = true;
  trace_.processes.push_back(process);
  return static_cast<uint32_t>(trace_.processes.size() - 1);
}

uint32_t TraceMaker::AddThread(uint32_t process, uint32_t tid, std::string_view name) {
  trace_.threads.push_back({process, tid, Name(name)});
  return static_cast<uint32_t>(trace_.threads.size() - 1);
}

uint32_t TraceMaker::AddDevice(uint32_t ordinal) {
  Device device;
  device.process = 0;
  device.ordinal = ordinal;
  device.name = Name("Test GPU");
  trace_.devices.push_back(device);
  return static_cast<uint32_t>(trace_.devices.size() - 1);
}

uint32_t TraceMaker::AddStream(uint32_t id, bool is_created, uint32_t names_given, uint32_t process) {
  Stream stream;
  stream.process = process;
  stream.device = 0;
  stream.id = id;
  stream.is_created = is_created;
  stream.is_default = !is_created;
  stream.names_given = names_given;
  trace_.streams.push_back(stream);
  return static_cast<uint32_t>(trace_.streams.size() - 1);
}

uint32_t TraceMaker::AddCall(int64_t start_ns, int64_t end_ns, std::string_view function, uint32_t thread) {
  ApiCall call;
  call.start_ns = start_ns;
  call.end_ns = end_ns;
  call.thread = thread;
  call.process = trace_.threads[thread].process;
  call.function = Name(function);
  call.api_class = ClassOf(function);
  calls_.push_back(call);
  return static_cast<uint32_t>(calls_.size() - 1);
}

uint32_t TraceMaker::AddInnerCall(int64_t start_ns, int64_t end_ns, std::string_view function, uint32_t parent) {
  const uint32_t call = AddCall(start_ns, end_ns, function, calls_[parent].thread);
  calls_[call].parent = parent;
  calls_[call].domain = trace::ApiDomain::kDriver;
  return call;
}

GpuOp& TraceMaker::AddOp(OpKind kind, int64_t start_ns, int64_t end_ns, uint32_t call) {
  GpuOp op;
  op.kind = kind;
  op.start_ns = start_ns;
  op.end_ns = end_ns;
  op.device = 0;
  op.process = call == kNone ? 0 : calls_[call].process;
  op.api = call;
  if (call != kNone) ++calls_[call].op_count;
  ops_.push_back(op);
  return ops_.back();
}

GpuOp& TraceMaker::AddKernel(int64_t start_ns, int64_t end_ns, uint32_t call, std::string_view name) {
  const NameId id = Name(name);
  GpuOp& op = AddOp(OpKind::kKernel, start_ns, end_ns, call);
  op.name = id;
  return op;
}

GpuOp& TraceMaker::AddCopy(int64_t start_ns, int64_t end_ns, uint64_t bytes, trace::CopyKind kind, uint32_t call) {
  using trace::CopyKind;
  using trace::MemoryKind;
  GpuOp& op = AddOp(OpKind::kMemcpy, start_ns, end_ns, call);
  op.size_bytes = bytes;
  op.copy_kind = kind;
  op.source_memory = kind == CopyKind::kHostToDevice ? MemoryKind::kPinned : MemoryKind::kDevice;
  op.destination_memory = kind == CopyKind::kDeviceToHost ? MemoryKind::kPinned : MemoryKind::kDevice;
  op.is_async = true;
  return op;
}

GpuOp& TraceMaker::AddPageable(int64_t start_ns, int64_t end_ns, uint64_t bytes, uint32_t call) {
  GpuOp& op = AddCopy(start_ns, end_ns, bytes, trace::CopyKind::kHostToDevice, call);
  op.source_memory = trace::MemoryKind::kPageable;
  op.is_async = false;
  return op;
}

GpuOp& TraceMaker::AddFill(int64_t start_ns, int64_t end_ns, uint64_t bytes, uint32_t call) {
  GpuOp& op = AddOp(OpKind::kMemset, start_ns, end_ns, call);
  op.size_bytes = bytes;
  op.destination_memory = trace::MemoryKind::kDevice;
  op.is_async = true;
  return op;
}

GpuOp& TraceMaker::Launch(int64_t call_start_ns, int64_t call_end_ns, int64_t start_ns, int64_t end_ns,
                          uint32_t thread) {
  return AddKernel(start_ns, end_ns, AddCall(call_start_ns, call_end_ns, "cudaLaunchKernel", thread));
}

void TraceMaker::AddCapture(int64_t start_ns, int64_t end_ns, uint32_t process) {
  Capture capture;
  capture.start_ns = start_ns;
  capture.end_ns = end_ns;
  capture.process = process;
  capture.trigger = capture.end_trigger = trace::CaptureTrigger::kCommand;
  trace_.captures.push_back(capture);
}

NvtxRange& TraceMaker::AddRange(int64_t start_ns, int64_t end_ns, std::string_view path, uint32_t thread) {
  NvtxRange range;
  range.start_ns = start_ns;
  range.end_ns = end_ns;
  range.thread = range.end_thread = thread;
  range.path = Name(path);
  range.name = Name(path.substr(path.rfind('/') + 1));
  ranges_.push_back(range);
  return ranges_.back();
}

Sync& TraceMaker::AddSync(int64_t start_ns, int64_t end_ns, trace::SyncKind kind, uint32_t call, uint32_t stream) {
  Sync sync;
  sync.start_ns = start_ns;
  sync.end_ns = end_ns;
  sync.kind = kind;
  sync.api = call;
  sync.stream = stream;
  sync.process = 0;
  sync.thread = call == kNone ? kNone : calls_[call].thread;
  trace_.syncs.push_back(sync);
  return trace_.syncs.back();
}

void TraceMaker::AddOverhead(int64_t start_ns, int64_t end_ns, uint32_t kind, uint32_t thread) {
  trace_.overheads.push_back({start_ns, end_ns, 0, thread, kind});
}

void TraceMaker::AddJit(int64_t start_ns, int64_t end_ns, uint32_t thread) {
  Jit jit;
  jit.start_ns = start_ns;
  jit.end_ns = end_ns;
  jit.thread = thread;
  trace_.jits.push_back(jit);
}

std::vector<uint32_t> TraceMaker::SortCalls() {
  return SortAndRenumber(&calls_, [](const ApiCall& a, const ApiCall& b) {
    return std::make_tuple(a.thread, a.start_ns, -a.end_ns) < std::make_tuple(b.thread, b.start_ns, -b.end_ns);
  });
}

std::vector<uint32_t> TraceMaker::SortRanges() {
  return SortAndRenumber(&ranges_, [](const NvtxRange& a, const NvtxRange& b) {
    return std::make_tuple(a.thread, a.start_ns, -a.end_ns) < std::make_tuple(b.thread, b.start_ns, -b.end_ns);
  });
}

// The innermost open push/pop range is the one entered last.
void TraceMaker::NestRanges() {
  const auto innermost = [&](uint32_t thread, int64_t time_ns, uint32_t before) {
    uint32_t best = kNone;
    const Trace::Slice slice = trace_.thread_ranges[thread];
    for (uint32_t i = slice.first; i < std::min(slice.last, before); ++i) {
      const NvtxRange& range = ranges_[i];
      if (range.is_push_pop && range.start_ns <= time_ns && time_ns < range.end_ns) best = i;
    }
    return best;
  };
  for (uint32_t i = 0; i < ranges_.size(); ++i) {
    if (ranges_[i].is_push_pop) ranges_[i].parent = innermost(ranges_[i].thread, ranges_[i].start_ns, i);
  }
  for (ApiCall& call : calls_) call.range = innermost(call.thread, call.start_ns, kNone);
}

void TraceMaker::SortOps() {
  std::stable_sort(ops_.begin(), ops_.end(), [](const GpuOp& a, const GpuOp& b) {
    return std::make_tuple(a.device, a.start_ns, a.end_ns) < std::make_tuple(b.device, b.start_ns, b.end_ns);
  });
}

void TraceMaker::SetSpan() {
  bool is_first = true;
  const auto extend = [&](int64_t start_ns, int64_t end_ns) {
    trace_.start_ns = is_first ? start_ns : std::min(trace_.start_ns, start_ns);
    trace_.end_ns = is_first ? end_ns : std::max(trace_.end_ns, end_ns);
    is_first = false;
  };
  for (const GpuOp& op : ops_) extend(op.start_ns, op.end_ns);
  for (const ApiCall& call : calls_) extend(call.start_ns, call.end_ns);
  for (const NvtxRange& range : ranges_) extend(range.start_ns, range.end_ns);
}

Trace TraceMaker::Finish() {
  const std::vector<uint32_t> new_call = SortCalls();
  for (ApiCall& call : calls_) Renumber(&call.parent, new_call);
  for (GpuOp& op : ops_) Renumber(&op.api, new_call);
  for (Sync& sync : trace_.syncs) Renumber(&sync.api, new_call);
  for (MemoryEvent& event : trace_.memory_events) Renumber(&event.api, new_call);
  for (GraphNode& node : trace_.graph_nodes) Renumber(&node.api, new_call);
  SortRanges();
  SortOps();
  const auto by_start = [](const auto& a, const auto& b) { return a.start_ns < b.start_ns; };
  std::stable_sort(trace_.syncs.begin(), trace_.syncs.end(), by_start);
  std::stable_sort(trace_.overheads.begin(), trace_.overheads.end(), by_start);
  std::stable_sort(trace_.jits.begin(), trace_.jits.end(), by_start);
  std::stable_sort(trace_.managed_memory.begin(), trace_.managed_memory.end(), by_start);
  std::stable_sort(trace_.captures.begin(), trace_.captures.end(),
                   [](const Capture& a, const Capture& b) { return a.process < b.process; });
  trace_.process_captures =
      SlicesOf(trace_.captures, trace_.processes.size(), [](const Capture& c) { return c.process; });
  trace_.thread_api_calls = SlicesOf(calls_, trace_.threads.size(), [](const ApiCall& call) { return call.thread; });
  trace_.thread_ranges = SlicesOf(ranges_, trace_.threads.size(), [](const NvtxRange& range) { return range.thread; });
  trace_.device_ops = SlicesOf(ops_, trace_.devices.size(), [](const GpuOp& op) { return op.device; });
  NestRanges();
  SetSpan();
  trace_.api_calls = {};
  for (const ApiCall& call : calls_) trace_.api_calls.push_back(call);
  trace_.ops = {};
  for (const GpuOp& op : ops_) trace_.ops.push_back(op);
  trace_.ranges = {};
  for (const NvtxRange& range : ranges_) trace_.ranges.push_back(range);
  for (Process& process : trace_.processes) {
    if (process.end_ns == 0) process.end_ns = trace_.end_ns;
  }
  return trace_;
}

bool HasMetric(const AnalysisResult& result, std::string_view id, std::string_view scope) {
  return std::any_of(result.metrics.begin(), result.metrics.end(),
                     [&](const Metric& metric) { return metric.id == id && metric.scope == scope; });
}

double MetricOf(const AnalysisResult& result, std::string_view id, std::string_view scope) {
  for (const Metric& metric : result.metrics) {
    if (metric.id == id && metric.scope == scope) return metric.value;
  }
  ADD_FAILURE() << "no metric " << id << "@" << scope;
  return -1;
}

const Table& TableOf(const AnalysisResult& result, std::string_view id) {
  for (const Table& table : result.tables) {
    if (table.id == id) return table;
  }
  ADD_FAILURE() << "no table " << id;
  static const Table kNoTable;
  return kNoTable;
}

const Cell& CellOf(const Table& table, size_t row, std::string_view key) {
  static const Cell kNoCell;
  for (size_t i = 0; i < table.columns.size(); ++i) {
    if (table.columns[i].key == key && row < table.rows.size()) return table.rows[row][i];
  }
  ADD_FAILURE() << "table " << table.id << " has no cell " << row << " " << key;
  return kNoCell;
}

template <class T>
T Get(const Table& table, size_t row, std::string_view key) {
  const T* value = std::get_if<T>(&CellOf(table, row, key));
  if (value != nullptr) return *value;
  ADD_FAILURE() << "cell " << row << " " << key << " of " << table.id << " has another type";
  return T{};
}

int64_t IntOf(const Table& table, size_t row, std::string_view key) { return Get<int64_t>(table, row, key); }
double RealOf(const Table& table, size_t row, std::string_view key) { return Get<double>(table, row, key); }
std::string TextOf(const Table& table, size_t row, std::string_view key) { return Get<std::string>(table, row, key); }

int64_t SumOf(const Table& table, std::string_view key) {
  int64_t sum = 0;
  for (size_t row = 0; row < table.rows.size(); ++row) sum += IntOf(table, row, key);
  return sum;
}

const Finding* FindingOf(const AnalysisResult& result, std::string_view id) {
  for (const Finding& finding : result.findings) {
    if (finding.id == id) return &finding;
  }
  return nullptr;
}

std::string WordsOf(const Finding* finding) {
  std::string words = finding->message;
  for (const std::string& line : finding->evidence) words += " | " + line;
  return words;
}

}  // namespace gprof::test

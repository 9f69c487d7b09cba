#include "report/nsys/nsys_reports.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "analysis/facts/operations/transfers.h"
#include "analysis/facts/shared_facts.h"
#include "analysis/result/statistics.h"
#include "analysis/result/tables.h"
#include "report/nsys/nsys_recipes.h"

namespace gprof {
namespace {

// A table of ours that begins with the columns of TimeColumns() and a name.
struct Derived {
  std::string_view report, analysis, table;
  const char* counted;
};
constexpr Derived kKernelSum{"cuda_gpu_kern_sum", "kernels", "kernels", "Instances"};
constexpr Derived kApiSum{"cuda_api_sum", "api", "api", "Num Calls"};
// Of results alone: those of a trace are made of its records.
constexpr Derived kOsCallSum{"osrt_sum", "os_calls", "os_sum", "Num Calls"};
constexpr Derived kMpiCallSum{"mpi_event_sum", "mpi", "mpi_sum", "Instances"};

Table TableOf(const Derived& derived, AnalysisResult result) {
  const auto found = std::ranges::find_if(result.tables, [&](const Table& table) { return table.id == derived.table; });
  Table table = found == result.tables.end() ? Table() : std::move(*found);
  table.columns = NsysColumns(derived.counted, Unit::kNs);
  table.columns.push_back({"Name", "Name", Unit::kText});
  for (auto& row : table.rows) row.resize(std::min(row.size(), table.columns.size()));
  return table;
}

template <const Derived& kDerived>
Table Derive(const AnalysisInput& input) {
  return TableOf(kDerived, FindAnalysis(kDerived.analysis)->run(input, {.max_rows = 0}));
}

std::string OperationName(const GpuOp& op) {
  static constexpr std::string_view kKinds[] = {
      "(unknown)",       "Host-to-Device",  "Device-to-Host",   "Host-to-Array", "Array-to-Host", "Array-to-Array",
      "Array-to-Device", "Device-to-Array", "Device-to-Device", "Host-to-Host",  "Peer-to-Peer"};
  if (op.kind == OpKind::kMemset) return "[CUDA memset]";
  const bool is_peer = op.kind == OpKind::kPeerCopy;
  const auto kind = is_peer ? static_cast<std::size_t>(trace::CopyKind::kPeerToPeer)
                            : std::min(static_cast<std::size_t>(op.copy_kind), std::size(kKinds));
  return "[CUDA memcpy " + std::string(kind < std::size(kKinds) ? kKinds[kind] : kKinds[0]) + "]";
}

// Empty for what is no migration.
std::string MigrationName(trace::ManagedKind kind) {
  switch (kind) {
    case trace::ManagedKind::kHostToDevice:
      return "[CUDA memcpy Unified Host-to-Device]";
    case trace::ManagedKind::kDeviceToHost:
      return "[CUDA memcpy Unified Device-to-Host]";
    case trace::ManagedKind::kDeviceToDevice:
      return "[CUDA memcpy Unified Device-to-Device]";
    default:
      return "";
  }
}

Table MemoryTimes(const AnalysisInput& input, const AnalysisOptions& options) {
  SamplesByName samples;
  for (const GpuOp& op : TransfersOf(input.trace(), input.shared().ops()))
    samples[{OperationName(op)}].push_back(op.DurationNs());
  for (const ManagedMemory& event : input.trace().managed_memory) {
    if (const std::string name = MigrationName(event.kind); !name.empty())
      samples[{name}].push_back(event.DurationNs());
  }
  return TableOfSamples(std::move(samples), "Count", Unit::kNs, {"Operation"}, options);
}

Table MemorySizes(const AnalysisInput& input, const AnalysisOptions& options) {
  SamplesByName samples;
  const auto add = [&samples](const std::string& name, uint64_t bytes) {
    samples[{name}].push_back(static_cast<int64_t>(bytes));
  };
  for (const GpuOp& op : TransfersOf(input.trace(), input.shared().ops())) add(OperationName(op), op.size_bytes);
  for (const ManagedMemory& event : input.trace().managed_memory) {
    if (const std::string name = MigrationName(event.kind); !name.empty()) add(name, event.value);
  }
  return TableOfSamples(std::move(samples), "Count", Unit::kBytes, {"Operation"}, options);
}

enum class RangeStyle : uint8_t { kPushPop, kStartEnd, kBoth };

Table Ranges(const AnalysisInput& input, RangeStyle style, const AnalysisOptions& options = {}) {
  const Trace& trace = input.trace();
  // By traits first, which many ranges share: names are put together once for each of those.
  std::map<std::tuple<uint32_t, uint32_t, bool>, std::vector<int64_t>*> known;
  SamplesByName samples;
  for (const NvtxRange& range : trace.ranges) {
    if (style != RangeStyle::kBoth && range.is_push_pop != (style == RangeStyle::kPushPop)) continue;
    std::vector<int64_t>*& values = known[{range.domain, range.name.value, range.is_push_pop}];
    if (values == nullptr) {
      std::vector<std::string> names = {NsysRangeName(trace, range)};
      if (style == RangeStyle::kBoth) names.insert(names.begin(), range.is_push_pop ? "PushPop" : "StartEnd");
      values = &samples[names];
    }
    values->push_back(range.DurationNs());
  }
  std::vector<std::string> columns = {"Range"};
  if (style == RangeStyle::kBoth) columns.insert(columns.begin(), "Style");
  return TableOfSamples(std::move(samples), "Instances", Unit::kNs, columns, options);
}

Table AllRanges(const AnalysisInput& input, const AnalysisOptions& options) {
  return Ranges(input, RangeStyle::kBoth, options);
}
Table PushPopRanges(const AnalysisInput& input) { return Ranges(input, RangeStyle::kPushPop); }
Table StartEndRanges(const AnalysisInput& input) { return Ranges(input, RangeStyle::kStartEnd); }

template <class Call>
Table CallsByFunction(const Trace& trace, const std::vector<Call>& calls, const char* count_title) {
  SamplesByName samples;
  for (const Call& call : calls) {
    samples[{std::string(trace.Text(call.function))}].push_back(call.DurationNs());
  }
  return TableOfSamples(std::move(samples), count_title, Unit::kNs, {"Name"});
}

Table OsCalls(const AnalysisInput& input) {
  return CallsByFunction(input.trace(), input.trace().os_calls, "Num Calls");
}
Table MpiCalls(const AnalysisInput& input) {
  return CallsByFunction(input.trace(), input.trace().mpi_calls, "Instances");
}

// As nsys: sends and receives of each call are messages of their own.
Table MpiSizes(const AnalysisInput& input, const AnalysisOptions& options) {
  SamplesByName samples;
  for (const MpiCall& call : input.trace().mpi_calls) {
    const std::string name(input.trace().Text(call.function));
    for (const uint64_t bytes : {call.sent_bytes, call.received_bytes}) {
      if (bytes > 0) samples[{name}].push_back(static_cast<int64_t>(std::min<uint64_t>(bytes, INT64_MAX)));
    }
  }
  return TableOfSamples(std::move(samples), "Count", Unit::kBytes, {"Name"}, options);
}

// Those that a partial keeps beside the results of the analyses.
struct KeptReport {
  std::string_view name;
  Table (*make)(const AnalysisInput&, const AnalysisOptions&);
};
constexpr KeptReport kNvtxSum{"nvtx_sum", AllRanges}, kMemoryTimes{"cuda_gpu_mem_time_sum", MemoryTimes},
    kMemorySizes{"cuda_gpu_mem_size_sum", MemorySizes}, kMpiSizes{"mpi_msg_size_sum", MpiSizes};

template <const KeptReport& kReport>
Table Make(const AnalysisInput& input) {
  return kReport.make(input, {});
}

constexpr NsysReport kReports[] = {
    {"nvtx_sum", "NVTX range summary", "nvtx", Make<kNvtxSum>, true},
    {"osrt_sum", "OS runtime summary", "", OsCalls, true},
    {"cuda_api_sum", "CUDA API summary", "api", Derive<kApiSum>, true},
    {"cuda_gpu_kern_sum", "CUDA GPU kernel summary", "kernels", Derive<kKernelSum>, true},
    {"cuda_gpu_mem_time_sum", "CUDA GPU memory operations, by time", "memcpy", Make<kMemoryTimes>, true},
    {"cuda_gpu_mem_size_sum", "CUDA GPU memory operations, by size", "memcpy", Make<kMemorySizes>, true},
    {"mpi_event_sum", "MPI event summary", "mpi", MpiCalls},
    {"mpi_msg_size_sum", "MPI message size summary", "mpi", Make<kMpiSizes>},
    {"nvtx_pushpop_sum", "NVTX push/pop range summary", "nvtx", PushPopRanges},
    {"nvtx_startend_sum", "NVTX start/end range summary", "nvtx", StartEndRanges},
    {"nccl_sum", "NCCL kernel summary", "nccl", NcclSum},
    {"gpu_gaps", "GPU gaps", "idle", GpuGaps},
    {"nvtx_gpu_proj_sum", "NVTX GPU projection summary", "nvtx", NvtxGpuProjSum},
    {"cuda_gpu_time_util_map", "CUDA GPU time utilization map", "devices", GpuTimeUtilMap},
    {"mpi_gpu_time_util_map", "MPI and GPU time utilization map", "mpi", MpiGpuTimeUtilMap},
    {"cuda_gpu_kern_pace", "CUDA GPU kernel pace", "kernels", GpuKernPace},
    // Of these `stats` makes no table, and `report` has the figures.
    {"cuda_api_gpu_sum", "", "api", nullptr},
    {"cuda_gpu_sum", "", "kernels", nullptr},
    {"cuda_gpu_kern_gb_sum", "", "occupancy", nullptr},
    {"cuda_kern_exec_sum", "", "launches", nullptr},
    {"nvtx_kern_sum", "", "nvtx", nullptr},
    {"um_sum", "", "memory", nullptr},
    {"um_total_sum", "", "memory", nullptr},
    {"um_cpu_page_faults_sum", "", "memory", nullptr},
    {"cuda_api_sync", "", "sync", nullptr},
    {"cuda_memcpy_async", "", "memcpy", nullptr},
    {"cuda_memcpy_sync", "", "memcpy", nullptr},
    {"cuda_memset_sync", "", "memcpy", nullptr},
    {"gpu_time_util", "", "devices", nullptr},
    {"nccl_gpu_overlap_trace", "", "nccl", nullptr},
    {"nccl_gpu_proj_sum", "", "nccl", nullptr},
};

// The names that nsys had until 2023: "gpukernsum".
std::string_view NameOfToday(std::string_view name) {
  static constexpr std::pair<std::string_view, std::string_view> kEarlier[] = {
      {"nvtxsum", "nvtx_sum"},
      {"nvtxppsum", "nvtx_pushpop_sum"},
      {"nvtxssesum", "nvtx_startend_sum"},
      {"osrtsum", "osrt_sum"},
      {"cudaapisum", "cuda_api_sum"},
      {"apigpusum", "cuda_api_gpu_sum"},
      {"gpukernsum", "cuda_gpu_kern_sum"},
      {"gpumemtimesum", "cuda_gpu_mem_time_sum"},
      {"gpumemsizesum", "cuda_gpu_mem_size_sum"},
      {"gpusum", "cuda_gpu_sum"},
      {"kernexecsum", "cuda_kern_exec_sum"},
      {"nvtxkernsum", "nvtx_kern_sum"},
      {"nvtxgpuproj", "nvtx_gpu_proj_sum"},
      {"umsum", "um_sum"}};
  for (const auto& [earlier, today] : kEarlier) {
    if (name == earlier) return today;
  }
  return name;
}

}  // namespace

std::vector<Table> KeptStats(const AnalysisInput& input, uint32_t max_rows) {
  std::vector<Table> tables;
  for (const KeptReport& report : {kNvtxSum, kMemoryTimes, kMemorySizes, kMpiSizes}) {
    Table table = report.make(input, {.has_histograms = true});
    table.id = report.name;
    CutRows(&table, max_rows);
    tables.push_back(std::move(table));
  }
  return tables;
}

std::span<const NsysReport> NsysReports() { return kReports; }

std::optional<Table> TableOf(const NsysReport& report, const Results& results) {
  for (const Derived& derived : {kKernelSum, kApiSum, kOsCallSum, kMpiCallSum}) {
    if (report.name == derived.report)
      return TableOf(derived, ResultOf(*FindAnalysis(derived.analysis), results, {.max_rows = 0}));
  }
  const auto found = std::ranges::find_if(results.stats, [&](const Table& table) { return table.id == report.name; });
  return found == results.stats.end() ? std::nullopt : std::optional(*found);
}

const NsysReport* FindNsysReport(std::string_view name) {
  name = NameOfToday(name);
  const auto* found = std::ranges::find_if(kReports, [name](const NsysReport& r) { return r.name == name; });
  return found == std::end(kReports) ? nullptr : found;
}

}  // namespace gprof

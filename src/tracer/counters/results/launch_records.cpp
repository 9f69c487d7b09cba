#include "tracer/counters/results/launch_records.h"

#include "tracer/core/config.h"
#include "tracer/counters/results/measured_ranges.h"
#include "tracer/cupti/library/driver_queries.h"

#ifdef GPROF_HAS_RANGE_PROFILER
#include "tracer/store/interned_names.h"
#include "tracer/system/system_calls.h"

namespace gprof::tracer {
namespace {

uint32_t ranges_kept = 0;

class RangeWriter {
 public:
  explicit RangeWriter(MeasuredRange* range) : range_(range) {}

  void Add(const char* metric, const char* unit, double value) {
    Add(Names().Intern(metric), Names().Intern(unit), value);
  }
  void Add(trace::StringId metric, trace::StringId unit, double value) {
    if (range_->value_count < MaxValues()) range_->values[range_->value_count++] = {metric, unit, value};
  }

 private:
  MeasuredRange* range_;
};

void AddFunction(const LaunchedKernel& kernel, double blocks, uint32_t threads, int sms, RangeWriter* out) {
  constexpr int kLeastRegisters = 16;  // that a thread is given
  FunctionResources resources;
  if (kernel.function == nullptr || !ResourcesOf(kernel.function, &resources)) return;
  const int registers = resources.registers > kLeastRegisters ? resources.registers : kLeastRegisters;
  out->Add("launch__registers_per_thread", "register/thread", registers);
  out->Add("launch__shared_mem_per_block_static", "byte/block", resources.static_shared_bytes);
  const int per_sm = BlocksPerSm(kernel.function, threads, kernel.launch.dynamic_shared_bytes);
  if (sms > 0 && per_sm > 0)
    out->Add("launch__waves_per_multiprocessor", "", blocks / (static_cast<double>(sms) * per_sm));
}

void AddFacts(const LaunchedKernel& kernel, RangeWriter* out) {
  const Launch& l = kernel.launch;
  const double blocks = static_cast<double>(l.grid[0]) * l.grid[1] * l.grid[2];
  const uint32_t threads = l.block[0] * l.block[1] * l.block[2];
  constexpr const char* kGrid[] = {"launch__grid_dim_x", "launch__grid_dim_y", "launch__grid_dim_z"};
  constexpr const char* kBlock[] = {"launch__block_dim_x", "launch__block_dim_y", "launch__block_dim_z"};
  for (int i = 0; i < 3; ++i) {
    out->Add(kGrid[i], "", l.grid[i]);
    out->Add(kBlock[i], "", l.block[i]);
  }
  out->Add("launch__grid_size", "", blocks);
  out->Add("launch__block_size", "", threads);
  out->Add("launch__thread_count", "thread", blocks * threads);
  out->Add("launch__cluster_size", "", l.cluster_blocks);
  out->Add("launch__shared_mem_per_block_dynamic", "byte/block", l.dynamic_shared_bytes);
  const auto device = static_cast<CUdevice>(l.device);
  const int sms = DeviceAttribute(device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  if (sms > 0) out->Add("launch__sm_count", "SM", sms);
  const int driver_bytes = DeviceAttribute(device, CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK);
  if (driver_bytes > 0) out->Add("launch__shared_mem_per_block_driver", "byte/block", driver_bytes);
  AddFunction(kernel, blocks, threads, sms, out);
}

// What a kernel can read at most. Managed memory may have come to the GPU since the launch, and is not there before.
void AddMemory(const MeasuredLaunch& launch, RangeWriter* out) {
  if (launch.memory_bytes == 0) return;
  const uint64_t bytes = MemoryInUse();
  out->Add("device__memory_in_use", "byte",
           static_cast<double>(bytes > launch.memory_bytes ? bytes : launch.memory_bytes));
}

// Room for the values of all metrics, mapped once: the count of those that are asked for never changes.
double* Evaluated() {
  static double* values = nullptr;
  if (values == nullptr) values = static_cast<double*>(MapMemory((MaxValues() + 1) * sizeof(double)));
  return values;
}

void AddValues(const RangeSession& session, uint32_t i, MeasuredRange* range) {
  const DevicePlan& plan = session.plan();
  double* values = Evaluated();
  if (values == nullptr || !session.Evaluate(i, values)) {
    range->record.status = static_cast<uint8_t>(trace::CounterStatus::kPassesMissing);
    return;
  }
  RangeWriter out(range);
  for (uint32_t k = 0; k < plan.metric_count; ++k) out.Add(plan.names[k], plan.units[k], values[k]);
}

// Null: there is no room for it.
MeasuredRange* NewRange(const RangeSession& session, trace::CounterScope scope, const MeasuredSpan& span) {
  MeasuredRange* range = NextRange();
  if (range == nullptr) return nullptr;
  trace::CounterRangeRecord& record = range->record;
  record.start_ns = span.start_ns;
  record.duration_ns = span.end_ns - span.start_ns;
  record.id = ++ranges_kept;
  record.plan = session.plan().id;
  record.scope = static_cast<uint8_t>(scope);
  record.name = span.name;
  record.nvtx = span.nvtx;
  if (span.nvtx.value == 0 && Config().capture_start == CaptureStart::kNvtx)
    record.nvtx = Names().Intern(Config().capture_range);
  record.device = session.plan().device;
  record.passes = session.plan().passes;
  return range;
}

}  // namespace

void KeepLaunch(const RangeSession& session, const MeasuredLaunch& launch, int64_t i) {
  const Launch& of = launch.kernel.launch;
  MeasuredRange* range = NewRange(session, launch.is_graph ? trace::CounterScope::kGraph : trace::CounterScope::kKernel,
                                  {Names().Intern(of.symbol), launch.nvtx, launch.start_ns, launch.end_ns});
  if (range == nullptr) return;
  trace::CounterRangeRecord& record = range->record;
  record.status = static_cast<uint8_t>(i < 0 ? trace::CounterStatus::kPassesMissing : trace::CounterStatus::kComplete);
  record.context = of.context;
  record.stream = of.stream;
  record.correlation = launch.correlation;
  record.invocation = launch.number;
  RangeWriter out(range);
  if (!launch.is_graph) {
    AddFacts(launch.kernel, &out);
    AddMemory(launch, &out);
  }
  if (i >= 0) AddValues(session, static_cast<uint32_t>(i), range);
  Publish(range);
}

void KeepOneRange(const RangeSession& session, const MeasuredSpan& span) {
  MeasuredRange* range = NewRange(session, trace::CounterScope::kRange, span);
  if (range == nullptr) return;
  AddValues(session, 0, range);
  Publish(range);
}

}  // namespace gprof::tracer
#endif

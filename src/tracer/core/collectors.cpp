// The table of collectors. To add one: its file, which describes it as a Collector, and its line here (docs/adding.md).
#include "tracer/core/collectors.h"

#include <array>

#include "tracer/capture/calibration_collector.h"
#include "tracer/capture/capture.h"
#include "tracer/capture/control.h"
#include "tracer/capture/delay_windows.h"
#include "tracer/capture/delayed_stacks.h"
#include "tracer/core/notice.h"
#include "tracer/core/process_record.h"
#include "tracer/core/strict_mode.h"
#include "tracer/counters/counter_collector.h"
#include "tracer/cupti/calls/api_rows.h"
#include "tracer/cupti/delays/delayed_calls.h"
#include "tracer/cupti/gpu_work.h"
#include "tracer/directives/directive_collector.h"
#include "tracer/gemm/gemm_calls.h"
#include "tracer/imports/import_slots.h"
#include "tracer/libraries/library_calls.h"
#include "tracer/mpi/mpi_calls.h"
#include "tracer/nccl/collectives.h"
#include "tracer/nvtx/nvtx_records.h"
#include "tracer/nvtx/stuck_children.h"
#include "tracer/osrt/os_call_collector.h"
#include "tracer/places/place_collector.h"
#include "tracer/python/python_stacks.h"
#include "tracer/pytorch/operator_collector.h"
#include "tracer/pytorch/tensor_memory.h"
#include "tracer/samples/signal_samples.h"
#include "tracer/serving/serving_collector.h"
#include "tracer/stacks/native_stacks.h"
#include "tracer/store/log_rows.h"
#include "tracer/writing/thread_rows.h"

namespace gprof::tracer {
namespace {

// In the order of a round. GPU work comes before the rows of threads: CUPTI is waited for before the clocks are read,
// and its records say which stream is a context's default one. Calls that are still open come after the rows, as do
// names, so that none is missing that a row refers to. Notices come last, as all of these may have something to say.
constexpr Collector kCollectors[] = {
    kProcessCollector,      kGpuWorkCollector,      kThreadRowCollector,   kApiCallCollector,
    kControlCollector,      kCaptureCollector,      kNvtxCollector,        kOsCallCollector,
    kMpiCallCollector,      kGemmCollector,         kNcclCollector,        kLibraryCallCollector,
    kDirectiveCollector,    kTensorMemoryCollector, kImportCollector,      kSignalSampleCollector,
    kOperatorCollector,     kServingCollector,      kPlaceCollector,       kPythonCollector,
    kNativeStackCollector,  kCounterCollector,      kCalibrationCollector, kDelayCollector,
    kDelayedStackCollector, kDelayedCallCollector,  kStrictModeCollector,  kStuckChildCollector,
    kNoticeCollector,
};

using Converter = decltype(Collector::convert);
using Converters = std::array<Converter, kRowTypes>;

// Null for a type that nobody has, or more than one.
constexpr Converters ConvertersByType() {
  Converters by_type{};
  uint32_t taken = 0;
  for (const Collector& collector : kCollectors) {
    for (uint32_t type = 0; type < kRowTypes; ++type) {
      if ((collector.row_types >> type & 1) == 0) continue;
      by_type[type] = (taken >> type & 1) == 0 ? collector.convert : nullptr;
    }
    taken |= collector.row_types;
  }
  return by_type;
}

constexpr Converters kConverters = ConvertersByType();

bool is_prepared = false;

constexpr bool EveryRowHasOneOwner() {
  for (uint32_t type = 1; type < kRowTypes; ++type) {
    if (kConverters[type] == nullptr) return false;
  }
  return true;
}
static_assert(EveryRowHasOneOwner(), "each type of row is converted by one collector");

template <class... Parameters, class... Arguments>
void ForEach(void (*Collector::*verb)(Parameters...), Arguments... arguments) {
  for (const Collector& collector : kCollectors) {
    if (collector.*verb != nullptr) (collector.*verb)(arguments...);
  }
}

void Switch(bool has_warm_up, bool on) {
  for (const Collector& collector : kCollectors) {
    if (collector.switch_capture == nullptr || collector.has_warm_up != has_warm_up) continue;
    const bool stays_on = !on && collector.is_of_base && IsBaseRecorded();
    if (!stays_on) collector.switch_capture(on);
  }
}

}  // namespace

void StartCollectors() {
  is_prepared = false;
  ForEach(&Collector::start);
}

void PrepareCollectors() {
  if (is_prepared) return;
  is_prepared = true;
  ForEach(&Collector::prepare);
}

void RetellEverything() { ForEach(&Collector::retell); }
void SwitchCollectors(bool on) { Switch(false, on); }
void SwitchWarmUpCollectors(bool on) { Switch(true, on); }
void SwitchBaseCollectors(bool on) {
  for (const Collector& collector : kCollectors) {
    if (collector.switch_capture != nullptr && collector.is_of_base) collector.switch_capture(on);
  }
  kGpuWorkCollector.switch_capture(false);  // its callbacks are those of the level that is on now
}
void DrainCollectors(DrainRound* round) { ForEach(&Collector::drain, round); }
void SalvageCollectors(DrainRound* round) { ForEach(&Collector::salvage, round); }
void StopCollectors(StopReason why) { ForEach(&Collector::stop, why); }
void ResetCollectorsAfterFork() { ForEach(&Collector::reset); }

void ConvertRow(const RowHeader* row, const RowSource& source) {
  const auto type = static_cast<uint32_t>(row->type);
  // In salvage a row may say anything.
  if (type < kRowTypes && kConverters[type] != nullptr) kConverters[type](row, source);
}

}  // namespace gprof::tracer

#include "tracer/gemm/gemm_calls.h"

#include "tracer/capture/capture.h"
#include "tracer/core/config.h"
#include "tracer/gemm/gemm_libraries.h"
#include "tracer/gemm/gemm_wrappers.h"
#include "tracer/imports/wrapped_call.h"
#include "tracer/store/interned_names.h"
#include "tracer/store/thread_log.h"

namespace gprof::tracer {

void StartGemms() {
  if (!Config().wants_gemms) return;
  WrapGemms();
  WatchForCublas();
  gemms_are_on.store(IsCapturing(), std::memory_order_release);
}

void SwitchGemms(bool on) {
  if (Config().wants_gemms) gemms_are_on.store(on, std::memory_order_release);
}

void DrainGemms(DrainRound* round) {
  if (round->depth == Depth::kEnd) StopGemms(StopReason::kThreadsEnd);
}

void StopGemms(StopReason why) {
  if (why != StopReason::kDriverGoes) gemms_are_on.store(false, std::memory_order_release);
}

void ConvertGemmRow(const RowHeader* header, const RowSource& source) {
  const auto& row = *reinterpret_cast<const GemmRow*>(header);
  if (row.header.flags >= kGemmNumbers || !IsGemm(row.header.flags)) return;  // in salvage a row may say anything
  const GemmShape& shape = row.shape;
  trace::GemmRecord r;
  r.start_ns = source.clock.ToNs(row.start);
  const uint64_t end_ns = source.clock.ToNs(row.start + UnpackDuration(row.duration));
  r.duration_ns = end_ns > r.start_ns ? end_ns - r.start_ns : 0;
  r.tid = source.log->tid;
  r.function = Names().Intern(GemmSymbolOf(row.header.flags).text);
  r.m = shape.m;
  r.n = shape.n;
  r.k = shape.k;
  r.batch = shape.batch;
  r.lda = shape.lda;
  r.ldb = shape.ldb;
  r.ldc = shape.ldc;
  r.a_type = shape.a_type;
  r.b_type = shape.b_type;
  r.c_type = shape.c_type;
  r.compute_type = shape.compute_type;
  r.a_transposed = shape.transposes & 3;
  r.b_transposed = shape.transposes >> 2 & 3;
  r.alignment = shape.alignment;
  source.output->Add(r, source.cursor);
}

}  // namespace gprof::tracer

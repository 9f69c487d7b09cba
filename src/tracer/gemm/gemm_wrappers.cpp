// Compiled with unwind tables: what cuBLAS calls of the program may throw through these functions, which own nothing.
#include "tracer/gemm/gemm_wrappers.h"

#include <errno.h>

#include <utility>

#include "tracer/imports/wrapped_call.h"
#include "tracer/store/thread_log.h"

namespace gprof::tracer {

constinit WrapTarget gemm_targets[kGemmNumbers] = {};
constinit std::atomic<bool> gemms_are_on{false};

namespace {

// The frame of the outermost of these calls that the thread is in, 0 when in none: libcublas itself calls libcublasLt.
// One above it tells that the frame was left by an exception or longjmp.
constinit thread_local uintptr_t gemm_frame = 0;

template <std::size_t>
using Word = uintptr_t;

__attribute__((noinline)) void Write(std::size_t number, const GemmShape& shape, uint64_t start, uint64_t stamps) {
  const int kept = errno;
  ThreadLog* const log = own_log != nullptr ? own_log : AcquireLogWithinCall(false);
  if (log != nullptr && log->tid == CurrentTid()) {
    GemmRow row{RowHeaderOf<GemmRow>(RowType::kGemm), PackDuration(stamps), start, shape, 0};
    row.header.flags = static_cast<uint8_t>(number);
    Append(log, row);
  }
  errno = kept;
}

// The arrays of the groups are the caller's until the call returns to it.
__attribute__((noinline)) void WriteGroups(std::size_t number, const GemmWords& words, uint64_t start,
                                           uint64_t stamps) {
  const uint32_t groups = GroupsOf(number, words);
  for (uint32_t group = 0; group < groups; ++group) {
    GemmShape shape;
    if (ShapeOfGroup(number, words, group, &shape)) Write(number, shape, start, stamps);
  }
}

// The shape is read before the call: descriptors may be gone afterwards when another thread made them.
template <std::size_t kNumber, std::size_t... kPlace>
int Call(Word<kPlace>... words) {
  auto* const real = reinterpret_cast<int (*)(Word<kPlace>...)>(gemm_targets[kNumber].real);
  const auto frame = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  if (!gemms_are_on.load(std::memory_order_relaxed) || frame < gemm_frame) return real(words...);
  constexpr bool kIsGrouped = IsGrouped(GemmFunctionAt(kNumber).form);
  GemmShape shape;
  if (!kIsGrouped && !ShapeOf(kNumber, GemmWords{words...}, &shape)) return real(words...);
  gemm_frame = frame;
  const uint64_t start = Stamp();
  const int result = real(words...);
  const uint64_t stamps = Stamp() - start;
  gemm_frame = 0;
  if (result != 0) return result;
  if (kIsGrouped) {
    WriteGroups(kNumber, GemmWords{words...}, start, stamps);
  } else {
    Write(kNumber, shape, start, stamps);
  }
  return result;
}

template <std::size_t kNumber, std::size_t... kPlace>
void* WrapperOf(std::index_sequence<kPlace...>) {
  return reinterpret_cast<void*>(&Call<kNumber, kPlace...>);
}

GemmSymbol symbols[kGemmNumbers];
WrappedSymbol wrapped[kGemmNumbers];

template <std::size_t kNumber>
void WrapOne() {
  if constexpr (IsGemm(kNumber)) {
    constexpr std::size_t kCount = PlacesOf(GemmFunctionAt(kNumber).form).count;
    symbols[kNumber] = GemmSymbolOf(kNumber);
    wrapped[kNumber] = {symbols[kNumber].text, WrapperOf<kNumber>(std::make_index_sequence<kCount>()),
                        &gemm_targets[kNumber]};
    AddWrapped(wrapped[kNumber]);
  }
}

template <std::size_t... kNumber>
void WrapAll(std::index_sequence<kNumber...>) {
  (WrapOne<kNumber>(), ...);
}

}  // namespace

void WrapGemms() { WrapAll(std::make_index_sequence<kGemmNumbers>()); }

}  // namespace gprof::tracer

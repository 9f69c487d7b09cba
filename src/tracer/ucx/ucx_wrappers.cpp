// Compiled with unwind tables: handlers of the program, which UCX calls, may throw through these functions.
#include "tracer/ucx/ucx_wrappers.h"

#include <errno.h>

#include <array>
#include <utility>

#include "tracer/nvtx/nvtx_row.h"

namespace gprof::tracer {

constinit WrapTarget ucx_targets[kUcxFunctionCount] = {};
constinit UcxNames ucx_names = {};

namespace {

// The frame of the outermost of these calls that the thread is in, 0 when in none: UCX calls its own functions. One
// above it tells that the frame was left by an exception or longjmp.
constinit thread_local uintptr_t ucx_frame = 0;

template <std::size_t>
using Word = uintptr_t;
template <std::size_t kCount>
using UcxWords = std::array<uintptr_t, kCount>;

// The first fields of ucp_request_param_t, whose places are fixed: later versions of UCX only add to its end.
struct RequestParameters {
  uint32_t fields, flags;
  void* request;
  void* callback;
  uint64_t datatype;
};
constexpr uint32_t kHasDatatype = 8;

// A type says in its lowest bits what it is: 0 for elements side by side, whose size is in the other bits.
constexpr uint64_t kTypeBits = 3, kContiguousByte = 1 << kTypeBits;

uint64_t DatatypeOf(uintptr_t parameters) {
  const auto* const given = reinterpret_cast<const RequestParameters*>(parameters);
  return given != nullptr && (given->fields & kHasDatatype) != 0 ? given->datatype : kContiguousByte;
}

// False where only UCX knows: lists of buffers, and types with functions of their own.
template <std::size_t kCount>
bool BytesOf(const UcxFunction& function, const UcxWords<kCount>& words, uint64_t* bytes) {
  if (function.size == UcxSize::kNone) return false;
  uint64_t type = kContiguousByte;
  if (function.size == UcxSize::kParameters) type = DatatypeOf(words[kCount - 1]);
  if (function.size == UcxSize::kDatatype) type = words[(function.count_place + 1) % kCount];
  if ((type & ((1 << kTypeBits) - 1)) != 0) return false;
  *bytes = words[function.count_place] * (type >> kTypeBits);
  return true;
}

template <std::size_t kCount>
__attribute__((noinline)) void Begin(std::size_t number, const UcxWords<kCount>& words) {
  const int kept = errno;
  NvtxAttributes attributes;
  const bool has_bytes = BytesOf(kUcxFunctions[number], words, &attributes.payload);
  attributes.payload_type = static_cast<uint32_t>(trace::PayloadType::kUnsigned64);
  Push(ucx_names.domain, {nullptr, 0, ucx_names.functions[number].value}, has_bytes ? &attributes : nullptr);
  errno = kept;
}

__attribute__((noinline)) void End() {
  const int kept = errno;
  Pop(ucx_names.domain);
  errno = kept;
}

__attribute__((noinline)) void WritePoll(std::size_t number, uint64_t start, uint64_t end) {
  const int kept = errno;
  if (ThreadLog* const log = OwnLog(); log != nullptr && IsCapturing()) {
    const NvtxText name{nullptr, 0, ucx_names.functions[number].value};
    WriteNvtxRow(log, trace::NvtxEvent::kPush, ucx_names.domain, name, nullptr, start);
    WriteNvtxPop(log, ucx_names.domain, end);
  }
  errno = kept;
}

template <std::size_t kNumber, std::size_t... kPlace>
uintptr_t Call(Word<kPlace>... words) {
  auto* const real = reinterpret_cast<uintptr_t (*)(Word<kPlace>...)>(ucx_targets[kNumber].real);
  const auto frame = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  if (!IsCapturing() || frame < ucx_frame) return real(words...);
  ucx_frame = frame;
  uintptr_t result;
  if constexpr (kUcxFunctions[kNumber].is_poll) {
    const uint64_t start = Stamp();
    result = real(words...);
    const uint64_t end = Stamp();
    if (end - start >= ucx_names.shortest_poll) WritePoll(kNumber, start, end);
  } else {
    Begin(kNumber, UcxWords<sizeof...(words)>{words...});
    result = real(words...);
    End();
  }
  ucx_frame = 0;
  return result;
}

template <std::size_t kNumber, std::size_t... kPlace>
void* WrapperOf(std::index_sequence<kPlace...>) {
  return reinterpret_cast<void*>(&Call<kNumber, kPlace...>);
}

WrappedSymbol wrapped[kUcxFunctionCount];

template <std::size_t... kNumber>
void WrapAll(std::index_sequence<kNumber...>) {
  ((wrapped[kNumber] = {kUcxFunctions[kNumber].name,
                        WrapperOf<kNumber>(std::make_index_sequence<kUcxFunctions[kNumber].arguments>()),
                        &ucx_targets[kNumber]},
    AddWrapped(wrapped[kNumber])),
   ...);
}

}  // namespace

void WrapUcx() { WrapAll(std::make_index_sequence<kUcxFunctionCount>()); }

}  // namespace gprof::tracer

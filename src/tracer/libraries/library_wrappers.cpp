// Compiled with unwind tables: handlers of the program, which these libraries call, may throw through these functions.
#include "tracer/libraries/library_wrappers.h"

#include <errno.h>

#include <array>
#include <utility>

#include "tracer/nvtx/nvtx_row.h"

namespace gprof::tracer {

constinit WrapTarget library_targets[kLibraryFunctionCount] = {};
constinit LibraryNames library_names = {};

namespace {

// The frame of the outermost of these calls that the thread is in, 0 when in none: libraries call their own functions
// and those of others. One above it tells that the frame was left by an exception or longjmp.
constinit thread_local uintptr_t library_frame = 0;

template <std::size_t>
using Word = uintptr_t;
template <std::size_t kCount>
using LibraryWords = std::array<uintptr_t, kCount>;

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
bool BytesOf(const LibraryFunction& function, const LibraryWords<kCount>& words, uint64_t* bytes) {
  if (function.size == MovedSize::kNone) return false;
  uint64_t type = kContiguousByte;
  if (function.size == MovedSize::kParameters) type = DatatypeOf(words[kCount - 1]);
  if (function.size == MovedSize::kDatatype) type = words[(function.count_place + 1) % kCount];
  if ((type & ((1 << kTypeBits) - 1)) != 0) return false;
  *bytes = words[function.count_place] * (type >> kTypeBits);
  return true;
}

uint32_t DomainOfFunction(std::size_t number) {
  return library_names.domains[NumberOf(kLibraryFunctions[number].library)];
}

template <std::size_t kCount>
__attribute__((noinline)) void Begin(std::size_t number, const LibraryWords<kCount>& words) {
  const int kept = errno;
  NvtxAttributes attributes;
  const bool has_bytes = BytesOf(kLibraryFunctions[number], words, &attributes.payload);
  attributes.payload_type = static_cast<uint32_t>(trace::PayloadType::kUnsigned64);
  Push(DomainOfFunction(number), {nullptr, 0, library_names.functions[number].value},
       has_bytes ? &attributes : nullptr);
  errno = kept;
}

__attribute__((noinline)) void End(std::size_t number) {
  const int kept = errno;
  Pop(DomainOfFunction(number));
  errno = kept;
}

__attribute__((noinline)) void WritePoll(std::size_t number, uint64_t start, uint64_t end) {
  const int kept = errno;
  if (ThreadLog* const log = OwnLog(); log != nullptr && IsCapturing()) {
    const NvtxText name{nullptr, 0, library_names.functions[number].value};
    WriteNvtxRow(log, trace::NvtxEvent::kPush, DomainOfFunction(number), name, nullptr, start);
    WriteNvtxPop(log, DomainOfFunction(number), end);
  }
  errno = kept;
}

template <std::size_t kNumber, std::size_t... kPlace>
uintptr_t Call(Word<kPlace>... words) {
  auto* const real = reinterpret_cast<uintptr_t (*)(Word<kPlace>...)>(library_targets[kNumber].real);
  const auto frame = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  if (!IsCapturing() || frame < library_frame) return real(words...);
  library_frame = frame;
  uintptr_t result;
  if constexpr (kLibraryFunctions[kNumber].is_poll) {
    const uint64_t start = Stamp();
    result = real(words...);
    const uint64_t end = Stamp();
    if (end - start >= library_names.shortest_poll) WritePoll(kNumber, start, end);
  } else {
    Begin(kNumber, LibraryWords<sizeof...(words)>{words...});
    result = real(words...);
    End(kNumber);
  }
  library_frame = 0;
  return result;
}

template <std::size_t kNumber, std::size_t... kPlace>
void* WrapperOf(std::index_sequence<kPlace...>) {
  return reinterpret_cast<void*>(&Call<kNumber, kPlace...>);
}

WrappedSymbol wrapped[kLibraryFunctionCount];

template <std::size_t... kNumber>
void DescribeAll(std::index_sequence<kNumber...>) {
  ((wrapped[kNumber] = {kLibraryFunctions[kNumber].name,
                        WrapperOf<kNumber>(std::make_index_sequence<kLibraryFunctions[kNumber].arguments>()),
                        &library_targets[kNumber]}),
   ...);
}

}  // namespace

void WrapLibrary(RangedLibrary library) {
  DescribeAll(std::make_index_sequence<kLibraryFunctionCount>());
  for (std::size_t i = 0; i < kLibraryFunctionCount; ++i) {
    if (kLibraryFunctions[i].library == library) AddWrapped(wrapped[i]);
  }
}

}  // namespace gprof::tracer

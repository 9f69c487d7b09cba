// Compiled with unwind tables: an error handler of the program may throw through these functions, which own nothing.
#include "tracer/mpi/mpi_wrappers.h"

#include <errno.h>

#include <utility>

#include "tracer/imports/wrapped_call.h"
#include "tracer/store/thread_log.h"

namespace gprof::tracer {

constinit WrapTarget mpi_targets[kMpiNumbers] = {};
constinit WrapTarget mpi_profiling_targets[kMpiNumbers] = {};
constinit std::atomic<bool> mpi_is_on{false};
constinit std::atomic<uint64_t> mpi_poll_stamps{0};

namespace {

// Arguments are words, whatever they are: none is of floating point, and what is narrower is passed on as it came.
template <std::size_t>
using Word = uintptr_t;

__attribute__((noinline)) void Write(std::size_t number, const MpiWords& words, int result, uint64_t start,
                                     uint64_t stamps) {
  if (IsPoll(MpiFunctionAt(number).arguments) && stamps < mpi_poll_stamps.load(std::memory_order_relaxed)) return;
  const int kept = errno;
  const MpiCallDetails details = result == 0 ? DetailsOf(number, words) : MpiCallDetails{};
  ThreadLog* const log = own_log != nullptr ? own_log : AcquireLogWithinCall(false);
  if (log != nullptr && log->tid == CurrentTid()) {
    MpiCallRow row{RowHeaderOf<MpiCallRow>(RowType::kMpiCall),
                   PackDuration(stamps),
                   start,
                   details.communicator,
                   details.communicator_size,
                   details.peer,
                   details.tag,
                   static_cast<uint32_t>(result)};
    row.header.flags = static_cast<uint8_t>(number);
    if (details.sent_bytes == 0 && details.received_bytes == 0) {
      Append(log, row);
    } else {
      row.header.words = sizeof(MpiCallRowWithBytes) / 8;
      Append(log, MpiCallRowWithBytes{row, details.sent_bytes, details.received_bytes});
    }
  }
  errno = kept;
}

void NoteOpenCall(ThreadLog* log, std::size_t number, uint64_t start) {
  if (log == nullptr) return;
  log->open_mpi_call.function = static_cast<uint8_t>(number);
  log->open_mpi_call.start.store(start, std::memory_order_relaxed);
}

// While MPI waits, it polls, yields and reads. All of that is this call: wrappers of libc below it stay out of the way.
template <std::size_t kNumber, std::size_t... kPlace>
int Call(Word<kPlace>... words) {
  auto* const real = reinterpret_cast<int (*)(Word<kPlace>...)>(mpi_targets[kNumber].real);
  const auto frame = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  if (!mpi_is_on.load(std::memory_order_relaxed) || frame < outer_frame) return real(words...);
  ThreadLog* const log = own_log;
  const uint64_t start = Stamp();
  outer_frame = frame;
  NoteOpenCall(log, kNumber, start);
  const int result = real(words...);
  const uint64_t stamps = Stamp() - start;
  outer_frame = 0;
  if (log != nullptr) log->open_mpi_call.start.store(0, std::memory_order_relaxed);
  Write(kNumber, MpiWords{words...}, result, start, stamps);
  return result;
}

template <std::size_t kNumber, std::size_t... kPlace>
void* WrapperOf(std::index_sequence<kPlace...>) {
  return reinterpret_cast<void*>(&Call<kNumber, kPlace...>);
}

MpiSymbol symbols[kMpiNumbers];
WrappedSymbol wrapped[kMpiNumbers], wrapped_profiling[kMpiNumbers];

template <std::size_t kNumber>
void WrapOne() {
  if constexpr (Exists(kNumber)) {
    void* const wrapper = WrapperOf<kNumber>(std::make_index_sequence<MpiFunctionAt(kNumber).count>());
    symbols[kNumber] = SymbolOf(kNumber);
    wrapped[kNumber] = {symbols[kNumber].text + 1, wrapper, &mpi_targets[kNumber]};
    wrapped_profiling[kNumber] = {symbols[kNumber].text, wrapper, &mpi_profiling_targets[kNumber]};
    AddWrapped(wrapped[kNumber]);
    AddWrapped(wrapped_profiling[kNumber]);
  }
}

template <std::size_t... kNumber>
void WrapAll(std::index_sequence<kNumber...>) {
  (WrapOne<kNumber>(), ...);
}

}  // namespace

void WrapMpi() { WrapAll(std::make_index_sequence<kMpiNumbers>()); }

}  // namespace gprof::tracer

// How fast the program works: the calls of one CUDA function, counted in a window with recording and in one without
// (windows.h). The code that sees calls counts them, and knows which functions there are.
#pragma once

#include <atomic>
#include <cstdint>

#include "gprof/trace/record.h"

namespace gprof::tracer {

// 0: none. Others are as the code that sees calls numbers functions.
extern std::atomic<uint32_t> counted_function;

// The one question that hot paths ask.
inline bool IsCounted(uint32_t function) { return function == counted_function.load(std::memory_order_relaxed); }
// Such a call returns. [any thread]
void CountCall();

// Who sees calls. Everything here is called by the writer thread.
struct CallSource {
  // Of the functions whose calls were recorded since `forget`, no fewer than `least` times: the one with the most that
  // has no more than `most`; where there is none, the one with the fewest, if `takes_more`. 0: none.
  uint32_t (*pick)(uint32_t least, uint32_t most, bool takes_more) = nullptr;
  uint32_t (*calls)(uint32_t function) = nullptr;
  void (*forget)() = nullptr;
  trace::StringId (*name)(uint32_t function) = nullptr;
  // Recording is off: calls of the counted function are seen or not, as IsListening() says.
  void (*listen)() = nullptr;
};
void CountCallsOf(const CallSource& source);  // [starting thread]
const CallSource* TheCallSource();

// Whether calls of the counted function are to be seen although recording is off.
bool IsListening();
void Listen(bool on);

// Rows of threads so far, and among them those of NVTX, and of CUDA calls at the base level. [writer thread]
struct RowCount {
  uint64_t rows = 0, ranges = 0, base_calls = 0;
};
inline RowCount row_count;

struct WorkCount {
  uint32_t calls = 0, threads = 0;
  uint64_t span_ns = 0;  // from the first to the last
};
void ChooseCounted(uint32_t function);
void BeginCount();
// What was counted since BeginCount. [writer thread, after the clocks were read]
WorkCount ReadCount();
void EndCount();
void ResetWorkCount();

}  // namespace gprof::tracer

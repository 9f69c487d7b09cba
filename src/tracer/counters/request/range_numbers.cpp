#include "tracer/counters/request/range_numbers.h"

#include <regex.h>

#include <cstddef>

namespace gprof::tracer {
namespace {

constinit RangeNumbers wanted;
regex_t profiler_expression, nvtx_expression;
constinit uint32_t profiler_ranges = 0, nvtx_ranges = 0;
// 0: the thread is in a range that another one started, which is the last one.
constinit thread_local uint32_t own_nvtx_range = 0;

bool Compile(regex_t* expression, const char* text) {
  return text == nullptr || regcomp(expression, text, REG_EXTENDED) == 0;
}

// The expression has to match the whole number: 1 is not 10.
bool Matches(const regex_t& expression, uint32_t number) {
  char text[12];
  std::size_t size = 0;
  for (uint32_t left = number; left > 0 || size == 0; left /= 10) text[size++] = static_cast<char>('0' + left % 10);
  for (std::size_t i = 0; i < size / 2; ++i) {
    const char other = text[i];
    text[i] = text[size - 1 - i];
    text[size - 1 - i] = other;
  }
  text[size] = 0;
  regmatch_t match;
  return regexec(&expression, text, 1, &match, 0) == 0 && match.rm_so == 0 &&
         match.rm_eo == static_cast<regoff_t>(size);
}

}  // namespace

bool PrepareRangeNumbers(const RangeNumbers& numbers, const char** bad) {
  wanted = numbers;
  *bad = wanted.profiler;
  if (!Compile(&profiler_expression, wanted.profiler)) return false;
  *bad = wanted.nvtx;
  return Compile(&nvtx_expression, wanted.nvtx);
}

void CountProfilerRange() {
  ++profiler_ranges;
  if (wanted.is_within) nvtx_ranges = 0;
}

void EnterNvtxRange() { own_nvtx_range = ++nvtx_ranges; }

void LeaveNvtxRange() { own_nvtx_range = 0; }

bool TakesRangeNumbers() {
  if (wanted.profiler != nullptr && !Matches(profiler_expression, profiler_ranges)) return false;
  return wanted.nvtx == nullptr || Matches(nvtx_expression, own_nvtx_range != 0 ? own_nvtx_range : nvtx_ranges);
}

void ForgetRangeNumbersAfterFork() {
  profiler_ranges = nvtx_ranges = 0;
  own_nvtx_range = 0;
}

}  // namespace gprof::tracer

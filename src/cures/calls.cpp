#include "cures/calls.h"

#include <cstring>

#include "cures/driver.h"

namespace gprof::cures {
namespace {

// Behind the names of the driver, whose declarations are not needed: every argument is a word.
#define GPROF_WORDS                                                                                           \
  uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f, uint64_t g, uint64_t h, uint64_t i, \
      uint64_t j, uint64_t k, uint64_t l
#define GPROF_STREAM_CALL(symbol, suffix, ...) \
  GPROF_CALL(symbol, __VA_ARGS__)              \
  GPROF_CALL_OF_THREAD(symbol##_##suffix, __VA_ARGS__)
#define GPROF_CALL_OF_THREAD GPROF_CALL

enum Index : uint16_t {
#define GPROF_CALL(symbol, ...) k_##symbol,
#include "cures/calls.inc"
#undef GPROF_CALL
  kCalls
};

int Handle(Index index, const Words& words);

}  // namespace
}  // namespace gprof::cures

extern "C" {
#define GPROF_CALL(symbol, ...)                                                                    \
  __attribute__((visibility("default"))) int symbol(GPROF_WORDS) {                                 \
    return gprof::cures::Handle(gprof::cures::k_##symbol, {{a, b, c, d, e, f, g, h, i, j, k, l}}); \
  }
#include "cures/calls.inc"
#undef GPROF_CALL
}

namespace gprof::cures {
namespace {

#undef GPROF_CALL_OF_THREAD
#define GPROF_CALL(symbol, name, since, handler, cures) \
  {#symbol, name, since, DefaultStream::kLegacy, cures, handler, reinterpret_cast<void*>(&::symbol), {nullptr}},
#define GPROF_CALL_OF_THREAD(symbol, name, since, handler, cures) \
  {#symbol, name, since, DefaultStream::kOfThread, cures, handler, reinterpret_cast<void*>(&::symbol), {nullptr}},
Call calls[] = {
#include "cures/calls.inc"
};
#undef GPROF_CALL
#undef GPROF_CALL_OF_THREAD
#undef GPROF_STREAM_CALL

int Handle(Index index, const Words& words) {
  Call& call = calls[index];
  return IsWanted(call.cures) ? call.handler(call, words) : call.Forward(words);
}

}  // namespace

int Call::Forward(const Words& w) {
  using Function = int (*)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
                           uint64_t, uint64_t, uint64_t);
  void* to = real.load(std::memory_order_relaxed);
  if (to == nullptr) {
    void* const library = DriverLibrary();
    to = library == nullptr ? nullptr : RealLookup(library, symbol);
    if (to == nullptr) return kNotFound;
    real.store(to, std::memory_order_relaxed);
  }
  return reinterpret_cast<Function>(to)(w.at[0], w.at[1], w.at[2], w.at[3], w.at[4], w.at[5], w.at[6], w.at[7], w.at[8],
                                        w.at[9], w.at[10], w.at[11]);
}

Call* FindSymbol(const char* symbol) {
  for (Call& call : calls) {
    if (std::strcmp(call.symbol, symbol) == 0) return IsWanted(call.cures) ? &call : nullptr;
  }
  return nullptr;
}

Call* FindName(const char* name, int version, uint64_t flags) {
  constexpr uint64_t kPerThread = 2;  // CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM
  const DefaultStream wanted = (flags & kPerThread) != 0 ? DefaultStream::kOfThread : DefaultStream::kLegacy;
  Call* found = nullptr;
  for (Call& call : calls) {
    if (call.since > version || std::strcmp(call.name, name) != 0) continue;
    if (call.default_stream == DefaultStream::kOfThread && wanted == DefaultStream::kLegacy) continue;
    // The newest, and of these the variant that was asked for.
    const bool is_better =
        found == nullptr || call.since > found->since || (call.since == found->since && call.default_stream == wanted);
    if (is_better) found = &call;
  }
  return found != nullptr && IsWanted(found->cures) ? found : nullptr;
}

// What the driver says first, and our function in its place where a cure needs the call.
int LookUp(Call& call, const Words& words) {
  const int result = call.Forward(words);
  void** const found = words.Pointer<void*>(1);
  if (result != kSuccess || found == nullptr || *found == nullptr) return result;
  Call* const ours = FindName(words.Pointer<const char>(0), static_cast<int>(words.at[2]), words.at[3]);
  if (ours == nullptr || *found == ours->function) return result;
  ours->real.store(*found, std::memory_order_relaxed);
  *found = ours->function;
  return result;
}

}  // namespace gprof::cures

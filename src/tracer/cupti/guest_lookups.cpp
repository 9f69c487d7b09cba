#include "tracer/cupti/guest_lookups.h"

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>

#include <atomic>
#include <cstdint>
#include <cstring>

#include "tracer/cupti/cupti_session.h"
#include "tracer/cupti/guest_profiler.h"
#include "tracer/cupti/library/cupti_api.h"
#include "tracer/imports/import_slots.h"
#include "tracer/system/system_calls.h"

// What dlopen and dlsym do depends on who calls them: where a library is looked for, and what RTLD_NEXT is. So their
// slots lead to code that asks us and then jumps to where the call goes on, as if we had not been there.
struct GprofCallGoesOn {
  void* function;
  const void* first_argument;
};
extern "C" {
void GprofDlsym();
void GprofDlopen();
__attribute__((used, visibility("hidden"))) GprofCallGoesOn GprofBeforeDlsym(void* handle, const char* name);
__attribute__((used, visibility("hidden"))) GprofCallGoesOn GprofBeforeDlopen(const char* path, int mode);
}

asm(R"(
.pushsection .text.gprof_lookups, "ax"
.macro GprofAskAndJump name, ask
.balign 16
\name:
)"
#ifdef __aarch64__
    R"(
hint 34
stp x29, x30, [sp, #-32]!
str x1, [sp, #16]
bl \ask
mov x16, x0
mov x0, x1
ldr x1, [sp, #16]
ldp x29, x30, [sp], #32
br x16
)"
#else
    R"(
endbr64
pushq %rsi
call \ask
popq %rsi
movq %rdx, %rdi
jmpq *%rax
)"
#endif
    R"(
.endm
GprofAskAndJump GprofDlsym, GprofBeforeDlsym
GprofAskAndJump GprofDlopen, GprofBeforeDlopen
.popsection
)");

namespace gprof::tracer {
namespace {

WrapTarget lookup, opening;

// The symbol of a library that was just opened: its module is patched at once, as its first call may be to libcupti.
// A handle is the loader's description of a module.
void MeetModule(void* handle) {
  constexpr uint32_t kHandles = 1024;
  static std::atomic<void*> known[kHandles] = {};
  std::atomic<void*>& entry = known[reinterpret_cast<uintptr_t>(handle) / 64 % kHandles];
  if (entry.exchange(handle, std::memory_order_relaxed) != handle) PatchModule(static_cast<link_map*>(handle)->l_addr);
}

void* FindForGuest(void* handle, const char* name) {
  return GuestFunctionFor(reinterpret_cast<decltype(&dlsym)>(lookup.real)(handle, name));
}

// The number in a name like libcupti.so.13; 0 where there is none.
unsigned long MajorOf(const char* file) {
  const char* const so = std::strstr(file, ".so.");
  return so == nullptr ? 0 : strtoul(so + 4, nullptr, 10);
}

// A second copy of libcupti would be told that there is a subscriber already. One of an older version answers in its
// own way, and whoever asks for a newer one needs that.
bool IsCopyOfCupti(const char* path) {
  const char* const slash = std::strrchr(path, '/');
  const char* const file = slash != nullptr ? slash + 1 : path;
  return std::strncmp(file, "libcupti.so", 11) == 0 && MajorOf(file) <= MajorOf(Cupti().path);
}

}  // namespace

void WrapLookups() {
  static const WrappedSymbol kSymbols[] = {{"dlsym", reinterpret_cast<void*>(GprofDlsym), &lookup},
                                           {"dlopen", reinterpret_cast<void*>(GprofDlopen), &opening}};
  for (const WrappedSymbol& symbol : kSymbols) {
    symbol.target->real = dlsym(RTLD_DEFAULT, symbol.symbol);
    AddWrapped(symbol);
  }
}

}  // namespace gprof::tracer

GprofCallGoesOn GprofBeforeDlsym(void* handle, const char* name) {
  using namespace gprof::tracer;
  if (handle == RTLD_DEFAULT || handle == RTLD_NEXT || name == nullptr) return {lookup.real, handle};
  ErrnoGuard errno_guard;
  MeetModule(handle);
  const bool is_cupti = std::strncmp(name, "cupti", 5) == 0;
  return {is_cupti ? reinterpret_cast<void*>(FindForGuest) : lookup.real, handle};
}

GprofCallGoesOn GprofBeforeDlopen(const char* path, int) {
  using namespace gprof::tracer;
  const bool is_ours = path != nullptr && CuptiIsActive() && Cupti().path[0] == '/' && IsCopyOfCupti(path);
  return {opening.real, is_ours ? Cupti().path : path};
}

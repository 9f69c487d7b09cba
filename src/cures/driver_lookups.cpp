// dlsym, as the program calls it: names of the driver that a cure needs lead to us. What dlsym does for RTLD_DEFAULT
// and RTLD_NEXT depends on who calls it, so our function asks, and then jumps on as if it had not been there.
#include <dlfcn.h>

#include <cstring>

#include "cures/calls.h"
#include "cures/driver.h"

extern "C" {
__attribute__((used, visibility("hidden"))) void* GprofWhereToLookUp(void* library, const char* name,
                                                                     const void* caller);
}

asm(R"(
.pushsection .text.gprof_lookups, "ax"
.balign 16
.globl dlsym
.type dlsym, %function
dlsym:
)"
#ifdef __aarch64__
    R"(
hint 34
stp x29, x30, [sp, #-32]!
stp x0, x1, [sp, #16]
mov x2, x30
bl GprofWhereToLookUp
mov x16, x0
ldp x0, x1, [sp, #16]
ldp x29, x30, [sp], #32
br x16
)"
#else
    R"(
endbr64
movq (%rsp), %rdx
pushq %rdi
pushq %rsi
subq $8, %rsp
call GprofWhereToLookUp
addq $8, %rsp
popq %rsi
popq %rdi
jmpq *%rax
)"
#endif
    R"(
.size dlsym, .-dlsym
.popsection
)");

namespace gprof::cures {
namespace {

// What looks on at the program is no part of it: its calls are not ours.
bool IsOfProfiler(const void* caller) {
  constexpr const char* kProfilers[] = {"libcupti.so", "libnvperf_", "libnvidia-", "libgprof-tracer.so"};
  Dl_info info;
  if (dladdr(caller, &info) == 0 || info.dli_fname == nullptr) return false;
  const char* const slash = std::strrchr(info.dli_fname, '/');
  const char* const file = slash == nullptr ? info.dli_fname : slash + 1;
  for (const char* const profiler : kProfilers) {
    if (std::strncmp(file, profiler, std::strlen(profiler)) == 0) return true;
  }
  return false;
}

// Of an explicit library: who asks makes no difference.
void* LookUpInLibrary(void* library, const char* name) {
  void* const found = RealLookup(library, name);
  Call* const call = found == nullptr ? nullptr : FindSymbol(name);
  void* const driver = call == nullptr ? nullptr : DriverLibrary();
  if (driver == nullptr || found != RealLookup(driver, name)) return found;
  call->real.store(found, std::memory_order_relaxed);
  return call->function;
}

}  // namespace
}  // namespace gprof::cures

void* GprofWhereToLookUp(void* library, const char* name, const void* caller) {
  using namespace gprof::cures;
  const bool is_plain = library == RTLD_DEFAULT || library == RTLD_NEXT || name == nullptr;
  const bool may_be_ours = !is_plain && std::strncmp(name, "cu", 2) == 0 && IsWanted(kAnyCure);
  return may_be_ours && !IsOfProfiler(caller) ? reinterpret_cast<void*>(LookUpInLibrary) : RealLookupFunction();
}

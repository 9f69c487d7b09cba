// dlsym, as the program calls it: names of the driver that a cure needs lead to us. What dlsym does for RTLD_DEFAULT
// and RTLD_NEXT depends on who calls it, so our function asks, and then jumps on as if it had not been there.
#include <dlfcn.h>

#include <cstring>

#include "cures/calls.h"
#include "cures/driver.h"

extern "C" {
__attribute__((used, visibility("hidden"))) void* GprofWhereToLookUp(void* library, const char* name);
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
bl GprofWhereToLookUp
mov x16, x0
ldp x0, x1, [sp, #16]
ldp x29, x30, [sp], #32
br x16
)"
#else
    R"(
endbr64
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

void* GprofWhereToLookUp(void* library, const char* name) {
  using namespace gprof::cures;
  const bool is_plain = library == RTLD_DEFAULT || library == RTLD_NEXT || name == nullptr;
  const bool may_be_ours = !is_plain && std::strncmp(name, "cu", 2) == 0 && IsWanted(kAnyCure);
  return may_be_ours ? reinterpret_cast<void*>(LookUpInLibrary) : RealLookupFunction();
}

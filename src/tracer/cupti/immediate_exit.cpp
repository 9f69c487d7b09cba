#include "tracer/cupti/immediate_exit.h"

#include <sys/syscall.h>
#include <unistd.h>

#include "tracer/core/config.h"
#include "tracer/core/tracer.h"
#include "tracer/cupti/cupti_session.h"
#include "tracer/imports/import_slots.h"
#include "tracer/store/memory/arena.h"

namespace gprof::tracer {
namespace {

WrapTarget target;

// The child of a vfork runs in the memory of its parent, which goes on: what it leaves is not the process of the arena.
bool IsOwnProcess() { return Header().pid == static_cast<uint32_t>(syscall(SYS_getpid)); }

// The flush is asked of the writer thread and waited for no longer than at an orderly end, as this may be the handler
// of a signal that interrupted CUPTI.
[[noreturn]] void ExitImmediately(int status) {
  if (IsRecording() && CuptiIsActive() && IsOwnProcess()) FlushNow(false);
  reinterpret_cast<void (*)(int)>(target.real)(status);
  __builtin_unreachable();
}

const WrappedSymbol kExitSymbols[] = {
    {"_exit", reinterpret_cast<void*>(ExitImmediately), &target},
    {"_Exit", reinterpret_cast<void*>(ExitImmediately), &target},
};

}  // namespace

void WrapImmediateExits() {
  if (!Config().wants_cuda) return;
  target.real = reinterpret_cast<void*>(&_exit);
  for (const WrappedSymbol& symbol : kExitSymbols) AddWrapped(symbol);
}

}  // namespace gprof::tracer

#include "tracer/core/strict_mode.h"

#include <linux/seccomp.h>
#include <sys/prctl.h>

#include "tracer/capture/capture.h"
#include "tracer/core/notice.h"
#include "tracer/core/tracer.h"
#include "tracer/imports/import_slots.h"
#include "tracer/system/system_calls.h"

namespace gprof::tracer {
namespace {

WrapTarget target;

void EndRecording() {
  if (!IsRecording()) return;
  const ErrnoGuard errno_guard;
  Message message;
  message << "recording of this process ended when a thread entered seccomp's strict mode, which allows no more than "
             "read, write and exit";
  Say(trace::NoticeLevel::kWarning, message);
  EndCapture(trace::CaptureTrigger::kEnd, true);
  StopTracer();
  // What the last thread of a process leaves with is what its parent sees.
  WaitUntilWriterHasLeft();
}

int OnPrctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d) {
  if (option == PR_SET_SECCOMP && a == SECCOMP_MODE_STRICT) EndRecording();
  return reinterpret_cast<int (*)(int, unsigned long, unsigned long, unsigned long, unsigned long)>(target.real)(
      option, a, b, c, d);
}

const WrappedSymbol kPrctl = {"prctl", reinterpret_cast<void*>(&OnPrctl), &target};

}  // namespace

// The program may do it next. In other modules it is seen where imports are led to us at all.
void WatchForStrictMode() {
  target.real = reinterpret_cast<void*>(&prctl);
  AddWrapped(kPrctl);
  PatchProgram(kPrctl);
}

}  // namespace gprof::tracer

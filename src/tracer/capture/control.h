// What the launcher orders through the control page (include/gprof/trace/run_folder.h).
#pragma once

#include <cstdint>

#include "gprof/trace/record.h"
#include "gprof/trace/run_folder.h"
#include "tracer/core/collectors.h"
#include "tracer/core/config.h"

namespace gprof::tracer {

struct Order {
  uint32_t epoch = 0;
  trace::CaptureWish wish = trace::CaptureWish::kTriggered;
  trace::CaptureTrigger trigger{};
  OutputIdentity identity;
  char output[4096] = {};

  bool HasOutput() const { return output[0] != 0; }
};

bool LauncherIsAlive();
// Whether this is the program that the launcher started; true where there is no launcher to ask.
bool IsChildOfLauncher();
// What is new on the page since the last call; null when nothing is, or there is no page. [starting thread, then the
// writer thread]
const Order* NextOrder();

void OpenControl();
void ResetControlAfterFork();

// It has no records of its own; what it orders are captures.
inline constexpr Collector kControlCollector = {.start = OpenControl, .reset = ResetControlAfterFork};

}  // namespace gprof::tracer

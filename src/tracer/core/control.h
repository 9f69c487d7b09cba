// What the launcher orders through the control page (include/gprof/trace/run_folder.h).
#pragma once

#include <cstdint>

#include "gprof/trace/record.h"
#include "gprof/trace/run_folder.h"

namespace gprof::tracer {

struct Order {
  uint32_t epoch = 0;
  trace::CaptureWish wish = trace::CaptureWish::kTriggered;
  trace::CaptureTrigger trigger{};
  uint64_t output_device = 0, output_inode = 0;
  char output[4096] = {};
};

// Maps the page of the run's folder, if there is one.
void OpenControl();
bool LauncherIsAlive();
// False: there is no page, or nothing new on it since `order->epoch`.
bool ReadOrder(Order* order);

}  // namespace gprof::tracer

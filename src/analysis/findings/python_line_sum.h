// What a line of Python code did with the GPU, and what that cost: findings name the line that has most of one figure.
#pragma once

#include <cstdint>

#include "analysis/result/idle_causes.h"

namespace gprof {

// Of the calls that a line made, and the operations that they launched.
struct PythonLineSum {
  int64_t gpu_ns = 0;  // of operations; those that run at the same time count each for itself
  int64_t operations = 0, kernels = 0, copies = 0, pageable = 0;
  int64_t kernel_ns = 0, copy_ns = 0, pageable_ns = 0;
  int64_t calls = 0, call_ns = 0;
  int64_t waits = 0, wait_ns = 0;  // calls that synchronise, and copies that do
  int64_t sync_ns = 0;             // of those the calls that only do that
  int64_t memory_calls = 0, memory_ns = 0;
  CauseSplit idle;  // GPU idle time that ended with what the line launched, or that one of its calls is the cause of
  CauseSplit judged_idle;  // of that what lies in the time that the run is judged by
  int64_t IdleNs() const { return idle.Total(); }
};

}  // namespace gprof

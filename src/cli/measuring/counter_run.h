// A run of a program whose kernels are measured: what the tracer is asked for, and what is shown of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "counters/counter_plan.h"
#include "launch/run/launch.h"

namespace gprof::cli {

// As the options of `counters` have it; empty texts and zeros are what nobody asked for.
struct CounterWishes {
  counters::Wanted wanted;
  std::vector<std::vector<std::string>> more_metrics;  // of words that a chip answered
  std::string replay;                                  // auto, none, kernel, range
  std::string kernel, name_base, kernel_id;
  uint32_t skip_before = 0, skip = 0, count = 0;
  std::string mode;
  std::vector<std::string> devices;
  std::string graphs;            // graph: each launch of one is measured as one
  std::string caches, clocks;    // all: flushed before each pass; base or boost: what they are locked to
  bool ends_program = false;     // after the launches that `count` says
  std::string range_lines;       // of gprof/trace/counter_request.h
  std::string code_folder;       // instructions are sampled instead of counting, and their code is left here
  uint32_t sampling_period = 0;  // 2^n cycles; 0: as CUPTI has it
  uint32_t hang_limit_s = 20;    // 0: none
};

// Throws Error for a set, section or metric that there is not.
std::string CounterRequest(const CounterWishes& wishes);

// Nothing but counters.
LaunchOptions CounterLaunch(const CounterWishes& wishes);

}  // namespace gprof::cli

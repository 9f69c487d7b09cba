// What a test can say to PM sampling of the libcupti double, by mock_pm().
#pragma once

#include <cstddef>
#include <cstdint>

struct MockPm {
  int availability_result, enable_result, decode_result;  // 0, or what these functions answer
  int only_gpu;                                           // that they answer so of, counted from 1; 0: of all
  double (*value)(const char* metric, uint64_t start);
  uint64_t (*now)();    // CLOCK_REALTIME of the GPU
  const char* missing;  // metrics that the machine lacks, with commas between
  int most_counters;    // of one pass; 0: enough
  int buffer_samples;   // that the hardware buffer holds; 0: all
  // What was asked for.
  uint64_t interval_ns;
  size_t buffer_bytes;
  int counters, decodes;
  int hosts, enabled;  // objects that there are
};

extern "C" MockPm* mock_pm();

// What the launcher asked for, read once from the environment (include/gprof/trace/env.h).
#pragma once

#include <cstdint>

namespace gprof::tracer {

struct TracerConfig {
  char output[4096] = {};
  bool wants_cuda = true;
  bool wants_nvtx = true;
  bool wants_all_apis = false;
  bool wants_graph_nodes = false;
  bool wants_memory_usage = false;
  bool wants_managed_memory = false;
  bool is_quiet = false;
  uint32_t flush_ms = 500;
  char cupti[4096] = {};
  uint64_t output_device = 0, output_inode = 0;  // 0: any file will do

  bool IsOn() const { return output[0] != 0; }
  static void FromEnv(TracerConfig* config);
  // A GPROF_ variable that no version up to this one knows is a typing error, and is said to be one.
  static void SayUnknownVariables();
};

}  // namespace gprof::tracer

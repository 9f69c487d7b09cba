// What a trace holds, from the headers of its chunks alone, if it is whole: a blink for a file of any size.
#pragma once

#include <cstdint>
#include <string>

namespace gprof::cli {

struct Recorded {
  uint64_t processes = 0, seen_processes = 0;  // that the tracer was in, and others
  uint64_t kernels = 0, graph_launches = 0, copies = 0, memsets = 0, api_calls = 0, nvtx_events = 0, cpu_samples = 0;
  uint64_t chunks = 0;  // but for the first, which the launcher writes
  uint64_t loss_records = 0;
  uint64_t bytes = 0;
  uint64_t saved_bytes = 0;  // by compression
  bool is_damaged = false;   // there is something in the file that is no chunk, or chunks are missing

  bool HasLosses() const { return loss_records != 0 || is_damaged; }
  // Nobody has written to it since it was made, or nothing that can be read.
  bool HasNothing() const { return chunks == 0; }
  // The tracer was in no process of the run.
  bool IsSeenOnly() const { return processes == 0 && seen_processes != 0; }
};

Recorded ScanTrace(const std::string& path);

// " (compressed from 5.22 MB)"; empty where nothing is compressed.
std::string CompressedFrom(const Recorded& recorded);

// "1 process, 12,345 kernels, 20 copies, 1.20 MB"
std::string Describe(const Recorded& recorded);

}  // namespace gprof::cli

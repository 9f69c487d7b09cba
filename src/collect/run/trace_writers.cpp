#include "collect/run/trace_writers.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "base/machine/descriptor.h"
#include "gprof/trace/file.h"
#include "gprof/trace/seen_process.h"

namespace gprof {

TraceWriters WritersOf(const std::string& path) {
  TraceWriters writers;
  const int descriptor = OpenHigh(path.c_str(), O_RDONLY, 0);
  if (descriptor < 0) return writers;
  unsigned char bytes[trace::kChunkHeaderBytes];
  trace::ChunkHeader header;
  for (off_t at = 0; pread(descriptor, bytes, sizeof bytes, at) == static_cast<ssize_t>(sizeof bytes) &&
                     trace::ReadHeader(bytes, &header) == trace::HeaderStatus::kGood;
       at += static_cast<off_t>(trace::kChunkHeaderBytes + header.body_bytes)) {
    if ((header.flags & trace::kChunkCollector) != 0 || header.process.image == trace::kSeenImage) continue;
    writers.processes.emplace(static_cast<pid_t>(header.process.pid), header.process.start_ticks);
    if (header.first_ns == 0 || header.first_ns > header.last_ns) continue;
    writers.first_ns = std::min(writers.first_ns, header.first_ns);
    writers.last_ns = std::max(writers.last_ns, header.last_ns);
  }
  close(descriptor);
  return writers;
}

}  // namespace gprof

#include "collect/run/arenas.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "base/machine/descriptor.h"
#include "collect/run/open_proc_file.h"
#include "gprof/trace/file.h"
#include "gprof/trace/run_folder.h"
#include "gprof/trace/seen_process.h"

namespace gprof {
namespace {

// Read, not mapped: the file may be cut short meanwhile.
std::optional<TracedProcess> ReadArena(const std::string& path) {
  const int descriptor = OpenHigh(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
  if (descriptor < 0) return std::nullopt;
  alignas(trace::ArenaHeader) unsigned char bytes[sizeof(trace::ArenaHeader)];
  const bool is_read = pread(descriptor, bytes, sizeof bytes, 0) == static_cast<ssize_t>(sizeof bytes);
  close(descriptor);
  const auto* const header = reinterpret_cast<const trace::ArenaHeader*>(bytes);
  const bool is_target =
      is_read && header->magic == trace::kArenaMagic &&
      header->owner.load(std::memory_order_relaxed) == static_cast<uint32_t>(trace::ArenaOwner::kTarget);
  if (!is_target || header->pid == 0) return std::nullopt;
  TracedProcess process;
  process.pid = static_cast<pid_t>(header->pid);
  process.start_ticks = static_cast<int64_t>(header->start_ticks);
  process.is_recording =
      header->state.load(std::memory_order_relaxed) == static_cast<uint32_t>(trace::ArenaState::kRecording);
  process.path = path;
  process.sample_page = header->sample_page.load(std::memory_order_acquire);
  for (const std::atomic<uint32_t>& thread : header->threads) {
    const auto tid = static_cast<pid_t>(thread.load(std::memory_order_relaxed));
    if (tid > 0) process.threads.push_back(tid);
  }
  return process;
}

}  // namespace

std::vector<TracedProcess> TracedProcessesIn(const std::string& run_folder) {
  std::vector<TracedProcess> processes;
  for (const std::string& folder : {run_folder, run_folder + "/" + trace::kOthersFolder}) {
    ForEachEntry(folder, [&](std::string_view name) {
      if (!name.ends_with(trace::kArenaSuffix)) return;
      if (auto process = ReadArena(folder + "/" + std::string(name))) processes.push_back(std::move(*process));
    });
  }
  return processes;
}

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

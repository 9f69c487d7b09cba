#include "cli/recording/recorded.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <optional>
#include <set>
#include <string_view>
#include <tuple>

#include "base/units.h"
#include "gprof/trace/file.h"
#include "gprof/trace/record.h"
#include "gprof/trace/seen_process.h"
#include "trace/file/mapped_file.h"
#include "trace/file/reader.h"

namespace gprof::cli {
namespace {

using trace::RecordKind;

void Count(const trace::ChunkHeader& header, Recorded* recorded) {
  switch (static_cast<RecordKind>(header.kind)) {
    case RecordKind::kKernel:
      recorded->kernels += header.record_count;
      break;
    case RecordKind::kGraphLaunch:
      recorded->graph_launches += header.record_count;
      break;
    case RecordKind::kMemcpy:
    case RecordKind::kPeerCopy:
      recorded->copies += header.record_count;
      break;
    case RecordKind::kMemset:
      recorded->memsets += header.record_count;
      break;
    case RecordKind::kApi:
      recorded->api_calls += header.record_count;
      break;
    case RecordKind::kNvtx:
      recorded->nvtx_events += header.record_count;
      break;
    case RecordKind::kCpuSample:
      recorded->cpu_samples += header.record_count;
      break;
    case RecordKind::kLoss:
      recorded->loss_records += header.record_count;
      break;
    default:
      break;
  }
}

class Scan {
 public:
  explicit Scan(uint64_t bytes) { recorded_.bytes = bytes; }

  void Add(const trace::ChunkHeader& header) {
    if (header.process.image == trace::kFirstChunkImage) return;
    ++recorded_.chunks;
    Count(header, &recorded_);
    const bool is_packed = (header.flags & trace::kChunkZstd) != 0 && header.unpacked_bytes > header.body_bytes;
    if (is_packed) recorded_.saved_bytes += header.unpacked_bytes - header.body_bytes;
    if ((header.flags & trace::kChunkCollector) != 0) return;
    const bool is_seen = header.process.image == trace::kSeenImage;
    (is_seen ? seen_ : processes_).emplace(header.process.host, header.process.start_ticks, header.process.pid);
  }
  Recorded Finish(bool is_damaged) {
    recorded_.processes = processes_.size();
    recorded_.seen_processes = seen_.size();
    recorded_.is_damaged = is_damaged;
    return recorded_;
  }

 private:
  Recorded recorded_;
  // A process that called exec has several images, and is one process.
  std::set<std::tuple<uint64_t, uint64_t, uint32_t>> processes_, seen_;
};

// From header to header. Nothing: there is damage.
std::optional<Recorded> ScanHeaders(int descriptor, uint64_t size_bytes) {
  Scan scan(size_bytes);
  unsigned char bytes[trace::kChunkHeaderBytes];
  trace::ChunkHeader header;
  off_t at = 0;
  while (pread(descriptor, bytes, sizeof bytes, at) == static_cast<ssize_t>(sizeof bytes) &&
         trace::ReadHeader(bytes, &header) == trace::HeaderStatus::kGood) {
    scan.Add(header);
    at += static_cast<off_t>(trace::kChunkHeaderBytes + header.body_bytes);
  }
  return static_cast<uint64_t>(at) == size_bytes ? std::optional(scan.Finish(false)) : std::nullopt;
}

// As a report reads it.
Recorded ScanDamaged(std::string_view bytes) {
  Scan scan(bytes.size());
  Reader reader(bytes);
  for (Chunk chunk; reader.Next(&chunk);) {
    if (!chunk.is_duplicate) scan.Add(chunk.header);
  }
  const TraceHealth& health = reader.health();
  return scan.Finish(health.damaged_chunks + health.skipped_bytes + health.missing_chunks != 0 || health.is_truncated);
}

}  // namespace

Recorded ScanTrace(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return {};
  struct stat status;
  std::optional<Recorded> recorded = Recorded{};
  if (fstat(descriptor, &status) == 0) recorded = ScanHeaders(descriptor, static_cast<uint64_t>(status.st_size));
  close(descriptor);
  return recorded ? *recorded : ScanDamaged(MappedFile(path).bytes());
}

std::string Describe(const Recorded& recorded) {
  const uint64_t processes = recorded.IsSeenOnly() ? recorded.seen_processes : recorded.processes;
  std::string text = CountOf(static_cast<int64_t>(processes), "process", "processes");
  if (recorded.IsSeenOnly()) text += " without CUDA or NVTX calls";
  const auto add = [&text](uint64_t count, const char* noun, const char* plural) {
    if (count != 0) text += ", " + CountOf(static_cast<int64_t>(count), noun, plural);
  };
  add(recorded.kernels, "kernel", "kernels");
  add(recorded.graph_launches, "graph launch", "graph launches");
  add(recorded.copies, "copy", "copies");
  add(recorded.memsets, "memset", "memsets");
  if (recorded.kernels == 0) add(recorded.api_calls, "CUDA call", "CUDA calls");
  add(recorded.nvtx_events, "NVTX event", "NVTX events");
  if (recorded.IsSeenOnly()) add(recorded.cpu_samples, "CPU sample", "CPU samples");
  return text + ", " + FormatBytes(recorded.bytes) + CompressedFrom(recorded);
}

std::string CompressedFrom(const Recorded& recorded) {
  if (recorded.saved_bytes == 0) return "";
  return " (compressed from " + FormatBytes(recorded.bytes + recorded.saved_bytes) + ")";
}

}  // namespace gprof::cli

#include "cli/recording/recorded.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <set>
#include <tuple>

#include "base/units.h"
#include "gprof/trace/file.h"
#include "gprof/trace/record.h"
#include "gprof/trace/seen_process.h"

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

void Scan(int descriptor, Recorded* recorded) {
  // A process that called exec has several images, and is one process.
  std::set<std::tuple<uint64_t, uint64_t, uint32_t>> processes, seen;
  unsigned char bytes[trace::kChunkHeaderBytes];
  trace::ChunkHeader header;
  off_t at = 0;
  while (pread(descriptor, bytes, sizeof bytes, at) == static_cast<ssize_t>(sizeof bytes) &&
         trace::ReadHeader(bytes, &header) == trace::HeaderStatus::kGood) {
    Count(header, recorded);
    const bool is_packed = (header.flags & trace::kChunkZstd) != 0 && header.unpacked_bytes > header.body_bytes;
    if (is_packed) recorded->saved_bytes += header.unpacked_bytes - header.body_bytes;
    const bool is_collector = (header.flags & trace::kChunkCollector) != 0;
    const bool is_seen = header.process.image == trace::kSeenImage;
    if (!is_collector) {
      (is_seen ? seen : processes).emplace(header.process.host, header.process.start_ticks, header.process.pid);
    }
    at += static_cast<off_t>(trace::kChunkHeaderBytes + header.body_bytes);
  }
  recorded->processes = processes.size();
  recorded->seen_processes = seen.size();
  recorded->is_readable = static_cast<uint64_t>(at) == recorded->bytes;
}

}  // namespace

Recorded ScanTrace(const std::string& path) {
  Recorded recorded;
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return recorded;
  struct stat status;
  if (fstat(descriptor, &status) == 0) {
    recorded.bytes = static_cast<uint64_t>(status.st_size);
    Scan(descriptor, &recorded);
  }
  close(descriptor);
  return recorded;
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

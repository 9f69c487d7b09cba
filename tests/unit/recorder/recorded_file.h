// A trace file that a test appends chunks to, as a tracer does.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "recorder/ring.h"
#include "trace/write/append.h"
#include "trace/write/chunk_writer.h"

namespace gprof {

constexpr int64_t kSecond = 1'000'000'000;

class RecordedFile {
 public:
  explicit RecordedFile(const char* pattern = "/dev/shm/gprof-ring-XXXXXX") : path_(pattern) {
    const int descriptor = mkstemp(path_.data());
    EXPECT_GE(descriptor, 0);
    close(descriptor);
    ChunkWriter first(&dictionary_, {.process = {0, 0, 1, trace::kFirstChunkImage}, .run = kRun, .is_collector = true});
    first.Want(trace::RecordKind::kNotice);
    Append(&first);
  }
  ~RecordedFile() {
    unlink(path_.c_str());
    unlink(Ring::LastingPath(path_).c_str());
  }
  RecordedFile(const RecordedFile&) = delete;
  RecordedFile& operator=(const RecordedFile&) = delete;

  // One chunk for each kind.
  template <class... R>
  void Add(const R&... records) {
    ChunkWriter writer(&dictionary_, {.process = kProcess, .sequence = sequence_, .run = kRun});
    (writer.Add(records), ...);
    Append(&writer);
    sequence_ = writer.options().sequence;
  }

  trace::StringId Name(std::string_view text) { return dictionary_.String(text); }
  TraceFile file() const { return {path_, 0, 0, kRun}; }
  const std::string& path() const { return path_; }

  static constexpr uint64_t kRun = 77;
  static constexpr trace::ProcessKey kProcess = {1, 2, 3, 0};

 private:
  void Append(ChunkWriter* writer) {
    std::string bytes;
    writer->Take(&bytes);
    EXPECT_EQ(AppendChunks({path_, 0, 0, 0}, bytes).error, 0);
  }

  std::string path_;
  Dictionary dictionary_;
  uint64_t sequence_ = 0;
};

inline trace::KernelRecord Kernel(int64_t start_ns, int64_t duration_ns = 1000) {
  trace::KernelRecord kernel;
  kernel.start_ns = static_cast<uint64_t>(start_ns);
  kernel.duration_ns = static_cast<uint64_t>(duration_ns);
  return kernel;
}

inline trace::NvtxRecord Range(trace::NvtxEvent event, int64_t time_ns, trace::StringId name = {}) {
  trace::NvtxRecord range;
  range.time_ns = static_cast<uint64_t>(time_ns);
  range.tid = 3;
  range.event = static_cast<uint8_t>(event);
  range.message = name;
  return range;
}

}  // namespace gprof

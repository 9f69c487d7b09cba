// Traces for other tools. A format is a file <name>.cpp with one function, declared in exporters.h, and a line in
// export.cpp; what all of them share is here.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "export/output/output_stream.h"
#include "gprof/trace.h"

namespace gprof {

enum class FoldedWeight : uint8_t { kGpu, kPython, kHost, kCpu };

struct ExportOptions {
  std::string kind{};                        // csv, jsonl: the one kind of record to write
  FoldedWeight weight = FoldedWeight::kGpu;  // folded: whose time
  bool full_names = false;                   // folded: kernels with their arguments
  // Called now and then with what has been done of what there is to do. It may throw to end the export.
  std::function<void(uint64_t done, uint64_t total)> progress;
};

// Counts for the progress of an export; calls are cheap enough to be made for every record.
class ExportProgress {
 public:
  ExportProgress(const ExportOptions& options, uint64_t total) : options_(options), total_(total) {}
  void Add(uint64_t count = 1) {
    done_ += count;
    if (done_ < next_) return;
    next_ = done_ + kStep;
    if (options_.progress) options_.progress(done_, total_);
  }

 private:
  static constexpr uint64_t kStep = 1 << 14;
  const ExportOptions& options_;
  uint64_t total_ = 0, done_ = 0, next_ = kStep;
};

struct Exporter {
  std::string_view name;       // the word for --format
  std::string_view extension;  // of its files, with the dot: ".pftrace"; empty for a folder
  std::string_view summary;    // one line for --list
  bool is_compressed = false;  // with gzip in any case: its readers expect it
  // Exactly one of these is set.
  // Bytes in order: they may go to stdout, and may be compressed on the way.
  void (*write)(const Trace&, const ExportOptions&, OutputStream&) = nullptr;
  // Makes the file at a path at which there is nothing yet.
  void (*write_file)(const Trace&, const ExportOptions&, const std::string& path) = nullptr;
  // Puts files into a folder, which is there and empty. The same files whatever the trace holds, so that nothing of an
  // earlier export stays beside them.
  void (*write_folder)(const Trace&, const ExportOptions&, const std::string& folder) = nullptr;
  // Throws Error for a trace that it has nothing of; nullptr where that is a result as well.
  void (*refuse_empty)(const Trace&) = nullptr;

  bool IsFolder() const { return write_folder != nullptr; }
  bool IsStream() const { return write != nullptr; }
};

// In the order in which --list shows them.
std::span<const Exporter> AllExporters();
const Exporter* FindExporter(std::string_view name);
// The exporter whose files are named as `path` is, ".gz" at its end left out; nullptr where none is.
const Exporter* ExporterForPath(std::string_view path);
// ".gz" at the end: a stream is compressed.
bool IsCompressedName(std::string_view path);

}  // namespace gprof

#include "cli/recording/compress_trace.h"

#include <sys/stat.h>

#include <algorithm>
#include <exception>
#include <string>

#include "base/machine/parallel.h"
#include "cli/recording/progress_line.h"
#include "cli/talk.h"
#include "export/output/fresh_output.h"
#include "gprof/trace/file.h"
#include "launch/run/relay.h"
#include "trace/file/mapped_file.h"
#include "trace/write/compress.h"

namespace gprof::cli {
namespace {

// Each compresses some 700 MB/s: with more of them, what is done by one, reading and writing, decides.
constexpr std::size_t kMostThreads = 8;

// Of the file that was recorded into; 0 where something else has its name now.
uint64_t SizeOf(const FinishedTrace& trace) {
  struct stat status;
  const bool is_it = stat(trace.path.c_str(), &status) == 0 && status.st_dev == trace.device &&
                     status.st_ino == trace.inode && S_ISREG(status.st_mode);
  return is_it ? static_cast<uint64_t>(status.st_size) : 0;
}

// Returns why the trace is not compressed; empty: it is, or there is nothing to compress.
std::string Compress(const FinishedTrace& trace, bool is_quiet) {
  if (trace::HoldsNothing(SizeOf(trace))) return {};
  const std::string why = trace.why_not_final();
  if (!why.empty()) return why;
  const MappedFile file(trace.path);
  const uint64_t size = file.bytes().size();
  FreshOutput fresh(trace.path, FreshOutput::Kind::kBytes);
  ProgressLine line("compress");
  CompressOptions options;
  options.threads = std::min(UsableCores(), kMostThreads);
  options.progress = [&](uint64_t done) {
    if (IsAskedToStop()) throw Interrupted{};
    if (!is_quiet) line.Show(done, size);
    file.DropPages();
  };
  const CompressedTrace result =
      CompressTrace(file.bytes(), options, [&](std::string_view piece) { fresh.Write(piece); });
  if (result.compressed_chunks == 0) return {};
  fresh.MakeAsGoodAs(trace.path);
  if (SizeOf(trace) != size) return "the file was changed in the meantime";
  fresh.Finish();
  return {};
}

std::string TryToCompress(const FinishedTrace& trace, bool is_quiet) {
  try {
    return Compress(trace, is_quiet);
  } catch (const Interrupted&) {
    return "interrupted";
  } catch (const std::exception& error) {
    return error.what();
  }
}

}  // namespace

void CompressFinishedTrace(const FinishedTrace& trace, bool is_quiet) {
  const std::string why = TryToCompress(trace, is_quiet);
  if (!why.empty() && !is_quiet) Warn("'" + trace.path + "' was not compressed: " + why);
}

}  // namespace gprof::cli

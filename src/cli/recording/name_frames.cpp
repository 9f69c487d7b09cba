#include "cli/recording/name_frames.h"

#include <cstring>
#include <exception>
#include <string>

#include "cli/talk.h"
#include "collect/symbols/missing_symbols.h"
#include "gprof/trace/file.h"
#include "trace/file/mapped_file.h"
#include "trace/write/append.h"

namespace gprof::cli {
namespace {

// Why they have no names; empty: they have.
std::string TryToName(const FinishedTrace& trace) {
  const TraceFile file = {trace.path, trace.device, trace.inode, trace.run};
  try {
    if (trace::HoldsNothing(SizeOf(file).value_or(0))) return {};
    const MappedFile mapped(trace.path);
    DebugFileOptions options;
    options.takes_exports = true;
    const std::string chunks = NameFramesOfEnded(mapped.bytes(), options);
    if (chunks.empty()) return {};
    const Appended appended = AppendChunks(file, chunks);
    return appended.error == 0 ? "" : std::strerror(appended.error);
  } catch (const std::exception& error) {
    return error.what();
  }
}

}  // namespace

void NameFrames(const FinishedTrace& trace, bool is_quiet) {
  const std::string why = TryToName(trace);
  if (!why.empty() && !is_quiet) Warn("functions on call stacks in '" + trace.path + "' were not named: " + why);
}

}  // namespace gprof::cli

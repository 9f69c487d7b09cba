#include "import/kineto/kineto.h"

#include <fmt/format.h>

#include <algorithm>

#include "gprof/error.h"
#include "import/kineto/chrome_reader.h"
#include "import/kineto/kineto_import.h"
#include "import/shared/byte_window.h"
#include "trace/file/file_kind.h"
#include "trace/file/memory_budget.h"

namespace gprof {
namespace {

constexpr std::string_view kHint =
    "gprof-cli reads traces of 'gprof-cli profile', SQLite exports of Nsight Systems, JSON from torch.profiler "
    "(Kineto) or Chrome, and the output of ncu --csv --page raw";

[[noreturn]] void Fail(const std::string& path, const std::string& why) {
  throw Error(ExitCode::kUnreadable, fmt::format("cannot read '{}': {}", path, why), std::string(kHint));
}

Trace Read(ByteWindow& window, const std::string& path, std::string_view file, MemoryBudget* budget) {
  // Packed ones get here; the words for them are with the reader of our own traces.
  if (IsDocumentOfOurs(window.bytes())) return LoadTraceFromMemory(window.bytes(), path);
  if (window.bytes().starts_with("SQLite format 3"))
    throw Error(ExitCode::kUnreadable, fmt::format("cannot read '{}': a compressed SQLite file", path),
                "unpack it with gzip -d and use the result");
  KinetoImport import(path, budget);
  ChromeReader reader(&window, &import);
  reader.Read();
  if (reader.event_count() == 0) {
    if (!window.damage().empty()) Fail(path, window.damage());
    if (reader.is_bad()) Fail(path, fmt::format("invalid JSON at byte {}", reader.bad_position()));
    if (reader.bad_event_count() > 0)
      Fail(path, fmt::format("no trace events, invalid JSON at byte {}", reader.bad_position()));
    if (!reader.has_events()) Fail(path, reader.is_cut() ? "truncated JSON" : "JSON without traceEvents");
  }
  return import.Finish(reader, window.damage(), file.size());
}

bool HasEvents(std::string_view text) {
  const std::size_t first = text.find_first_of("{[");
  if (first == std::string_view::npos || text.find_first_not_of(" \t\r\n\xEF\xBB\xBF") != first) return false;
  return text.find(text[first] == '{' ? "\"traceEvents\"" : "\"ph\"") != std::string_view::npos;
}

}  // namespace

bool IsKineto(std::string_view bytes) {
  // Before the events, torch.profiler lists the ranks of all process groups.
  constexpr std::size_t kStepBytes = 64 << 10, kMostBytes = 4 << 20;
  try {
    ByteWindow window(bytes, kStepBytes);
    do {
      if (HasEvents(window.bytes().substr(0, kMostBytes))) return true;
    } while (window.bytes().size() < kMostBytes && window.More());
  } catch (const Error&) {
    // No text unpacks to this.
  }
  return false;
}

Trace ReadKineto(std::string_view bytes, const std::string& path) {
  try {
    MemoryBudget budget(path, bytes.size());
    ByteWindow window(bytes, ByteWindow::kStepBytes, &budget);
    return Read(window, path, bytes, &budget);
  } catch (const Error& e) {
    if (std::string_view(e.what()).starts_with("cannot ")) throw;
    throw Error(e.code(), fmt::format("cannot read '{}': {}", path, e.what()), e.hint());
  }
}

}  // namespace gprof

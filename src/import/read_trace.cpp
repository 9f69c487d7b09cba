#include "import/read_trace.h"

#include "import/kineto/kineto.h"
#include "import/ncu/ncu_csv.h"
#include "import/nsight/nsight.h"
#include "import/nsight/nsight_report.h"
#include "import/shared/byte_window.h"
#include "import/snapshot/pickle.h"
#include "import/snapshot/snapshot.h"
#include "trace/file/file_kind.h"
#include "trace/file/mapped_file.h"
#include "trace/file/memory_budget.h"

namespace gprof {
namespace {

using namespace std::string_view_literals;

// Space and byte order mark before the first character of JSON.
std::string_view WithoutBlanks(std::string_view bytes) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF"sv;
  if (bytes.starts_with(kByteOrderMark)) bytes.remove_prefix(kByteOrderMark.size());
  const std::size_t at = bytes.find_first_not_of(" \t\r\n");
  return at == std::string_view::npos ? std::string_view() : bytes.substr(at);
}

// CSV of ncu is unpacked as a whole.
Trace ReadPacked(std::string_view bytes, const std::string& path) {
  constexpr std::size_t kLooked = 1 << 16;
  MemoryBudget budget(path, bytes.size());
  ByteWindow text(bytes, kLooked, &budget);
  text.More();
  if (FormatOf(text.bytes()) != TraceFormat::kUnknown || !IsNcuCsv(text.bytes())) return ReadKineto(bytes, path);
  while (text.More()) {
  }
  return ReadNcuCsv(text.bytes(), path, &budget);
}

}  // namespace

TraceFormat FormatOf(std::string_view bytes) {
  if (bytes.starts_with(ChunkMagic())) return TraceFormat::kGprof;
  if (bytes.starts_with("SQLite format 3\0"sv)) return TraceFormat::kSqlite;
  if (bytes.starts_with("\x1F\x8B"sv)) return TraceFormat::kGzip;
  if (Pickle::IsPickle(bytes)) return TraceFormat::kPickle;
  const std::string_view text = WithoutBlanks(bytes);
  return text.starts_with('{') || text.starts_with('[') ? TraceFormat::kJson : TraceFormat::kUnknown;
}

Trace ReadTrace(const std::string& path) {
  const MappedFile file(path == "-" ? "/dev/stdin" : path);
  switch (FormatOf(file.bytes())) {
    case TraceFormat::kSqlite:
      return ReadNsight(path);
    case TraceFormat::kJson:
      if (IsDocumentOfOurs(file.bytes())) break;
      return ReadKineto(file.bytes(), path);
    case TraceFormat::kGzip:
      return ReadPacked(file.bytes(), path);
    case TraceFormat::kPickle:
      return ReadSnapshot(file.bytes(), path);
    case TraceFormat::kUnknown:
      if (IsNsightReport(path)) return ReadNsightReport(path);
      if (IsNcuReport(path)) RefuseNcuReport(path);
      if (IsNcuCsv(file.bytes())) return ReadNcuCsv(file.bytes(), path);
      break;
    case TraceFormat::kGprof:
      break;
  }
  // Damaged traces of ours, too; for what is none its reader has the words.
  return LoadTraceFromMemory(file.bytes(), path);
}

}  // namespace gprof

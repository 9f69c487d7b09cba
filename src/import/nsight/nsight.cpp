#include "import/nsight/nsight.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "gprof/error.h"
#include "import/nsight/nsight_import.h"
#include "import/nsight/sqlite_reader.h"

namespace gprof {
namespace {

constexpr int64_t kNsPerSecond = 1'000'000'000;

// One of these is in every export that has something to read.
// clang-format off
constexpr std::string_view kTables[] = {
    "CUPTI_ACTIVITY_KIND_KERNEL",      "CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET",
    "CUPTI_ACTIVITY_KIND_RUNTIME",     "NVTX_EVENTS",                "META_DATA_EXPORT",
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE", "EXPORT_META_DATA",           "TARGET_INFO_SESSION_START_TIME"};
// clang-format on

void CheckIsExport(const SqliteReader& file) {
  if (file.HasTable("CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL") || file.HasTable("StringTable")) {
    throw Error(ExitCode::kUnreadable, fmt::format("cannot read '{}': nvprof databases are not supported", file.path()),
                "record with 'gprof-cli profile', or record with Nsight Systems and export it");
  }
  const bool is_export = file.HasTable("StringIds") && std::any_of(std::begin(kTables), std::end(kTables),
                                                                   [&](auto name) { return file.HasTable(name); });
  if (is_export) return;
  throw Error(ExitCode::kUnreadable,
              fmt::format("cannot read '{}': an SQLite database, but not an Nsight Systems export (no table "
                          "StringIds, or no tables of recorded events)",
                          file.path()),
              "create an export with nsys export --type sqlite FILE.nsys-rep");
}

}  // namespace

Trace ReadNsight(const std::string& path) {
  const SqliteReader file(path);
  CheckIsExport(file);
  int64_t shift_ns = 0;
  {
    NsightImport import(file, shift_ns);
    Trace trace = import.Run();
    if (import.needed_shift_ns() == 0) return trace;
    shift_ns = import.needed_shift_ns();
  }
  // Something is before the session: whole seconds, so that times are still those of the tool but for them.
  shift_ns = (shift_ns + kNsPerSecond - 1) / kNsPerSecond * kNsPerSecond;
  return NsightImport(file, shift_ns).Run();
}

}  // namespace gprof

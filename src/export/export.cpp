// The table of formats. A new one is a file <name>.cpp, its function in exporters.h, a line here and in CMakeLists.txt,
// and a section in docs/export.md.
#include "export/export.h"

#include <algorithm>
#include <array>

#include "export/exporters.h"

namespace gprof {
namespace {

constexpr std::string_view kCompressed = ".gz";

// clang-format off
constexpr std::array kExporters = {
    Exporter{.name = "perfetto", .extension = ".pftrace", .summary = "timeline for ui.perfetto.dev, in its own format",
             .write = WritePerfetto},
    Exporter{.name = "chrome", .extension = ".json",
             .summary = "timeline as torch.profiler writes it: chrome://tracing, Perfetto, HTA", .write = WriteChrome},
    Exporter{.name = "sqlite", .extension = ".sqlite", .summary = "SQLite database like that of Nsight Systems, for SQL and nsys stats",
             .write_file = WriteSqlite},
    Exporter{.name = "csv", .extension = ".csv", .summary = "one table per record kind; a single one with --kind",
             .write = WriteCsv, .write_folder = WriteCsvFolder},
    Exporter{.name = "jsonl", .extension = ".jsonl", .summary = "the same tables, one JSON object per line",
             .write = WriteJsonl, .write_folder = WriteJsonlFolder},
    Exporter{.name = "parquet", .extension = ".parquet", .summary = "the same tables as Parquet files, for DuckDB, Polars and Spark",
             .write_folder = WriteParquetFolder},
    Exporter{.name = "ncu", .extension = ".ncu.csv",
             .summary = "kernel counters as ncu --csv --page raw prints them", .write = WriteNcu},
    Exporter{.name = "folded", .extension = ".folded",
             .summary = "stacks for flame graphs, from NVTX ranges and kernels or from CPU samples", .write = WriteFolded},
    Exporter{.name = "speedscope", .extension = ".speedscope.json", .summary = "CPU samples by thread, for speedscope.app",
             .write = WriteSpeedscope, .refuse_empty = RefuseWithoutSamples},
    Exporter{.name = "pprof", .extension = ".pb", .summary = "CPU samples and GPU time by stack, for pprof (gzip-compressed)",
             .is_compressed = true, .write = WritePprof, .refuse_empty = RefuseWithoutStacks},
    Exporter{.name = "otlp", .extension = ".otlp", .summary = "the same as OpenTelemetry profiles (OTLP, v1development)",
             .write = WriteOtlp},
};
// clang-format on

}  // namespace

std::span<const Exporter> AllExporters() { return kExporters; }

const Exporter* FindExporter(std::string_view name) {
  const auto found =
      std::find_if(kExporters.begin(), kExporters.end(), [name](const Exporter& e) { return e.name == name; });
  return found == kExporters.end() ? nullptr : &*found;
}

const Exporter* ExporterForPath(std::string_view path) {
  if (IsCompressedName(path)) path.remove_suffix(kCompressed.size());
  const Exporter* found = nullptr;  // with the longest of them: ".speedscope.json" is ".json", too
  for (const Exporter& e : kExporters) {
    const bool is_one = !e.extension.empty() && path.ends_with(e.extension);
    if (is_one && (found == nullptr || e.extension.size() > found->extension.size())) found = &e;
  }
  return found;
}

bool IsCompressedName(std::string_view path) { return path.ends_with(kCompressed); }

}  // namespace gprof

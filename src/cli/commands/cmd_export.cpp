// gprof-cli export: a trace for other tools. docs/commands/export.md
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "base/units.h"
#include "cli/arguments/options.h"
#include "cli/arguments/selection_arguments.h"
#include "cli/commands/commands.h"
#include "cli/fleet/partial_tables.h"
#include "cli/recording/leftovers.h"
#include "cli/recording/progress_line.h"
#include "cli/talk.h"
#include "export/export.h"
#include "export/exporters.h"
#include "export/output/fresh_output.h"
#include "fleet/partial/partial_file.h"
#include "import/read_trace.h"

namespace gprof::cli {
namespace {

std::vector<std::string> FormatNames() {
  std::vector<std::string> names;
  for (const Exporter& exporter : AllExporters()) names.emplace_back(exporter.name);
  return names;
}

std::string FormatChoice() {
  std::string choice;
  for (const std::string& name : FormatNames()) choice += (choice.empty() ? "" : "|") + name;
  return choice;
}

bool IsTable(const Exporter& exporter) { return exporter.IsFolder() && exporter.IsStream(); }

class Export : public Command {
 public:
  void AddOptions(CLI::App& app) override {
    app.add_option("TRACE", trace_, "the trace to export");
    app.add_option("-t,--format,--type", format_, "output format (default: from the file extension)")
        ->type_name(FormatChoice())
        ->group("Output");
    app.add_option("-o,--output", output_, "file or folder to write (atomically); - for stdout")
        ->type_name("FILE")
        ->group("Output");
    app.add_flag("-f,--force-overwrite", may_overwrite_, "overwrite existing files")->group("Output");
    app.add_flag("--compress", is_compressed_, "compress with gzip, as does a file name ending in .gz")
        ->group("Output");
    app.add_flag("--list", wants_list_, "list the formats and exit")->group("Output");
    app.add_flag("-q,--quiet", is_quiet_, "print only errors")->group("Output");
    AddRawCsvOption(app);
    app.add_option("--kind", options_.kind, "csv, jsonl: only this record kind, as one file")
        ->type_name("KIND")
        ->group("Export options");
    app.add_option("--weight", weight_,
                   "folded: weight by GPU time (default where there is any), GPU time by Python stack, host time, or "
                   "CPU samples "
                   "(default otherwise)")
        ->type_name("gpu|python|host|cpu")
        ->check(OneOf({"gpu", "python", "host", "cpu"}))
        ->group("Export options");
    app.add_flag("--full-names", options_.full_names, "folded: do not shorten kernel and function names")
        ->group("Export options");
    selection_.AddOptions(app);
    AddMemoryLimitOption(app);
  }

  int Run() override {
    if (wants_list_) return List();
    if (trace_.empty())
      throw Error(ExitCode::kUsage, "no trace given", "usage: gprof-cli export TRACE --format F [-o FILE]");
    const Exporter& exporter = Choose();
    is_compressed_ = is_compressed_ || exporter.is_compressed;
    const std::string path = output_.empty() ? NameFor(exporter) : output_;
    Check(exporter, path);
    RecoverEarlierRuns();
    if (IsPartialFile(trace_)) return ExportPartial(exporter, path);
    Trace trace = ReadTrace(trace_);
    const Selection selection = selection_.Read();
    if (!selection.IsEmpty()) trace = Select(std::move(trace), selection);
    if (exporter.refuse_empty != nullptr) exporter.refuse_empty(trace);
    options_.weight = WeightOf(trace);
    try {
      Write(exporter, trace, path);
    } catch (const ReaderHasGone&) {
    } catch (const Interrupted&) {
      // Only where the signal that was raised again is blocked.
      return CodeOf(ExitCode::kUnreadable);
    }
    return CodeOf(ExitCode::kGood);
  }

 private:
  FoldedWeight WeightOf(const Trace& trace) const {
    if (weight_ == "host") return FoldedWeight::kHost;
    if (weight_ == "python") return FoldedWeight::kPython;
    const bool has_cpu_alone = trace.ops.empty() && !trace.cpu_samples.empty();
    return weight_ == "cpu" || (weight_.empty() && has_cpu_alone) ? FoldedWeight::kCpu : FoldedWeight::kGpu;
  }

  static int List() {
    std::string text;
    for (const Exporter& exporter : AllExporters()) {
      std::string line(exporter.name);
      line.resize(std::max<std::size_t>(line.size() + 1, 12), ' ');
      line += exporter.extension;
      line.resize(std::max<std::size_t>(line.size() + 1, 30), ' ');
      text += line + std::string(exporter.summary) + "\n";
    }
    WriteResult(text);
    return CodeOf(ExitCode::kGood);
  }

  const Exporter& Choose() const {
    if (!format_.empty()) {
      if (const Exporter* exporter = FindExporter(format_)) return *exporter;
      throw Error(ExitCode::kUsage, "unknown format '" + format_ + "'",
                  NearestHint(format_, FormatNames(), "gprof-cli export --list lists them"));
    }
    if (const Exporter* exporter = ExporterForPath(output_)) return *exporter;
    throw Error(ExitCode::kUsage,
                output_.empty() ? "no export format given" : "cannot tell the format from the name '" + output_ + "'",
                "add --format " + FormatChoice());
  }

  // What is kept of its ranks, as tables.
  int ExportPartial(const Exporter& exporter, const std::string& path) const {
    if (!selection_.Read().IsEmpty() || !options_.kind.empty()) {
      throw Error(ExitCode::kUsage, "a selection needs the records of a trace; a partial does not have them",
                  "export the trace, or the whole partial");
    }
    if (!exporter.IsFolder()) {
      throw Error(ExitCode::kUsage, "--format " + std::string(exporter.name) + " needs the records of a trace",
                  "a partial has tables: --format csv, jsonl or parquet");
    }
    FreshOutput output(path, FreshOutput::Kind::kFolder);
    WritePartialTables(RanksOf(trace_), exporter.name, output.work_path());
    output.Finish();
    if (!is_quiet_) Say("wrote " + ShellQuoted(path));
    return CodeOf(ExitCode::kGood);
  }

  bool IsStream(const Exporter& exporter) const {
    return exporter.IsStream() && (!exporter.IsFolder() || !options_.kind.empty());
  }

  // "run.pftrace" beside run.trace.
  std::string NameFor(const Exporter& exporter) const {
    std::filesystem::path path(trace_);
    if (path.extension() == ".trace" || path.extension() == ".gpart") path.replace_extension();
    if (exporter.IsFolder() && options_.kind.empty()) return path.string() + "-" + std::string(exporter.name);
    return path.string() + (options_.kind.empty() ? "" : "." + options_.kind) + std::string(exporter.extension) +
           (is_compressed_ ? ".gz" : "");
  }

  // Before the trace is read, which may take a while.
  void Check(const Exporter& exporter, const std::string& path) const {
    const std::string name(exporter.name);
    if (!options_.kind.empty() && !IsTable(exporter))
      throw Error(ExitCode::kUsage, "--kind works with csv and jsonl only, not with " + name);
    if (!weight_.empty() && name != "folded")
      throw Error(ExitCode::kUsage, "--weight works with folded only, not with " + name);
    if (options_.full_names && name != "folded")
      throw Error(ExitCode::kUsage, "--full-names works with folded only, not with " + name);
    const bool is_file_name = exporter.IsFolder() && ExporterForPath(path) == &exporter;
    if (!IsStream(exporter) && exporter.IsFolder() && (is_file_name || path == "-")) {
      throw Error(ExitCode::kUsage, name + " writes one file per record kind",
                  IsTable(exporter) ? "select one with --kind, for example --kind kernel, or name a folder with -o"
                                    : "name a folder with -o");
    }
    if (!IsStream(exporter) && (is_compressed_ || IsCompressedName(path)))
      throw Error(ExitCode::kUsage, name + " cannot be compressed by export", "remove --compress and the .gz ending");
    if (!IsStream(exporter) && path == "-")
      throw Error(ExitCode::kUsage, name + " cannot be written to stdout", "name a file with -o");
    if (path == "-") return CheckTerminal(name);
    RefuseExisting(exporter, path);
  }

  void CheckTerminal(const std::string& name) const {
    if ((name == "perfetto" || is_compressed_) && isatty(STDOUT_FILENO) == 1)
      throw Error(ExitCode::kUsage, name + " output is binary, and stdout is a terminal", "name a file with -o");
  }

  void RefuseExisting(const Exporter& exporter, const std::string& path) const {
    namespace fs = std::filesystem;
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    const bool wants_folder = !IsStream(exporter) && exporter.IsFolder();
    if (!fs::exists(status)) return;
    if (fs::equivalent(path, trace_, error))
      throw Error(ExitCode::kUsage, "'" + path + "' is the trace itself", "choose another file with -o");
    if (wants_folder != fs::is_directory(status)) {
      throw Error(ExitCode::kUsage, "'" + path + "' is " + (wants_folder ? "not a folder" : "a folder"),
                  "choose another name with -o");
    }
    if (!fs::is_regular_file(status) && !wants_folder) return;  // a pipe, /dev/null
    if (!may_overwrite_ && !(wants_folder && fs::is_empty(path, error)))
      throw Error(ExitCode::kUsage, "'" + path + "' already exists", "overwrite it with -f, or choose another with -o");
  }

  void Write(const Exporter& exporter, const Trace& trace, const std::string& path) {
    ProgressLine line("export");
    options_.progress = [&line](uint64_t done, uint64_t total) { line.Show(done, total); };
    if (path == "-")
      return WriteStream(exporter, trace, is_compressed_, [](std::string_view bytes) {
        if (!WriteResult(bytes)) throw ReaderHasGone{};
      });
    const bool is_stream = IsStream(exporter);
    FreshOutput output(path, is_stream             ? FreshOutput::Kind::kBytes
                             : exporter.IsFolder() ? FreshOutput::Kind::kFolder
                                                   : FreshOutput::Kind::kFile);
    if (is_stream) {
      WriteStream(exporter, trace, is_compressed_ || IsCompressedName(path),
                  [&](std::string_view bytes) { output.Write(bytes); });
    } else if (exporter.IsFolder()) {
      exporter.write_folder(trace, options_, output.work_path());
    } else {
      exporter.write_file(trace, options_, output.work_path());
    }
    output.Finish();
    line.Clear();
    if (!is_quiet_) Say("wrote " + ShellQuoted(path) + SizeOf(path));
  }

  void WriteStream(const Exporter& exporter, const Trace& trace, bool is_compressed, OutputStream::Sink sink) const {
    OutputStream stream(std::move(sink), is_compressed);
    exporter.write(trace, options_, stream);
    stream.Finish();
  }

  static std::string SizeOf(const std::string& path) {
    std::error_code error;
    if (!std::filesystem::is_regular_file(path, error)) return "";
    const uintmax_t bytes = std::filesystem::file_size(path, error);
    return error ? "" : ", " + FormatBytes(bytes);
  }

  SelectionArguments selection_;
  std::string trace_, format_, output_, weight_;
  bool may_overwrite_ = false, is_compressed_ = false, wants_list_ = false, is_quiet_ = false;
  ExportOptions options_;
};

}  // namespace

std::unique_ptr<Command> MakeExport() { return std::make_unique<Export>(); }

}  // namespace gprof::cli

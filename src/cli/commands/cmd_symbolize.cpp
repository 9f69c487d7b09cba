// gprof-cli symbolize: names of functions from separate debug files. docs/commands/symbolize.md
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>

#include "base/text.h"
#include "base/units.h"
#include "cli/commands/commands.h"
#include "cli/recording/leftovers.h"
#include "cli/talk.h"
#include "collect/symbols/missing_symbols.h"
#include "export/output/fresh_output.h"
#include "trace/file/mapped_file.h"
#include "trace/write/append.h"

namespace gprof::cli {
namespace {

class Symbolize : public Command {
 public:
  void AddOptions(CLI::App& app) override {
    app.add_option("TRACE", trace_, "the trace whose function names to resolve");
    app.add_option("--debug-dir", options_.folders, "folder with debug files, laid out like /usr/lib/debug; repeatable")
        ->type_name("FOLDER")
        ->allow_extra_args(false)
        ->group("Debug files");
    app.add_flag("--debuginfod", options_.asks_debuginfod,
                 "fetch missing debug files from the servers of DEBUGINFOD_URLS, with debuginfod-find")
        ->group("Debug files");
    app.add_option("-o,--output", output_, "write a new trace (atomically) instead of appending to TRACE")
        ->type_name("FILE")
        ->group("Output");
    app.add_flag("-f,--force-overwrite", may_overwrite_, "overwrite an existing file")->group("Output");
    app.add_flag("-q,--quiet", is_quiet_, "print only errors")->group("Output");
  }

  int Run() override {
    if (trace_.empty()) throw Error(ExitCode::kUsage, "no trace given", "usage: gprof-cli symbolize TRACE [options]");
    const char* const servers = std::getenv("DEBUGINFOD_URLS");
    if (options_.asks_debuginfod && (servers == nullptr || *servers == 0))
      throw Error(ExitCode::kUsage, "--debuginfod needs servers", "set DEBUGINFOD_URLS to their addresses");
    std::error_code error;
    if (!output_.empty() && !may_overwrite_ && std::filesystem::exists(output_, error))
      throw Error(ExitCode::kUsage, "'" + output_ + "' already exists",
                  "overwrite it with -f, or choose another with -o");
    RecoverEarlierRuns();
    const MappedFile file(trace_);
    const MissingSymbols found = FindMissingSymbols(file.bytes(), trace_, options_);
    if (output_.empty()) {
      Append(found.chunks);
    } else {
      FreshOutput fresh(output_, FreshOutput::Kind::kBytes);
      fresh.Write(file.bytes());
      fresh.Write(found.chunks);
      fresh.Finish();
    }
    if (!is_quiet_) Tell(found);
    return CodeOf(ExitCode::kGood);
  }

 private:
  void Append(const std::string& chunks) const {
    if (chunks.empty()) return;
    const Appended appended = AppendChunks({trace_}, chunks);
    if (appended.error == 0) return;
    throw Error(ExitCode::kUnreadable, "cannot append to '" + trace_ + "': " + std::strerror(appended.error),
                "write a new trace with -o");
  }

  static void Tell(const MissingSymbols& found) {
    uint64_t frames = 0, named = 0, lines = 0;
    for (const MissingSymbols::File& file : found.files) {
      frames += file.frames;
      named += file.named;
      lines += file.lines;
      if (file.named != 0 || file.frames == 0) continue;
      Say(fmt::format("no symbols found for '{}' ({})", file.path,
                      file.build_id.empty() ? "no build id" : "build id " + file.build_id));
    }
    Say(frames == 0 ? "nothing to resolve: no code address in the trace lacks a name"
                    : fmt::format("named {} of {} without a name", FormatCount(static_cast<int64_t>(named)),
                                  CountOf(static_cast<int64_t>(frames), "code address", "code addresses")));
    if (lines != 0) Say("source lines added: " + FormatCount(static_cast<int64_t>(lines)));
  }

  std::string trace_, output_;
  bool may_overwrite_ = false, is_quiet_ = false;
  DebugFileOptions options_;
};

}  // namespace

std::unique_ptr<Command> MakeSymbolize() { return std::make_unique<Symbolize>(); }

}  // namespace gprof::cli

// gprof-cli dump: every record as text. docs/commands/dump.md
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "base/text.h"
#include "cli/arguments/options.h"
#include "cli/commands/commands.h"
#include "cli/recording/leftovers.h"
#include "cli/talk.h"
#include "gprof/trace/record.h"
#include "trace/file/mapped_file.h"
#include "trace/text/dump.h"

namespace gprof::cli {
namespace {

constexpr std::size_t kBufferBytes = 1 << 16;

// Nobody reads the output any more.
struct ReaderHasGone {};

// Collects lines, so that there is not a system call for each.
class LineOutput {
 public:
  void Add(std::string_view line) {
    buffer_ += line;
    buffer_ += '\n';
    if (buffer_.size() >= kBufferBytes) Flush();
  }

  void Flush() {
    if (!WriteResult(buffer_)) throw ReaderHasGone{};
    buffer_.clear();
  }

 private:
  std::string buffer_;
};

trace::RecordKind KindOf(const std::string& name) {
  std::vector<std::string> names;
  trace::RecordKind kind{};
  trace::ForEachKind([&](auto* record) {
    using Record = std::remove_pointer_t<decltype(record)>;
    names.emplace_back(Record::kName);
    if (name == Record::kName) kind = Record::kKind;
  });
  if (kind != trace::RecordKind{}) return kind;
  throw Error(ExitCode::kUsage, "unknown record kind '" + name + "'",
              NearestHint(name, names, "available: " + Joined(names)));
}

class Dump : public Command {
 public:
  void AddOptions(CLI::App& app) override {
    app.add_option("TRACE", trace_, "the trace to print");
    app.add_option("--kind", kinds_, "only these record kinds, comma-separated")->type_name("LIST")->group("Display");
    app.add_flag("--all-fields", options_.has_all_fields, "also print fields with their default value")
        ->group("Display");
    app.add_flag("--no-chunks", no_chunks_, "omit chunk lines")->group("Display");
  }

  int Run() override {
    if (trace_.empty()) throw Error(ExitCode::kUsage, "no trace given", "usage: gprof-cli dump TRACE [options]");
    options_.path = trace_;
    options_.has_chunk_lines = !no_chunks_;
    if (!kinds_.empty()) {
      for (const std::string& name : SplitList(kinds_)) options_.kinds.push_back(KindOf(name));
    }
    RecoverEarlierRuns();
    const MappedFile file(trace_);
    LineOutput output;
    try {
      DumpRecords(file.bytes(), options_, [&output](std::string_view line) { output.Add(line); });
      output.Flush();
    } catch (const ReaderHasGone&) {
      return CodeOf(ExitCode::kGood);
    }
    return CodeOf(ExitCode::kGood);
  }

 private:
  std::string trace_, kinds_;
  bool no_chunks_ = false;
  DumpOptions options_;
};

}  // namespace

std::unique_ptr<Command> MakeDump() { return std::make_unique<Dump>(); }

}  // namespace gprof::cli

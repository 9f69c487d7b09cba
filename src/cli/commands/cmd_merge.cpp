// gprof-cli merge: partials as one. docs/commands/merge.md
#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "cli/commands/commands.h"
#include "cli/talk.h"
#include "export/output/fresh_output.h"
#include "fleet/partial_file.h"
#include "trace/file/mapped_file.h"

namespace gprof::cli {
namespace {

class Merge : public Command {
 public:
  void AddOptions(CLI::App& app) override {
    app.add_option("PARTIAL", paths_, "partials to join; each rank is counted once")->type_name("");
    app.add_option("-o,--output", output_, "the partial to write, atomically")
        ->type_name("FILE.gpart")
        ->group("Output");
  }

  int Run() override {
    if (paths_.empty() || output_.empty()) {
      throw Error(ExitCode::kUsage, paths_.empty() ? "no partial given" : "no output given",
                  "usage: gprof-cli merge A.gpart B.gpart... -o ALL.gpart");
    }
    std::vector<std::unique_ptr<MappedFile>> files;
    std::vector<NamedBytes> bytes;
    for (const std::string& path : paths_) {
      files.push_back(std::make_unique<MappedFile>(path));
      bytes.push_back({path, files.back()->bytes()});
    }
    FreshOutput output(output_, FreshOutput::Kind::kBytes);
    MergePartials(bytes, [&output](std::string_view piece) { output.Write(piece); });
    output.Finish();
    return CodeOf(ExitCode::kGood);
  }

 private:
  std::vector<std::string> paths_;
  std::string output_;
};

}  // namespace

std::unique_ptr<Command> MakeMerge() { return std::make_unique<Merge>(); }

}  // namespace gprof::cli

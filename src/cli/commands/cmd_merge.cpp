// gprof-cli merge: partials as one. docs/commands/merge.md
#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "cli/commands/commands.h"
#include "cli/talk.h"
#include "export/output/fresh_output.h"
#include "fleet/partial/partial_file.h"

namespace gprof::cli {
namespace {

class Merge : public Command {
 public:
  void AddOptions(CLI::App& app) override {
    app.add_option("PARTIAL", paths_, "partials to merge; each rank counts once")->type_name("");
    app.add_option("-o,--output", output_, "partial to write (atomically)")->type_name("FILE.gpart")->group("Output");
  }

  int Run() override {
    if (paths_.empty() || output_.empty()) {
      throw Error(ExitCode::kUsage, paths_.empty() ? "no partial given" : "no output given",
                  "usage: gprof-cli merge A.gpart B.gpart... -o ALL.gpart");
    }
    const PartialFiles files(paths_);
    FreshOutput output(output_, FreshOutput::Kind::kBytes);
    MergePartials(files.bytes(), [&output](std::string_view piece) { output.Write(piece); });
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

// gprof-cli explain: the numbers behind one finding, and how to check them. docs/commands/explain.md
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "analysis/findings/finding_catalogue.h"
#include "base/terminal.h"
#include "base/text.h"
#include "cli/arguments/options.h"
#include "cli/commands/commands.h"
#include "cli/pager.h"
#include "cli/recording/leftovers.h"
#include "cli/render/answers/render_answers.h"
#include "cli/talk.h"
#include "cli/traces.h"
#include "report/answers/explanation.h"

namespace gprof::cli {
namespace {

class ExplainCommand : public Command {
 public:
  void AddOptions(CLI::App& app) override {
    app.add_option("TRACE", path_, "trace with the finding")->type_name("")->required();
    app.add_option("FINDING", word_,
                   "its evidence id (memcpy.pageable#2), its id, its number in the report, or a fact that was not "
                   "recorded (cpu_samples)")
        ->type_name("")
        ->required();
    AddPagerOption(app);
    app.add_option("--format", format_, "text (default) or json")
        ->type_name("text|json")
        ->check(OneOf({"text", "json"}))
        ->group("Output");
    AddMemoryLimitOption(app);
  }

  int Run() override {
    RecoverEarlierRuns();
    std::vector<TraceSummary> none;
    const Input input = LoadInput({path_}, &none);
    std::vector<const Analysis*> analyses;
    for (const Analysis& analysis : AllAnalyses()) analyses.push_back(&analysis);
    AnalysisOptions options;
    options.max_rows = kRowsToExplain;
    const Report report = std::visit([&](const auto& whole) { return RunAnalyses(whole, analyses, options); }, input);
    const Explanation explanation = Explain(report, word_);
    if (explanation.answer == AnswerKind::kNoSuchWord) RefuseWord(report);
    WritePaged(format_ == "json" ? RenderExplanationJson(report, explanation)
                                 : RenderExplanationText(explanation, DetectTerminal(STDOUT_FILENO)));
    return CodeOf(explanation.answer == AnswerKind::kCannotTell ? ExitCode::kInconclusive : ExitCode::kGood);
  }

 private:
  [[noreturn]] void RefuseWord(const Report& report) const {
    std::vector<std::string> names;
    for (const NamedFinding& named : NamedFindings(report)) names.push_back(named.evidence);
    const std::string there = names.empty() ? "the trace has no findings" : "the trace has " + JoinedUpTo(5, names);
    for (const FindingInfo& info : FindingCatalogue()) names.emplace_back(info.id);
    throw Error(ExitCode::kUsage, "no finding is called '" + word_ + "'", NearestHint(word_, names, there));
  }

  std::string path_, word_;
  std::string format_ = "text";
};

}  // namespace

std::unique_ptr<Command> MakeExplain() { return std::make_unique<ExplainCommand>(); }

}  // namespace gprof::cli

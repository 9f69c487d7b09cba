// gprof-cli tree: the time of GPUs by module, operator and kernel, and idle time by cause and line, as a full screen or
// printed. docs/commands/tree.md
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/terminal.h"
#include "base/text.h"
#include "cli/arguments/options.h"
#include "cli/arguments/selection_arguments.h"
#include "cli/commands/commands.h"
#include "cli/pager.h"
#include "cli/recording/leftovers.h"
#include "cli/render/answers/render_answers.h"
#include "cli/screen/full_screen.h"
#include "cli/screen/render_tree.h"
#include "cli/screen/tree_screen.h"
#include "cli/traces.h"
#include "report/answers/explanation.h"
#include "report/tree/row_findings.h"

namespace gprof::cli {
namespace {

constexpr uint32_t kDepth = 12;

TreeBy TreeCalled(const std::string& by) {
  return by == "stack" ? TreeBy::kStack : by == "nvtx" ? TreeBy::kRange : TreeBy::kModule;
}

// What a trace has to say, and how it is shown.
class TreeReader {
 public:
  TreeReader(const Trace& trace, const std::string& only) : input_(trace), only_(only) {}

  // `by`: as the option; empty: work by module, idle time by cause.
  std::vector<NamedTree> Trees(const std::string& by) const {
    TimeTree tree = TimeTreeOf(input_, TreeCalled(by));
    std::vector<NamedTree> trees;
    if (only_ != "idle") trees.push_back({"GPU time (operations)", std::move(tree.gpu)});
    if (only_ != "gpu")
      trees.push_back({"GPU idle (pieces of gaps)", by.empty() ? IdleByCause(input_) : std::move(tree.idle), true});
    return trees;
  }

  // Those that say something of this trace, for the one who walks through all.
  std::vector<std::string> Known() const {
    std::vector<std::string> known = {""};
    for (const TreeBy by : KnownTrees(input_))
      known.emplace_back(by == TreeBy::kStack ? "stack" : by == TreeBy::kRange ? "nvtx" : "module");
    return known;
  }

  // Empty where there are none.
  std::string FindingsText(const TreeRows& rows, std::size_t columns) {
    if (!report_) report_ = Analyse();
    std::string text;
    const std::vector<NamedFinding> all = NamedFindings(*report_);
    for (const NamedFinding* named : FindingsAbout(all, rows.current().tree->is_idle, rows.PathOfCurrent())) {
      Terminal terminal;
      terminal.columns = columns;
      text += (text.empty() ? "" : "\n\n") + RenderExplanationText(Explain(*report_, named->evidence), terminal);
    }
    return text;
  }

 private:
  Report Analyse() const {
    std::vector<const Analysis*> analyses;
    for (const Analysis& analysis : AllAnalyses()) analyses.push_back(&analysis);
    AnalysisOptions options;
    options.max_rows = kRowsToExplain;
    return RunAnalyses(input_.trace(), analyses, options);
  }

  const AnalysisInput input_;
  const std::string only_;
  std::optional<Report> report_;
};

std::string WordsFor(const std::string& by) {
  return by == "stack"    ? "by Python stack"
         : by == "nvtx"   ? "by NVTX range"
         : by == "module" ? "by module"
                          : "work by module, idle time by cause";
}

// The screen of a reader until they leave.
class Visit {
 public:
  Visit(FullScreen* terminal, TreeReader* reader, std::string file, const std::string& by, uint32_t open_depth)
      : terminal_(*terminal),
        reader_(*reader),
        open_depth_(open_depth),
        views_(reader->Known()),
        screen_(std::move(file), WordsFor(by), TreeRows(reader->Trees(by), open_depth)) {
    const auto found = std::ranges::find(views_, by);
    now_ = static_cast<std::size_t>(found - views_.begin());
    if (found == views_.end()) views_.push_back(by);
    left_.resize(views_.size());
  }

  void Stay() {
    for (;;) {
      terminal_.Draw(screen_.Lines(terminal_.Size()));
      switch (screen_.Press(terminal_.Next())) {
        case Wish::kLeave:
          return;
        case Wish::kOtherTree:
          ShowNextTree();
          break;
        case Wish::kFindings:
          ShowFindings();
          break;
        case Wish::kNothing:
          break;
      }
    }
  }

 private:
  void ShowNextTree() {
    const std::size_t next = (now_ + 1) % views_.size();
    if (!left_[next]) {
      Wait("Adding up the time " + WordsFor(views_[next]) + "...");
      left_[next].emplace(reader_.Trees(views_[next]), open_depth_);
    }
    left_[now_] = screen_.ShowTree(WordsFor(views_[next]), *std::exchange(left_[next], std::nullopt));
    now_ = next;
  }

  void ShowFindings() {
    Wait("Analysing the trace...");
    const std::string text = reader_.FindingsText(screen_.rows(), terminal_.Size().columns);
    const std::string about = Printable(screen_.rows().current().name);
    if (text.empty()) return screen_.Say("No finding speaks of " + about + ".");
    screen_.ShowFindings("Findings about " + about, text);
  }

  void Wait(std::string message) {
    screen_.Say(std::move(message));
    terminal_.Draw(screen_.Lines(terminal_.Size()));
    screen_.Say("");
  }

  FullScreen& terminal_;
  TreeReader& reader_;
  const uint32_t open_depth_;
  std::vector<std::string> views_;
  std::size_t now_ = 0;
  std::vector<std::optional<TreeRows>> left_;  // of views, as they were left
  TreeScreen screen_;
};

class Tree : public Command {
 public:
  void AddOptions(CLI::App& app) override {
    app.add_option("TRACE", path_, "trace to show")->type_name("")->required();
    app.add_option("--only", only_, "GPU time (gpu), or idle time (idle); default both")
        ->type_name("gpu|idle")
        ->check(OneOf({"gpu", "idle"}))
        ->group("Display");
    app.add_option("--by", by_,
                   "where time belongs: module and operator (module), lines of Python (stack), or NVTX ranges (nvtx)")
        ->type_name("module|stack|nvtx")
        ->check(OneOf({"module", "stack", "nvtx"}))
        ->group("Display");
    app.add_option("--depth", depth_, "maximum depth (default 12); on the full screen: how deep it is open at first")
        ->type_name("N")
        ->check(WholeNumber(1, 1000))
        ->group("Display");
    app.add_option("--least", least_percent_,
                   "join what has less than this share of the time (default 1); the full screen has all")
        ->type_name("PERCENT")
        ->check(CLI::Range(0.0, 100.0).description(""))
        ->group("Display");
    app.add_flag("--plain", is_plain_, "print the tree; default where stdout is no terminal")->group("Display");
    AddPagerOption(app);
    selection_.AddOptions(app);
    AddMemoryLimitOption(app);
  }

  int Run() override {
    const Selection selection = selection_.Read();
    RecoverEarlierRuns();
    std::vector<TraceSummary> none;
    const Input whole = LoadInput({path_}, &none);
    const Trace& records = RequireRecords(whole, "a tree");
    const Trace selected = selection.IsEmpty() ? Trace() : Select(records, selection);
    const Trace& trace = selection.IsEmpty() ? records : selected;
    if (trace.ops.empty())
      throw Error(ExitCode::kInconclusive, "cannot tell: the trace has no GPU operations",
                  "gprof-cli report " + ShellQuoted(path_) + " says why");
    TreeReader reader(trace, only_);
    if (is_plain_ || !MayTakeScreen() || !FillScreen(&reader)) Print(reader);
    return CodeOf(ExitCode::kGood);
  }

 private:
  // False: the terminal cannot do it.
  bool FillScreen(TreeReader* reader) const {
    const std::unique_ptr<FullScreen> terminal = FullScreen::Open();
    if (terminal == nullptr) return false;
    const std::string file = std::filesystem::path(path_).filename().string();
    Visit(terminal.get(), reader, Printable(file), by_, depth_.value_or(0)).Stay();
    return true;
  }

  void Print(const TreeReader& reader) const {
    std::string text;
    for (const NamedTree& tree : reader.Trees(by_)) {
      text += text.empty() ? "" : "\n";
      text += RenderTree(tree, least_percent_, depth_.value_or(kDepth), DetectTerminal(STDOUT_FILENO));
    }
    WritePaged(text);
  }

  SelectionArguments selection_;
  std::string path_, only_, by_;
  std::optional<uint32_t> depth_;
  double least_percent_ = 1;
  bool is_plain_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeTree() { return std::make_unique<Tree>(); }

}  // namespace gprof::cli

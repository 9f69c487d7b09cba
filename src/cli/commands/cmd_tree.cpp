// gprof-cli tree: the time of GPUs by module, operator and kernel, and idle time by cause and line.
// docs/commands/tree.md
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/terminal.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/arguments/options.h"
#include "cli/arguments/selection_arguments.h"
#include "cli/commands/commands.h"
#include "cli/pager.h"
#include "cli/recording/leftovers.h"
#include "cli/traces.h"
#include "report/tree/time_tree.h"

namespace gprof::cli {
namespace {

constexpr std::size_t kTimeColumns = 10, kShareColumns = 7, kCountColumns = 9;

using NamedNode = std::pair<std::string, const TimeNode*>;

// The largest first.
std::vector<NamedNode> InOrder(const TimeNode& node) {
  std::vector<NamedNode> nodes;
  for (const auto& [name, child] : node.children) nodes.emplace_back(name, &child);
  std::ranges::stable_sort(nodes, [](const NamedNode& a, const NamedNode& b) { return a.second->ns > b.second->ns; });
  return nodes;
}

class TreeText {
 public:
  TreeText(double least_percent, uint32_t depth, const Terminal& terminal)
      : least_percent_(least_percent), depth_(depth), terminal_(terminal), style_(terminal.has_color) {}

  void Add(const char* title, const TimeNode& root) {
    out_ += (out_.empty() ? "" : "\n") + style_.Bold(Line(root, root.ns, FormatCount(root.count), std::string(title))) +
            "\n";
    AddChildren(root, root.ns, 1);
  }

  std::string Take() { return std::move(out_); }

 private:
  void AddChildren(const TimeNode& node, int64_t whole_ns, uint32_t depth) {
    if (depth > depth_) return;
    TimeNode others;
    int64_t left_out = 0;
    for (const auto& [name, child] : InOrder(node)) {
      if (100.0 * static_cast<double>(child->ns) < least_percent_ * static_cast<double>(whole_ns)) {
        others.ns += child->ns, others.count += child->count, ++left_out;
        continue;
      }
      out_ += Line(*child, whole_ns, FormatCount(child->count), std::string(2 * depth, ' ') + Printable(name)) + "\n";
      AddChildren(*child, whole_ns, depth + 1);
    }
    if (left_out == 0) return;
    const std::string name = std::string(2 * depth, ' ') + CountOf(left_out, "smaller one");
    out_ += style_.Dim(Line(others, whole_ns, FormatCount(others.count), name)) + "\n";
  }

  std::string Line(const TimeNode& node, int64_t whole_ns, const std::string& count, const std::string& name) const {
    const double percent = whole_ns == 0 ? 0 : 100.0 * static_cast<double>(node.ns) / static_cast<double>(whole_ns);
    const std::string figures = fmt::format("{:>{}}{:>{}}{:>{}}  ", FormatNs(node.ns), kTimeColumns,
                                            FormatPercent(percent), kShareColumns, count, kCountColumns);
    const std::size_t room = terminal_.columns > figures.size() + 20 ? terminal_.columns - figures.size() : 20;
    return figures + ShortenMiddle(name, room);
  }

  const double least_percent_;
  const uint32_t depth_;
  const Terminal terminal_;
  const Style style_;
  std::string out_;
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
    app.add_option("--depth", depth_, "maximum depth (default 12)")
        ->type_name("N")
        ->check(WholeNumber(1, 1000))
        ->group("Display");
    app.add_option("--least", least_percent_, "join what has less than this share of the time (default 1)")
        ->type_name("PERCENT")
        ->check(CLI::Range(0.0, 100.0).description(""))
        ->group("Display");
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
    const TimeTree tree = TimeTreeOf(trace, by_ == "stack"  ? TreeBy::kStack
                                            : by_ == "nvtx" ? TreeBy::kRange
                                                            : TreeBy::kModule);
    TreeText text(least_percent_, depth_, DetectTerminal(STDOUT_FILENO));
    if (only_ != "idle") text.Add("GPU time (operations)", tree.gpu);
    if (only_ != "gpu") text.Add("GPU idle (pieces of gaps)", by_.empty() ? IdleByCause(trace) : tree.idle);
    WritePaged(text.Take());
    return CodeOf(ExitCode::kGood);
  }

 private:
  SelectionArguments selection_;
  std::string path_, only_, by_;
  uint32_t depth_ = 12;
  double least_percent_ = 1;
};

}  // namespace

std::unique_ptr<Command> MakeTree() { return std::make_unique<Tree>(); }

}  // namespace gprof::cli

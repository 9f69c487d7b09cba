#include <algorithm>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "base/units.h"
#include "cli/render/render_check.h"
#include "cli/render/text_layout.h"
#include "gate/check/check.h"
#include "report/trace_words.h"

namespace gprof::cli {
namespace {

constexpr std::size_t kIndent = 6;  // of what is below a rule: the width of a mark and two blanks

const char* MarkOf(Verdict verdict) {
  switch (verdict) {
    case Verdict::kPass:
      return "ok";
    case Verdict::kWarn:
      return "WARN";
    case Verdict::kFail:
      return "FAIL";
    case Verdict::kInconclusive:
      break;
  }
  return "NOT JUDGED";
}

class CheckText {
 public:
  CheckText(const CheckResult& result, bool is_verbose, const Terminal& terminal)
      : result_(result), is_verbose_(is_verbose), terminal_(terminal), style_(terminal.has_color) {
    terminal_.columns = std::min(terminal_.columns, kMaxProse);
  }

  std::string Render() {
    Head();
    for (const RuleResult& rule : result_.rules) {
      if (rule.verdict != Verdict::kPass) AddRule(rule);
    }
    AddAllKept();
    out_ += "\n";
    const std::string not_judged = NotJudgedLine(result_);
    if (!not_judged.empty()) out_ += style_.Yellow(Printable(not_judged)) + "\n";
    // One line whatever the width: scripts take it with `tail -n 1`.
    out_ += Colored(result_.verdict, Printable(result_.line)) + "\n";
    return std::move(out_);
  }

 private:
  void Head() {
    constexpr std::size_t kSources = 3;
    AddLabel("Budget", result_.name);
    AddLabel(result_.sources.size() == 1 ? "Run" : "Runs",
             (result_.sources.size() == 1 ? "" : std::to_string(result_.sources.size()) + ": ") +
                 JoinedUpTo(kSources, result_.sources));
    AddLabel("Selected", result_.selected);
    if (!result_.baseline.empty()) {
      AddLabel("Baseline", result_.baseline + ", " + CountOf(static_cast<int64_t>(result_.baseline_count), "run"));
    }
    std::string machine = JoinedUpTo(kSources, result_.fingerprint.gpus);
    if (!result_.fingerprint.driver_version.empty()) {
      machine += (machine.empty() ? "" : ", ") + std::string("CUDA driver ") + result_.fingerprint.driver_version;
    }
    AddLabel("Machine", machine);
    AddLabel("Commit", result_.fingerprint.commit);
    for (const std::string& note : result_.notes) AddLabel("Note", note);
  }

  void AddLabel(const std::string& label, const std::string& text) {
    if (!text.empty()) out_ += LabeledLine(label, text, terminal_);
  }

  // Figures are shown where all is well, too; beside rules that are not kept, only to those who ask.
  void AddAllKept() {
    constexpr std::size_t kMostShown = 20;
    std::vector<const RuleResult*> kept;
    for (const RuleResult& rule : result_.rules) {
      if (rule.verdict == Verdict::kPass) kept.push_back(&rule);
    }
    const bool are_all_kept = kept.size() == result_.rules.size();
    const std::size_t shown = is_verbose_ ? kept.size() : are_all_kept ? std::min(kept.size(), kMostShown) : 0;
    if (!kept.empty()) out_ += "\n";
    for (std::size_t i = 0; i < shown; ++i) AddKept(*kept[i]);
    if (shown == kept.size()) return;
    const auto hidden = static_cast<int64_t>(kept.size() - shown);
    out_ += style_.Dim(CountOf(hidden, shown == 0 ? "rule" : "more rule") + " passed (--verbose to list)") + "\n";
  }

  // What is kept needs no more than a line.
  void AddKept(const RuleResult& rule) {
    std::string_view mark = "ok";
    for (const std::string& line : Wrap(Printable(rule.rule + ": " + rule.message), terminal_.columns - kIndent)) {
      out_ += Colored(rule.verdict, std::string(mark)) + std::string(kIndent - mark.size(), ' ') + line + "\n";
      mark = "";
    }
  }

  void AddRule(const RuleResult& rule) {
    out_ += "\n";
    const std::string mark = rule.is_judged ? MarkOf(rule.verdict) : MarkOf(Verdict::kInconclusive);
    std::string before = Colored(rule.verdict, mark) + "  ";
    for (const std::string& line : Wrap(Printable(rule.rule), terminal_.columns - mark.size() - 2)) {
      out_ += before + style_.Bold(line) + "\n";
      before = std::string(kIndent, ' ');
    }
    const auto plain = [](const std::string& line) { return line; };
    const auto dim = [&](const std::string& line) { return style_.Dim(line); };
    AddLines(rule.message, kIndent, plain);
    if (!rule.evidence.empty() && rule.evidence != "1 run") AddLines(rule.evidence, kIndent, dim);
    if (!rule.reason.empty()) AddLines("Why: " + rule.reason, kIndent, plain);
    if (rule.file.empty()) return;
    out_ += std::string(kIndent, ' ') + style_.Dim(Printable(rule.file) + ":" + std::to_string(rule.line)) + "\n";
  }

  template <class F>
  void AddLines(const std::string& text, std::size_t indent, F styled) {
    for (const std::string& line : Wrap(Printable(text), terminal_.columns - indent)) {
      out_ += std::string(indent, ' ') + styled(line) + "\n";
    }
  }

  std::string Colored(Verdict verdict, const std::string& text) const {
    switch (verdict) {
      case Verdict::kPass:
        return style_.Green(text);
      case Verdict::kFail:
        return style_.Red(text);
      case Verdict::kWarn:
      case Verdict::kInconclusive:
        break;
    }
    return style_.Yellow(text);
  }

  const CheckResult& result_;
  const bool is_verbose_;
  Terminal terminal_;
  Style style_;
  std::string out_;
};

}  // namespace

std::string RenderCheckText(const CheckResult& result, bool is_verbose, const Terminal& terminal) {
  return CheckText(result, is_verbose, terminal).Render();
}

}  // namespace gprof::cli

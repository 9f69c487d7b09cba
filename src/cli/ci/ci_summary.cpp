#include <algorithm>
#include <cstddef>

#include "base/text.h"
#include "base/units.h"
#include "cli/ci/ci_formats.h"
#include "cli/render/markdown.h"
#include "gate/check/check.h"

namespace gprof::cli {
namespace {

constexpr std::size_t kLongestRule = 160;  // columns: signatures of kernels have thousands
constexpr std::size_t kLongestText = 600;
constexpr std::size_t kMostNotes = 20;
constexpr std::size_t kReserveBytes = 200;  // for the ends of tables, and for what was left out

class Summary {
 public:
  explicit Summary(const CheckResult& result) : result_(result) {}

  std::string Render() {
    out_ = "## " + Escaped(result_.line, kLongestText) + "\n\n";
    const std::string not_judged = NotJudgedLine(result_);
    if (!not_judged.empty()) out_ += "**" + Escaped(not_judged, kLongestText) + "**\n\n";
    out_ += Escaped(Made(), kLongestText) + "\n";
    Notes();
    BadRules();
    GoodRules();
    return std::move(out_);
  }

 private:
  static std::string Shortened(const std::string& text, std::size_t columns) {
    return ShortenMiddle(Printable(text), columns);
  }
  static std::string Escaped(const std::string& text, std::size_t columns) {
    return MarkdownEscaped(Shortened(text, columns));
  }

  bool Fits(const std::string& text) const { return out_.size() + text.size() + kReserveBytes <= kMostSummaryBytes; }

  // "Budget perf, 5 runs on NVIDIA H200, driver 13.0, commit 1a2b3c"
  std::string Made() const {
    const Fingerprint& made = result_.fingerprint;
    std::string text = "Budget " + result_.name;
    if (!result_.sources.empty()) text += ", " + CountOf(static_cast<int64_t>(result_.sources.size()), "run");
    if (!made.gpus.empty()) text += " on " + made.gpus.front();
    if (made.gpus.size() > 1) text += " and " + CountOf(static_cast<int64_t>(made.gpus.size() - 1), "other GPU");
    if (!made.driver_version.empty()) text += ", CUDA driver " + made.driver_version;
    if (!made.commit.empty()) text += ", commit " + made.commit;
    return text;
  }

  void Notes() {
    if (result_.notes.empty()) return;
    out_ += "\n";
    for (std::size_t i = 0; i < std::min(result_.notes.size(), kMostNotes); ++i) {
      out_ += "* " + Escaped(result_.notes[i], kLongestText) + "\n";
    }
    if (result_.notes.size() > kMostNotes)
      out_ += "* and " + std::to_string(result_.notes.size() - kMostNotes) + " more\n";
  }

  static std::string Row(const RuleResult& rule) {
    std::string what;
    for (const std::string& line : LinesOf(rule)) {
      what += (what.empty() ? "" : "<br>") + Escaped(line, kLongestText);
    }
    const std::string code = MarkdownCode(Shortened(rule.rule, kLongestRule), true);
    return "| **" + std::string(VerdictName(rule.verdict)) + "** | " + code + " | " + what + " |\n";
  }

  void LeftOut(std::size_t count) {
    if (count > 0)
      out_ += "\n" + CountOf(static_cast<int64_t>(count), "more rule is", "more rules are") + " not shown.\n";
  }

  void BadRules() {
    const std::vector<const RuleResult*> rules = WorstFirst(result_);
    if (rules.empty()) return;
    out_ += "\n| | Rule | Result |\n|---|---|---|\n";
    std::size_t shown = 0;
    for (; shown < rules.size(); ++shown) {
      const std::string row = Row(*rules[shown]);
      if (!Fits(row)) break;
      out_ += row;
    }
    LeftOut(rules.size() - shown);
  }

  void GoodRules() {
    std::vector<const RuleResult*> rules;
    for (const RuleResult& rule : result_.rules) {
      if (rule.verdict == Verdict::kPass) rules.push_back(&rule);
    }
    // Markdown in HTML is Markdown only behind an empty line.
    const std::string head = "\n<details><summary>" + CountOf(static_cast<int64_t>(rules.size()), "rule") +
                             " passed</summary>\n\n| Rule | Result |\n|---|---|\n";
    if (rules.empty() || !Fits(head)) return;
    out_ += head;
    std::size_t shown = 0;
    for (; shown < rules.size(); ++shown) {
      const std::string row = "| " + MarkdownCode(Shortened(rules[shown]->rule, kLongestRule), true) + " | " +
                              Escaped(rules[shown]->message, kLongestText) + " |\n";
      if (!Fits(row)) break;
      out_ += row;
    }
    LeftOut(rules.size() - shown);
    out_ += "\n</details>\n";
  }

  const CheckResult& result_;
  std::string out_;
};

}  // namespace

std::string RenderSummary(const CheckResult& result) { return Summary(result).Render(); }

}  // namespace gprof::cli

#include "cli/render/proof/render_bisect.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "base/json_style.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/render/markdown.h"
#include "cli/render/proof/labelled_lines.h"
#include "gate/budget/value_text.h"

namespace gprof::cli {
namespace {

std::string PercentSure(double probability) { return FormatPercent(100 * probability) + " sure"; }

std::string NameOf(const SourceVersion& version) {
  return version.short_id + (version.title.empty() ? "" : " (" + version.title + ")");
}

std::string EffectText(const JudgedFigure& figure, const FoundChange& change) {
  std::string text = figure.name + " " + FormatPercentChange(100 * change.effect);
  if (change.effect_low == change.effect_high) return text;
  return text + fmt::format(" (95% CI {}..{})", FormatPercentChange(100 * change.effect_low),
                            FormatPercentChange(100 * change.effect_high));
}

// Those between two versions that can be measured: it is one of them.
std::vector<const SourceVersion*> CulpritsOf(const FoundChange& change, const VersionSource& source) {
  std::vector<const SourceVersion*> culprits;
  for (uint32_t i = change.last_before + 1; i <= change.first_after; ++i) culprits.push_back(&source.versions()[i]);
  return culprits;
}

std::string CulpritText(const FoundChange& change, const VersionSource& source) {
  const std::vector<const SourceVersion*> culprits = CulpritsOf(change, source);
  if (culprits.size() == 1) return NameOf(*culprits.front());
  std::vector<std::string> names;
  for (const SourceVersion* version : culprits) names.push_back(NameOf(*version));
  return "one of these, as all but the last cannot be measured: " + Joined(names);
}

class Lines {
 public:
  explicit Lines(const BisectPage& page) : page_(page), outcome_(page.outcome), found_(page.outcome.found) {}

  std::vector<LabelledLine> Make() {
    const std::vector<SourceVersion>& versions = page_.source.versions();
    Add("Program", page_.program);
    Add("Between", NameOf(versions.front()) + " and " + NameOf(versions.back()) + ": " +
                       CountOf(static_cast<int64_t>(versions.size()) - 1, page_.source.noun()));
    AddAnswer();
    AddSkipped();
    Add("Cost", CostText());
    return std::move(lines_);
  }

 private:
  void Add(const char* label, std::string text) {
    if (!text.empty()) lines_.push_back({label, std::move(text)});
  }

  void AddAnswer() {
    if (!outcome_.why_ended.empty() || !found_.is_known) return AddWhatIsKnown();
    if (found_.changes.empty()) {
      Add("Result", "no change: " + outcome_.figure.name + " is the same in all of them, " +
                        PercentSure(found_.no_change_probability));
      return;
    }
    if (found_.changes.size() > 1) {
      Add("Result",
          CountOf(static_cast<int64_t>(found_.changes.size()), "change") + ", " + PercentSure(found_.probability));
    }
    for (const FoundChange& change : found_.changes) {
      Add("Culprit", CulpritText(change, page_.source) + ", " + PercentSure(change.probability));
      Add("Effect", EffectText(outcome_.figure, change));
    }
    AddWhatChanged();
    for (const FoundChange& change : found_.changes) {
      Add("Log", page_.source.LogLine(page_.source.versions()[change.first_after]));
    }
  }

  void AddWhatIsKnown() {
    Add("Result",
        "cannot tell: " + (outcome_.why_ended.empty() ? "too few versions can be measured" : outcome_.why_ended));
    for (const FoundChange& change : found_.likely) {
      if (change.probability < 0.01) continue;
      Add("Likely", CulpritText(change, page_.source) + ", " + PercentSure(change.probability) + ": " +
                        EffectText(outcome_.figure, change));
    }
    if (found_.no_change_probability >= 0.01) Add("Likely", "no change, " + PercentSure(found_.no_change_probability));
    if (found_.runs_left > 0) Add("Needed", "about " + CountOf(found_.runs_left, "more run", "more runs"));
  }

  void AddWhatChanged() {
    if (outcome_.before != 0 || outcome_.after != 0) {
      Add("Median", FormatValueBeside(outcome_.before, outcome_.after, outcome_.figure.unit) + " -> " +
                        FormatValueBeside(outcome_.after, outcome_.before, outcome_.figure.unit));
    }
    for (const std::string& text : outcome_.what_changed) Add("Changed", text);
  }

  void AddSkipped() {
    for (const BisectSkip& skip : outcome_.skipped) {
      Add("Skipped", page_.source.versions()[skip.version].short_id + ": " + skip.why);
    }
  }

  std::string CostText() const {
    std::string text = CountOf(outcome_.runs, "run");
    if (outcome_.builds > 0) text += ", " + CountOf(outcome_.builds, "build");
    text += " in " + FormatDuration(outcome_.wall_ns);
    if (found_.noise > 0) text += "; runs vary by " + FormatPercent(100 * found_.noise);
    return text;
  }

  const BisectPage& page_;
  const BisectOutcome& outcome_;
  const SearchResult& found_;
  std::vector<LabelledLine> lines_;
};

Json ChangeJson(const FoundChange& change, const VersionSource& source) {
  Json versions = Json::array();
  for (const SourceVersion* version : CulpritsOf(change, source)) {
    versions.push_back({{"id", version->id}, {"title", version->title}});
  }
  return {{"versions", versions},
          {"probability", change.probability},
          {"effect_percent", 100 * change.effect},
          {"effect_low_percent", 100 * change.effect_low},
          {"effect_high_percent", 100 * change.effect_high}};
}

}  // namespace

std::string RenderBisectText(const BisectPage& page, const Terminal& terminal) {
  return TextOfLines(Lines(page).Make(), terminal);
}

std::string RenderBisectMarkdown(const BisectPage& page) {
  return "## Bisection\n\n" + MarkdownOfLines(Lines(page).Make());
}

std::string RenderBisectJson(const BisectPage& page) {
  const BisectOutcome& outcome = page.outcome;
  const std::vector<SourceVersion>& versions = page.source.versions();
  Json json = {{"schema", "gprof.bisect/1"},
               {"program", page.program},
               {"kind", page.source.noun()},
               {"good", versions.front().id},
               {"bad", versions.back().id},
               {"versions", versions.size() - 1},
               {"figure", outcome.figure.name},
               {"is_known", outcome.why_ended.empty() && outcome.found.is_known},
               {"why_not", outcome.why_ended},
               {"probability", outcome.found.probability},
               {"no_change_probability", outcome.found.no_change_probability},
               {"changes", Json::array()},
               {"likely", Json::array()},
               {"explanation", outcome.what_changed},
               {"skipped", Json::array()},
               {"runs", outcome.runs},
               {"builds", outcome.builds},
               {"wall_ns", outcome.wall_ns},
               {"noise_percent", 100 * outcome.found.noise}};
  for (const FoundChange& change : outcome.found.changes) json["changes"].push_back(ChangeJson(change, page.source));
  for (const FoundChange& change : outcome.found.likely) json["likely"].push_back(ChangeJson(change, page.source));
  for (const BisectSkip& skip : outcome.skipped) {
    json["skipped"].push_back({{"id", versions[skip.version].id}, {"why", skip.why}});
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace gprof::cli

#include "cli/render/render_fleet.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "analysis/result/tables.h"
#include "base/table.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/render/text_layout.h"
#include "fleet/verdict/rank_numbers.h"
#include "report/trace_words.h"

namespace gprof::cli {
namespace {

constexpr std::size_t kMapRows = 12, kMapColumns = 60;
// Of the short form.
constexpr std::size_t kFindingsTold = 3, kMapRowsTold = 4, kGroupsTold = 4;

std::string AlignmentText(const Alignment& alignment) {
  std::string unfit;
  for (const std::string& name : alignment.unfit) unfit += (unfit.empty() ? "" : ", ") + name;
  if (!unfit.empty()) unfit = "; excluded because their collectives do not match: " + unfit;
  if (alignment.meetings.empty()) return "times of day as recorded: no collectives to align them with" + unfit;
  return fmt::format("aligned by collectives of {}, residual {} (95%: {}){}",
                     CountOf(static_cast<int64_t>(alignment.meetings.size()), "communicator"),
                     FormatNs(alignment.residual_ns), FormatNs(alignment.worst_residual_ns), unfit);
}

std::string NameOnMap(const RankSummary& rank) {
  return rank.rank >= 0 ? std::to_string(rank.rank) : ShortenMiddle(Printable(rank.source), 12);
}

// In percent above the median of the step.
char Shade(double percent) {
  if (percent < 2) return '.';
  if (percent < 5) return '-';
  if (percent < 10) return '+';
  return percent < 25 ? '*' : '#';
}

class FleetText {
 public:
  FleetText(const FleetVerdict& verdict, const Terminal& terminal)
      : verdict_(verdict), terminal_(terminal), style_(terminal.has_color) {
    prose_ = terminal_;
    prose_.columns = std::min(terminal_.columns, kMaxProse);
  }

  std::string RenderTables() {
    for (const Table& table : verdict_.tables) AddTable(table);
    return std::move(out_);
  }

  std::string Render() {
    AddHead();
    AddFindings(verdict_.findings.size());
    AddMap(kMapRows);
    return RenderTables();
  }

  std::string RenderBriefly(const std::string& input) {
    AddHead();
    AddFindings(kFindingsTold);
    AddMap(kMapRowsTold);
    for (const Table& table : verdict_.tables) {
      if (table.id == "groups" && table.rows.size() > 1) AddTable(FirstRows(table, kGroupsTold));
    }
    out_ += "\n" + LabeledLine("More", "gprof-cli ranks " + input + " --full", prose_);
    return std::move(out_);
  }

 private:
  void AddHead() {
    const auto add = [this](const char* label, const std::string& text) {
      if (!text.empty()) out_ += LabeledLine(label, text, prose_);
    };
    add("Ranks", RanksLine(verdict_));
    add("Clocks", ClocksLine(verdict_));
    add("Time", TimeText(verdict_));
    add("Path", PathText(verdict_));
  }

  static Table FirstRows(Table table, std::size_t rows) {
    if (table.rows.size() > rows) table.rows.resize(rows);
    return table;
  }

  void AddFindings(std::size_t most) {
    Heading("Findings");
    if (verdict_.findings.empty()) out_ += "  " + NothingText(verdict_) + "\n";
    AddSomeFindings(std::min(most, verdict_.findings.size()));
    if (verdict_.findings.size() > most) {
      out_ += fmt::format("     {}\n", CountOf(static_cast<int64_t>(verdict_.findings.size() - most), "more finding"));
    }
  }

  void AddSomeFindings(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      const Finding& finding = verdict_.findings[i];
      const std::string label = fmt::format("{:>3}  ", i + 1);
      std::size_t line_number = 0;
      for (const std::string& line : Wrap(Printable(finding.message), prose_.columns - label.size())) {
        out_ += (line_number++ == 0 ? label : std::string(label.size(), ' ')) + style_.Bold(line) + "\n";
      }
      for (const std::string& evidence : finding.evidence) {
        for (const std::string& line : Wrap(Printable(evidence), prose_.columns - label.size())) {
          out_ += std::string(label.size(), ' ') + style_.Dim(line) + "\n";
        }
      }
      const std::string tail = finding.advice + (finding.advice.empty() ? "" : " ") + "[" + finding.id + "]";
      for (const std::string& line : Wrap(Printable(tail), prose_.columns - label.size())) {
        out_ += std::string(label.size(), ' ') + line + "\n";
      }
    }
  }

  void AddMap(std::size_t most) {
    const StepMatrix& matrix = verdict_.steps;
    if (matrix.median_ns.empty() || verdict_.ranks.size() < 2) return;
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < matrix.own_ns.size(); ++i) {
      if (!matrix.own_ns[i].empty()) order.push_back(i);
    }
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return verdict_.ranks[a].above_median_ns > verdict_.ranks[b].above_median_ns;
    });
    const bool is_time = matrix.IsOverTime();
    Heading(is_time ? "Ranks over time" : "Ranks by step: " + matrix.path);
    const std::size_t shown = order.size() > most + 1 ? most : order.size();
    for (std::size_t i = 0; i < shown; ++i) AddMapRow(NameOnMap(*verdict_.ranks[order[i]].rank), {order[i]});
    if (shown < order.size()) {
      AddMapRow(FormatCount(static_cast<int64_t>(order.size() - shown)) + " more",
                {order.begin() + static_cast<std::ptrdiff_t>(shown), order.end()});
    }
    const auto entries = static_cast<int64_t>(matrix.median_ns.size());
    const int64_t of_column = matrix.steps_in_one * static_cast<int64_t>(StepsOfColumn());
    const char* const unit = is_time ? "slice" : "step";
    for (const std::string& line :
         Wrap(fmt::format("Own time above the median of the {}: . below 2%, - 2%, + 5%, * 10%, # 25% and more. {}{}",
                          unit,
                          of_column == 1 ? CountOf(entries, unit) + "."
                                         : "A column is " + CountOf(of_column, unit) + ", the worst counts.",
                          shown < order.size() ? " Of the ranks in the last row, the worst counts." : ""),
              prose_.columns - kMargin)) {
      out_ += std::string(kMargin, ' ') + style_.Dim(line) + "\n";
    }
  }

  std::size_t StepsOfColumn() const { return (verdict_.steps.median_ns.size() + kMapColumns - 1) / kMapColumns; }

  void AddMapRow(const std::string& name, const std::vector<std::size_t>& ranks) {
    const StepMatrix& matrix = verdict_.steps;
    std::string row = std::string(kMargin, ' ') + fmt::format("{:>12}  ", name);
    for (std::size_t first = 0; first < matrix.median_ns.size(); first += StepsOfColumn()) {
      double most = 0;
      for (std::size_t i = first; i < std::min(first + StepsOfColumn(), matrix.median_ns.size()); ++i) {
        const auto median = static_cast<double>(std::max<int64_t>(matrix.median_ns[i], 1));
        for (const std::size_t rank : ranks) {
          most = std::max(most, 100 * (static_cast<double>(matrix.own_ns[rank][i]) - median) / median);
        }
      }
      row += Shade(most);
    }
    out_ += row + "\n";
  }

  void AddTable(const Table& table) {
    TextTable text;
    for (const Column& column : table.columns) {
      text.columns.push_back({column.title, column.unit != Unit::kText, column.is_extra});
    }
    text.rows = FormatRows(table, terminal_.columns / 3);
    Heading(table.title);
    out_ += RenderTable(text, terminal_.columns, style_, kMargin);
    for (const std::string& line : Wrap(Printable(NoteOf(table)), prose_.columns - kMargin)) {
      if (!line.empty()) out_ += std::string(kMargin, ' ') + style_.Dim(line) + "\n";
    }
  }

  void Heading(const std::string& title) { out_ += "\n" + style_.Bold(Printable(title)) + "\n"; }

  const FleetVerdict& verdict_;
  Terminal terminal_, prose_;
  Style style_;
  std::string out_;
};

// Nothing where a rank does not say its host: captures of other tools lack it.
std::string HostsText(const FleetVerdict& verdict) {
  std::set<std::string_view> hosts;
  for (const RankVerdict& rank : verdict.ranks) hosts.insert(rank.rank->host);
  return hosts.empty() || hosts.contains("") ? "" : " on " + CountOf(static_cast<int64_t>(hosts.size()), "host");
}

}  // namespace

std::string RanksLine(const FleetVerdict& verdict) {
  std::string text = FormatCount(static_cast<int64_t>(verdict.ranks.size()));
  if (verdict.world_size > 0) text += " of " + FormatCount(verdict.world_size);
  text += HostsText(verdict);
  const auto add = [&](std::size_t count, const char* what) {
    if (count > 0) text += ", " + FormatCount(static_cast<int64_t>(count)) + " " + what;
  };
  add(verdict.missing.size(), "missing");
  add(verdict.unreadable.size(), "unreadable");
  add(static_cast<std::size_t>(std::count_if(verdict.ranks.begin(), verdict.ranks.end(),
                                             [](const RankVerdict& r) { return !r.rank->is_complete; })),
      "incomplete");
  add(verdict.duplicates.size(), "given twice");
  if (verdict.ranks.empty()) return text;
  const std::string& source = verdict.ranks.front().rank->rank_source;
  const bool is_by_files = source == kByFileNames || source == kByOrderOfFiles;
  return text + (is_by_files ? "; numbered by " + source : "");
}

std::string ClocksLine(const FleetVerdict& verdict) { return AlignmentText(verdict.alignment); }

std::string RenderFleetBriefly(const FleetVerdict& verdict, const std::string& input, const Terminal& terminal) {
  return FleetText(verdict, terminal).RenderBriefly(input);
}

std::string RenderFleetText(const FleetVerdict& verdict, const Terminal& terminal) {
  return FleetText(verdict, terminal).Render();
}

std::string RenderFleetTables(const FleetVerdict& verdict, const Terminal& terminal) {
  const std::string text = FleetText(verdict, terminal).RenderTables();
  return text.substr(std::min<std::size_t>(text.size(), 1));  // without the line above the first heading
}

}  // namespace gprof::cli

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "base/units.h"
#include "cli/render/report/render_report.h"
#include "cli/render/text_layout.h"

namespace gprof::cli {
namespace {

constexpr uint32_t kContext = 2;  // lines shown around one that has figures
constexpr std::size_t kTabColumns = 4;

std::string WithoutTabs(const std::string& line) {
  std::string out;
  for (const char c : line) out += c == '\t' ? std::string(kTabColumns, ' ') : std::string(1, c);
  return out;
}

class Annotation {
 public:
  Annotation(const AnnotatedFile& file, const std::vector<std::string>& source, bool is_full, std::size_t columns,
             const Style& style)
      : file_(file), source_(source), is_full_(is_full), columns_(columns), style_(style) {
    if (file.has_calls) {
      AddColumn("GPU", [](const LineFigures& f) { return f.gpu_ns == 0 ? "" : FormatNs(f.gpu_ns); });
      AddColumn("GPU idle", [](const LineFigures& f) { return f.idle_ns == 0 ? "" : FormatNs(f.idle_ns); });
      AddColumn("Wait", [](const LineFigures& f) { return f.wait_ns == 0 ? "" : FormatNs(f.wait_ns); });
      AddColumn("Launches", [](const LineFigures& f) { return f.launches == 0 ? "" : FormatCount(f.launches); });
    }
    if (file.has_samples)
      AddColumn("Samples", [](const LineFigures& f) { return f.samples == 0 ? "" : FormatCount(f.samples); });
  }

  std::string Render() {
    out_ += style_.Dim(Figures([](const Column& column) { return column.title; }) + "   Line  Source") + "\n";
    auto next = file_.lines.begin();
    const auto last = static_cast<uint32_t>(std::max<std::size_t>(source_.size(), LastLine()));
    bool is_gap = false;
    for (uint32_t number = 1; number <= last; ++number) {
      while (next != file_.lines.end() && next->line < number) ++next;
      const bool has_figures = next != file_.lines.end() && next->line == number;
      if (!IsShown(number)) {
        is_gap = true;
        continue;
      }
      if (std::exchange(is_gap, false) && !out_.empty()) out_ += style_.Dim(Cut(Blank() + "    ...")) + "\n";
      AddLine(number, has_figures ? &*next : nullptr);
    }
    AddSum("this file", file_.sum);
    AddSum("elsewhere", file_.others);
    return std::move(out_);
  }

 private:
  struct Column {
    std::string title;
    std::string (*text)(const LineFigures&);
    std::size_t width;
  };

  void AddColumn(const char* title, std::string (*text)(const LineFigures&)) {
    Column column{title, text, DisplayWidth(title)};
    const auto widen = [&](const LineFigures& f) { column.width = std::max(column.width, DisplayWidth(text(f))); };
    std::ranges::for_each(file_.lines, widen);
    widen(file_.sum);
    widen(file_.others);
    of_columns_.push_back(std::move(column));
  }

  template <class F>
  std::string Figures(F text_of) const {
    std::string line;
    for (const Column& column : of_columns_) {
      line += (line.empty() ? "" : "  ") + fmt::format("{:>{}}", text_of(column), column.width);
    }
    return line;
  }

  std::string Blank() const {
    return Figures([](const Column&) { return std::string(); });
  }

  uint32_t LastLine() const { return file_.lines.empty() ? 0 : file_.lines.back().line; }

  bool IsShown(uint32_t number) const {
    if (is_full_) return true;
    return std::ranges::any_of(file_.lines, [number](const LineFigures& f) {
      return number + kContext >= f.line && number <= f.line + kContext;
    });
  }

  void AddLine(uint32_t number, const LineFigures* figures) {
    const std::string source = number <= source_.size() ? WithoutTabs(source_[number - 1]) : "";
    const std::string left =
        figures == nullptr ? Blank() : Figures([figures](const Column& column) { return column.text(*figures); });
    const std::string text = Cut(left + fmt::format("  {:>5}  ", number) + Printable(source));
    out_ += (figures == nullptr ? style_.Dim(text) : style_.Bold(text)) + "\n";
  }

  void AddSum(const char* what, const LineFigures& sum) {
    out_ += Figures([&](const Column& column) { return column.text(sum); }) + "         " + what + "\n";
  }

  // A line of source is cut at its end: its begin says what it is.
  std::string Cut(std::string text) const {
    while (!text.empty() && text.back() == ' ') text.pop_back();
    if (DisplayWidth(text) <= columns_) return text;
    constexpr std::size_t kBytesOfACharacter = 4;
    text.resize(std::min(text.size(), kBytesOfACharacter * columns_));
    while (!text.empty() && DisplayWidth(text) >= columns_) {
      while (text.size() > 1 && (static_cast<unsigned char>(text.back()) & 0xC0) == 0x80) text.pop_back();
      text.pop_back();
    }
    return text + "…";
  }

  const AnnotatedFile& file_;
  const std::vector<std::string>& source_;
  const bool is_full_;
  const std::size_t columns_;
  const Style& style_;
  std::vector<Column> of_columns_;
  std::string out_;
};

}  // namespace

std::string RenderAnnotationText(const AnnotatedFile& file, const std::vector<std::string>& source, bool is_full,
                                 const Terminal& terminal) {
  const Style style(terminal.has_color);
  return style.Bold(Printable(file.path)) + "\n" + Annotation(file, source, is_full, terminal.columns, style).Render();
}

std::string RenderAnnotationMarkdown(const AnnotatedFile& file, const std::vector<std::string>& source, bool is_full) {
  constexpr std::size_t kColumns = 160;
  const Style plain(false);
  // A line of source cannot end the block: its fence is longer than any in a line.
  const std::string fence = "``````";
  return "## " + Printable(file.path) + "\n\n" + fence + "text\n" +
         Annotation(file, source, is_full, kColumns, plain).Render() + fence + "\n";
}

}  // namespace gprof::cli

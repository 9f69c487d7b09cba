// The options of commands that compare two sets of runs, and what becomes of the comparison.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/render/diff/diff_tables.h"
#include "gate/diff/diff.h"
#include "html/page/page.h"

namespace gprof::cli {

class DiffArguments {
 public:
  enum class Pages : uint8_t { kNone, kHtml };
  // `requires_verdict`: no verdict is no success, asked for or not.
  void AddOptions(CLI::App& app, bool requires_verdict = false, Pages pages = Pages::kNone);
  void AddOutputOption(CLI::App& app);  // -o

  // Throws Error for words that are no shares or times.
  DiffOptions Options() const;

  // Prints the comparison and returns the exit code. `selected`: the part of the runs that was compared, in words.
  int Show(const Diff& diff, const std::string& selected = {}) const;

  bool WantsPage() const { return format_ == "html"; }
  // The same as a page, where that is wanted.
  int ShowPage(const Diff& diff, const std::string& selected, std::vector<PageTimeline> timelines) const;

  // 1 for a regression, 4 where a verdict was asked for and there is none.
  int ExitCodeFor(const Diff& diff) const;

 private:
  DiffView View(const std::string& selected) const;
  void Summarize(const Diff& diff, const DiffView& view) const;

  std::string only_, sort_, output_, summary_, min_change_, min_time_;
  std::string format_ = "text", fail_on_ = "regressed";
  std::optional<uint32_t> rows_;
  bool requires_verdict_ = false, has_full_names_ = false;
  bool is_paged_ = false;  // not after programs that ran for minutes, with nobody at the terminal any more
};

}  // namespace gprof::cli

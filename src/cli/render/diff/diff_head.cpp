#include <algorithm>

#include "base/text.h"
#include "base/units.h"
#include "cli/render/diff/diff_report.h"
#include "gate/diff/diff_words.h"

namespace gprof::cli {
namespace {

constexpr std::size_t kLongestProgram = 60;  // of a command line

// "run.trace, ./app --size 4"; of several runs which of them the times are of.
std::string SideText(const DiffSide& side) {
  std::string text = side.name;
  if (side.sources.size() > 1) {
    text += ", " + CountOf(static_cast<int64_t>(side.sources.size()), "run") + ", times from " +
            side.sources[side.shown] + ", the median run";
  }
  // In gprof-cli compare a side is called by its command line.
  const bool is_named = side.fingerprint.program.empty() || side.fingerprint.program == side.name;
  if (!is_named) text += ", " + ShortenMiddle(Printable(side.fingerprint.program), kLongestProgram);
  if (!side.fingerprint.commit.empty()) text += ", commit " + side.fingerprint.commit;
  return text;
}

class Head {
 public:
  Head(const Diff& diff, const DiffView& view) : diff_(diff), view_(view) {}

  std::vector<DiffLine> Lines() {
    Doubts();
    Add("Base", SideText(diff_.base));
    Add("New", SideText(diff_.now));
    Add("Selected", view_.selected);
    for (const DiffSide* side : {&diff_.base, &diff_.now}) {
      for (const std::string& note : side->notes) Add("Note", note);
    }
    Add("Work", WorkText(diff_));
    Add("Verdict", VerdictText(diff_));
    Add("Step", StepText(diff_));
    Add("GPU", GpuText(diff_));
    Add("Wall", WallText(diff_));
    Add("Launches", LaunchText(diff_));
    Add("Kernels", ReplacedText(diff_));
    Add("Counters", CounterText(diff_));
    return std::move(lines_);
  }

 private:
  void Add(const char* label, std::string text) {
    if (!text.empty()) lines_.push_back({label, std::move(text)});
  }

  // What makes the rest worth less is said first.
  void Doubts() {
    for (const std::string& difference : diff_.differences) Add("DIFFERS", difference);
    for (const DiffSide* side : {&diff_.base, &diff_.now}) {
      const std::string name = side == &diff_.base ? "BASE" : "NEW";
      for (const std::string& missing : side->missing) {
        Add("MISSING", name + ": " + missing + "; figures below cover only the data that was recovered");
      }
      if (!side->has_breakdown) {
        Add("MISSING", name + " has no time breakdown (JSON reports do not store one): only metrics are compared");
      }
    }
  }

  const Diff& diff_;
  const DiffView& view_;
  std::vector<DiffLine> lines_;
};

}  // namespace

std::vector<DiffLine> DiffHead(const Diff& diff, const DiffView& view) { return Head(diff, view).Lines(); }

}  // namespace gprof::cli

#include "analysis/findings/finding_words.h"

#include <cctype>
#include <utility>

#include "analysis/result/statistics.h"
#include "base/text.h"
#include "base/units.h"

namespace gprof {

std::string InMessage(std::string_view name) {
  constexpr std::size_t kLongestName = 40;
  return ShortenMiddle(Printable(name), kLongestName);
}

std::string WhenOf(const std::string& step) {
  constexpr std::size_t kLongestStepName = 40;
  return step.empty() ? " after warm-up" : " in the \"" + ShortenMiddle(step, kLongestStepName) + "\" iterations";
}

std::string ShareOfTime(int64_t ns, int64_t window_ns, const std::string& when) {
  return FormatPercent(PercentOf(ns, window_ns)) + " of the " + (when.empty() ? "GPU window" : "time" + when) + " (" +
         FormatNs(ns) + ")";
}

bool HasRoomFor(const std::string& end, const Finding& finding) {
  return DisplayWidth(Printable(finding.message + end)) <= kLongestMessage;
}

void AddPlace(std::string place, Finding* finding) {
  if (place.empty()) return;
  if (const std::string end = "; " + place; HasRoomFor(end, *finding)) {
    finding->message += end;
    return;
  }
  place.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(place.front())));
  finding->evidence.insert(finding->evidence.begin(), std::move(place));
}

void FitMessage(Finding* finding) {
  const std::string whole = Printable(finding->message);
  if (DisplayWidth(whole) <= kLongestMessage) return;
  finding->evidence.insert(finding->evidence.begin(), whole);
  finding->message = ShortenMiddle(whole, kLongestMessage);
}

}  // namespace gprof

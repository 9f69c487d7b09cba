#include "cli/measuring/measuring_line.h"

#include <fmt/format.h>
#include <unistd.h>

#include "base/terminal.h"
#include "base/units.h"
#include "cli/talk.h"

namespace gprof::cli {
namespace {

constexpr std::string_view kToStartAndErase = "\r\033[K";

}  // namespace

MeasuringLine::MeasuringLine(bool is_wanted) {
  const Terminal terminal = DetectTerminal(STDERR_FILENO);
  if (is_wanted && terminal.is_terminal) columns_ = static_cast<std::size_t>(terminal.columns);
}

void MeasuringLine::Show(const Measuring& measuring) {
  if (!IsShown()) return;
  std::string text = fmt::format("{} measured, {} each; measuring {}",
                                 CountOf(static_cast<int64_t>(measuring.launches), "launch", "launches"),
                                 CountOf(measuring.passes, "pass", "passes"), measuring.kernel);
  if (text.size() >= columns_) text.resize(columns_ - 1);
  WriteTo(STDERR_FILENO, std::string(kToStartAndErase) + text);
  has_text_ = true;
}

void MeasuringLine::Clear() {
  if (has_text_) WriteTo(STDERR_FILENO, kToStartAndErase);
  has_text_ = false;
}

}  // namespace gprof::cli

// The history of a baseline for people, programs and browsers.
#pragma once

#include <string>
#include <vector>

#include "base/terminal.h"
#include "gate/baseline/history.h"

namespace gprof::cli {

struct History {
  std::string name;
  std::vector<HistoryPoint> points;
  std::vector<FigureHistory> figures;  // those that are shown
  std::size_t more_changed = 0;        // that are not, though they changed
};

std::string RenderHistory(const History& history, const Terminal& terminal);
// "schema": "gprof.history/1".
std::string RenderHistoryJson(const History& history);
// One file without scripts, a chart for each figure.
std::string RenderHistoryHtml(const History& history);

}  // namespace gprof::cli

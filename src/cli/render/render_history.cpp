#include "cli/render/render_history.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string_view>

#include "base/table.h"
#include "base/text.h"
#include "base/units.h"
#include "gate/budget/value_text.h"
#include "report/json_values.h"

namespace gprof::cli {
namespace {

constexpr std::size_t kCommitColumns = 12;
constexpr std::size_t kMostBars = 40;
constexpr std::string_view kBars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

// The last values as bars between the lowest and the highest of them.
std::string Sparkline(const std::vector<double>& values) {
  const std::size_t first = values.size() > kMostBars ? values.size() - kMostBars : 0;
  const auto [low, high] = std::minmax_element(values.begin() + static_cast<std::ptrdiff_t>(first), values.end());
  std::string text;
  for (std::size_t i = first; i < values.size(); ++i) {
    const double part = *high > *low ? (values[i] - *low) / (*high - *low) : 0;
    text += kBars[static_cast<std::size_t>(part * (std::size(kBars) - 1) + 0.5)];
  }
  return text;
}

// "better", "worse": what a change means for a figure of which people like less, or more.
std::string BetterOrWorse(const MetricInfo& info, double difference) {
  if (info.better == Better::kNeither || difference == 0) return "";
  return (difference < 0) == (info.better == Better::kLower) ? "better" : "worse";
}

std::string HistoryWords(const FigureHistory& figure) {
  std::string text = WhatBecameOf(figure);
  const double difference = figure.change  ? figure.change->after - figure.change->before
                            : figure.trend ? figure.trend->slope
                                           : 0;
  const std::string meaning = BetterOrWorse(*figure.info, difference);
  return meaning.empty() ? text : text + " (" + meaning + ")";
}

std::string PointWords(const HistoryPoint& point) {
  std::string text = point.time;
  if (!point.commit.empty()) text += (text.empty() ? "" : ", ") + ("commit " + point.commit.substr(0, kCommitColumns));
  text += (text.empty() ? "" : ", ") + CountOf(static_cast<int64_t>(point.run_count), "run");
  return point.label.empty() ? text : text + ": " + point.label;
}

}  // namespace

std::string RenderHistory(const History& history, const Terminal& terminal) {
  const Style style(terminal.has_color);
  TextTable table;
  table.columns = {{"Metric", false, false},
                   {"First", true, false},
                   {"Last", true, false},
                   {"Values", false, true},
                   {"Trend", false, false}};
  for (const FigureHistory& figure : history.figures) {
    const Unit unit = figure.info->unit;
    table.rows.push_back({std::string(figure.info->id), FormatValue(figure.values.front(), unit),
                          FormatValue(figure.values.back(), unit), Sparkline(figure.values), HistoryWords(figure)});
  }
  std::string out = style.Bold("History of " + Printable(history.name)) + ", " +
                    CountOf(static_cast<int64_t>(history.points.size()), "point") + "\n\n" +
                    RenderTable(table, terminal.columns, style, 2);
  if (history.more_changed > 0) {
    out += "\n  " + CountOf(static_cast<int64_t>(history.more_changed), "more metric", "more metrics") +
           " changed (--format json or html to see all).\n";
  }
  out += "\n" + style.Bold("Points") + "\n";
  for (std::size_t i = 0; i < history.points.size(); ++i) {
    const std::string number = std::to_string(i + 1);
    const std::string head = std::string(number.size() < 3 ? 3 - number.size() : 0, ' ') + number + "  ";
    const std::size_t width = std::max<std::size_t>(terminal.columns, 40) - head.size();
    std::string before = head;
    for (const std::string& line : Wrap(Printable(PointWords(history.points[i])), width)) {
      out += before + line + "\n";
      before = std::string(head.size(), ' ');
    }
  }
  return out;
}

std::string RenderHistoryJson(const History& history) {
  Json json = {{"schema", "gprof.history/1"}, {"name", history.name}, {"points", Json::array()}};
  for (const HistoryPoint& point : history.points) {
    json["points"].push_back(
        {{"time", point.time}, {"commit", point.commit}, {"label", point.label}, {"runs", point.run_count}});
  }
  json["figures"] = Json::array();
  for (const FigureHistory& figure : history.figures) {
    Json values = Json::array();
    for (std::size_t i = 0; i < figure.values.size(); ++i)
      values.push_back({{"point", figure.points[i]}, {"median", NumberJson(figure.values[i])}});
    Json row = {{"id", figure.info->id}, {"values", values}, {"change_point", nullptr}, {"trend", nullptr}};
    if (const auto& change = figure.change) {
      row["change_point"] = {{"point", figure.points[change->point]},
                             {"before", NumberJson(change->before)},
                             {"after", NumberJson(change->after)},
                             {"p_value", NumberJson(change->p_value)}};
    }
    if (const auto& trend = figure.trend) {
      row["trend"] = {{"first_point", figure.points[trend->first_point]},
                      {"slope_per_point", NumberJson(trend->slope)},
                      {"p_value", NumberJson(trend->p_value)}};
    }
    row["text"] = HistoryWords(figure);
    json["figures"].push_back(row);
  }
  return ToText(json);
}

namespace {

constexpr double kChartWidth = 640, kChartHeight = 110, kChartMargin = 8;

std::string HtmlEscaped(std::string_view text) {
  std::string out;
  for (const char c : Printable(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

class HistoryChart {
 public:
  HistoryChart(const History& history, const FigureHistory& figure) : history_(history), figure_(figure) {
    const auto [low, high] = std::minmax_element(figure.values.begin(), figure.values.end());
    low_ = std::min(0.0, *low), high_ = *high;
  }

  std::string Svg() const {
    const std::size_t count = figure_.values.size();
    std::string line, dots;
    for (std::size_t i = 0; i < count; ++i) {
      const std::string x = Number(X(i)), y = Number(Y(figure_.values[i]));
      line += (i > 0 ? " " : "") + x + "," + y;
      dots += "<circle cx=\"" + x + "\" cy=\"" + y + "\" r=\"4\"><title>" + Title(i) + "</title></circle>";
    }
    std::string step;
    if (figure_.change) {
      const std::string x = Number((X(figure_.change->point - 1) + X(figure_.change->point)) / 2);
      step = "<line class=\"step\" x1=\"" + x + "\" x2=\"" + x + "\" y1=\"0\" y2=\"" + Number(kChartHeight) + "\"/>";
    }
    return "<svg viewBox=\"0 0 " + Number(kChartWidth) + " " + Number(kChartHeight) + "\" role=\"img\" aria-label=\"" +
           HtmlEscaped(HistoryWords(figure_)) + "\">" + step + "<polyline points=\"" + line + "\"/>" + dots + "</svg>";
  }

 private:
  static std::string Number(double value) { return CompactText(Json(std::round(value * 10) / 10)); }
  double X(std::size_t i) const {
    const double steps = std::max<double>(1, static_cast<double>(history_.points.size() - 1));
    return kChartMargin + (kChartWidth - 2 * kChartMargin) * static_cast<double>(figure_.points[i]) / steps;
  }
  double Y(double value) const {
    const double range = high_ > low_ ? high_ - low_ : 1;
    return kChartHeight - kChartMargin - (kChartHeight - 2 * kChartMargin) * (value - low_) / range;
  }
  std::string Title(std::size_t i) const {
    return HtmlEscaped(std::to_string(figure_.points[i] + 1) + ": " +
                       FormatValue(figure_.values[i], figure_.info->unit) + ", " +
                       PointWords(history_.points[figure_.points[i]]));
  }

  const History& history_;
  const FigureHistory& figure_;
  double low_ = 0, high_ = 0;
};

constexpr std::string_view kHistoryStyle =
    ":root{color-scheme:light dark;font:15px/1.5 system-ui,sans-serif}body{max-width:46rem;margin:2rem auto;padding:0 "
    "1rem}"
    "h2{font-size:1rem;margin:1.6rem 0 0}p{margin:0 0 .3rem}svg{width:100%;height:auto;overflow:visible;"
    "border-bottom:1px solid #8888}polyline{fill:none;stroke:#2a78b8;stroke-width:2}circle{fill:#2a78b8}"
    ".step{stroke:#d0592a;stroke-width:2;stroke-dasharray:5 4}table{border-collapse:collapse}"
    "td{padding:.1rem .8rem .1rem 0;vertical-align:top}";

}  // namespace

std::string RenderHistoryHtml(const History& history) {
  const std::string title = "History of " + HtmlEscaped(history.name);
  std::string out = "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>" + title +
                    "</title><meta name=\"viewport\" content=\"width=device-width\"><style>" +
                    std::string(kHistoryStyle) + "</style></head><body>\n<h1>" + title + "</h1>\n<p>" +
                    CountOf(static_cast<int64_t>(history.points.size()), "point") +
                    "; a dashed line marks a change point.</p>\n";
  for (const FigureHistory& figure : history.figures) {
    const Unit unit = figure.info->unit;
    out += "<h2>" + HtmlEscaped(figure.info->id) + "</h2>\n<p>" +
           HtmlEscaped(FormatValue(figure.values.front(), unit)) + " to " +
           HtmlEscaped(FormatValue(figure.values.back(), unit)) + ": " + HtmlEscaped(HistoryWords(figure)) + "</p>\n" +
           HistoryChart(history, figure).Svg() + "\n";
  }
  out += "<h2>Points</h2>\n<table>\n";
  for (std::size_t i = 0; i < history.points.size(); ++i) {
    out +=
        "<tr><td>" + std::to_string(i + 1) + "</td><td>" + HtmlEscaped(PointWords(history.points[i])) + "</td></tr>\n";
  }
  return out + "</table>\n</body></html>\n";
}

}  // namespace gprof::cli

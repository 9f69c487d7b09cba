#include "gate/budget/value_text.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <system_error>

#include "analysis/result/tables.h"
#include "base/text.h"
#include "base/units.h"

namespace gprof {
namespace {

struct UnitWord {
  std::string_view word;
  double factor;
};

constexpr UnitWord kTimeWords[] = {{"ns", 1},   {"us", 1e3}, {"\u00B5s", 1e3}, {"\u03BCs", 1e3},
                                   {"ms", 1e6}, {"s", 1e9},  {"min", 60e9}};
constexpr UnitWord kSizes[] = {{"B", 1},
                               {"kB", 1e3},
                               {"KB", 1e3},
                               {"MB", 1e6},
                               {"GB", 1e9},
                               {"TB", 1e12},
                               {"KiB", 1024},
                               {"MiB", 1024.0 * 1024},
                               {"GiB", 1024.0 * 1024 * 1024},
                               {"TiB", 1024.0 * 1024 * 1024 * 1024}};

template <std::size_t N>
std::optional<double> FactorOf(std::string_view word, const UnitWord (&words)[N]) {
  for (const UnitWord& unit : words) {
    if (unit.word == word) return unit.factor;
  }
  return std::nullopt;
}

std::optional<double> FactorOf(std::string_view word, Unit unit) {
  if (word.empty()) return 1;
  switch (unit) {
    case Unit::kNs:
      return FactorOf(word, kTimeWords);
    case Unit::kBytes:
      return FactorOf(word, kSizes);
    case Unit::kBytesPerSecond:
      return word.ends_with("/s") ? FactorOf(word.substr(0, word.size() - 2), kSizes) : std::nullopt;
    case Unit::kPercent:
      return word == "%" ? std::optional<double>(1) : std::nullopt;
    case Unit::kPerSecond:
      return word == "/s" ? std::optional<double>(1) : std::nullopt;
    case Unit::kCount:
    case Unit::kText:
      break;
  }
  return std::nullopt;
}

// The number at the beginning; what follows it stays in `text`.
std::optional<double> TakeNumber(std::string_view* text) {
  *text = Trimmed(*text);
  double value = 0;
  const auto [stop, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc() || !std::isfinite(value)) return std::nullopt;
  *text = Trimmed(text->substr(static_cast<std::size_t>(stop - text->data())));
  return value;
}

// "200.00 us" says no more than "200 us".
std::string WithoutIdleZeros(std::string text) {
  const std::size_t point = text.rfind('.');
  if (point == std::string::npos) return text;
  const std::size_t end = text.find_first_not_of("0", point + 1);
  const bool is_all_zeros = end == std::string::npos || (text[end] < '0' || text[end] > '9');
  return is_all_zeros ? text.erase(point, std::min(end, text.size()) - point) : text;
}

std::string InDigits(double value, Unit unit) {
  switch (unit) {
    case Unit::kNs:
      return FormatNumber(value) + " ns";
    case Unit::kBytes:
      return FormatNumber(value) + " B";
    case Unit::kPercent:
      return fmt::format("{}%", value);
    case Unit::kBytesPerSecond:
      return FormatNumber(value) + " B/s";
    case Unit::kPerSecond:
      return fmt::format("{} /s", value);
    case Unit::kCount:
    case Unit::kText:
      break;
  }
  return fmt::format("{}", value);
}

}  // namespace

std::string FormatValue(double value, Unit unit) { return WithoutIdleZeros(FormatFigure(value, unit)); }

std::string FormatLimit(double limit, Unit unit) {
  if (unit == Unit::kPercent) return fmt::format("{:.10g}%", limit);
  const bool is_small = unit == Unit::kCount || unit == Unit::kPerSecond;
  return is_small && limit != std::floor(limit) ? InDigits(limit, unit) : FormatValue(limit, unit);
}

std::string FormatValueBeside(double value, double other, Unit unit) {
  std::string text = FormatValue(value, unit);
  return value != other && text == FormatValue(other, unit) ? InDigits(value, unit) : text;
}

std::optional<double> ReadValue(std::string_view text, Unit unit) {
  const std::optional<double> number = TakeNumber(&text);
  const std::optional<double> factor = FactorOf(text, unit);
  if (!number || !factor || !std::isfinite(*number * *factor)) return std::nullopt;
  return *number * *factor;
}

std::string_view ValueForms(Unit unit) {
  switch (unit) {
    case Unit::kNs:
      return "a time in nanoseconds, or with a unit such as \"200us\", \"5ms\" or \"2s\"";
    case Unit::kBytes:
      return "a size in bytes, or with a unit such as \"64kB\", \"1.5GB\" or \"2GiB\"";
    case Unit::kPercent:
      return "a percentage, or \"20%\"";
    case Unit::kBytesPerSecond:
      return "a rate in bytes per second, or with a unit such as \"20GB/s\"";
    case Unit::kPerSecond:
      return "a number, or \"1000/s\"";
    case Unit::kCount:
    case Unit::kText:
      break;
  }
  return "a number (a count)";
}

std::optional<double> ReadShare(std::string_view text) {
  const std::optional<double> number = TakeNumber(&text);
  if (!number || text != "%") return std::nullopt;
  return *number / 100;
}

}  // namespace gprof

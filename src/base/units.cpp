#include "base/units.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <span>

namespace gprof {
namespace {

struct Step {
  double factor;
  const char* name;
};

// Above this, two decimals round up to 1000.00, which is 1.00 of the next unit.
constexpr double kRoundsToThousand = 999.995;

std::string Grouped(std::string digits) {
  const std::size_t point = digits.find('.');
  std::size_t end = point == std::string::npos ? digits.size() : point;
  const std::size_t first = digits.starts_with('-') ? 1 : 0;
  while (end > first + 3) {
    end -= 3;
    digits.insert(end, ",");
  }
  return digits;
}

std::string Scaled(double value, std::span<const Step> steps) {
  if (!std::isfinite(value)) return "-";
  const double size = std::fabs(value);
  std::size_t i = 0;
  while (i + 1 < steps.size() && size / steps[i].factor >= (i == 0 ? 999.5 : kRoundsToThousand)) ++i;
  const bool is_whole = i == 0;
  const double scaled = value / steps[i].factor;
  return Grouped(is_whole ? fmt::format("{:.0f}", scaled) : fmt::format("{:.2f}", scaled)) + " " + steps[i].name;
}

std::string WithPlus(double value, std::string text) { return value > 0 ? "+" + text : text; }

}  // namespace

std::string FormatNs(double ns) {
  static constexpr std::array<Step, 4> kSteps = {{{1, "ns"}, {1e3, "us"}, {1e6, "ms"}, {1e9, "s"}}};
  return Scaled(ns, kSteps);
}

std::string FormatDuration(int64_t ns) {
  constexpr int64_t kSecond = 1'000'000'000, kMinute = 60, kHour = 60 * kMinute;
  if (ns < kSecond) return FormatNs(ns);
  const int64_t seconds = ns / kSecond;
  if (seconds < kMinute) return std::to_string(seconds) + " s";
  if (seconds < kHour) return fmt::format("{} min {} s", seconds / kMinute, seconds % kMinute);
  return fmt::format("{} h {} min", seconds / kHour, seconds % kHour / kMinute);
}

std::string FormatBytes(double bytes) {
  static constexpr std::array<Step, 5> kSteps = {{{1, "B"}, {1e3, "kB"}, {1e6, "MB"}, {1e9, "GB"}, {1e12, "TB"}}};
  return Scaled(bytes, kSteps);
}

std::string FormatBytesPerSecond(double bytes_per_second) {
  const std::string bytes = FormatBytes(bytes_per_second);
  return bytes == "-" ? bytes : bytes + "/s";
}

std::string FormatPerSecond(double per_second) {
  const std::string number = FormatNumber(per_second);
  return number == "-" ? number : number + " /s";
}

std::string FormatCount(int64_t count) { return Grouped(fmt::format("{}", count)); }

std::string FormatNumber(double value) {
  if (!std::isfinite(value)) return "-";
  const bool is_whole = value == std::floor(value);
  return Grouped(fmt::format("{:.{}f}", value, is_whole ? 0 : std::fabs(value) >= 100 ? 1 : 2));
}

std::string FormatPercent(double percent) {
  if (!std::isfinite(percent)) return "-";
  if (percent > 0 && percent < 0.05) return "<0.1%";
  if (percent < 100 && percent >= 99.95) return ">99.9%";
  return Grouped(fmt::format("{:.1f}", percent)) + "%";
}

std::string FormatCudaVersion(uint32_t version) {
  return version == 0 ? "" : fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

std::string FormatNsChange(double ns) { return WithPlus(ns, FormatNs(ns)); }

std::string FormatPercentChange(double percent) {
  if (!std::isfinite(percent)) return "-";
  constexpr double kLeast = 0.005;  // less would be "-0.00%"
  const double size = std::fabs(percent);
  if (size < kLeast) return "0%";
  return WithPlus(percent, Grouped(fmt::format("{:.{}f}", percent, size < 0.05 ? 2 : 1)) + "%");
}

std::string FormatCountChange(int64_t count) { return WithPlus(static_cast<double>(count), FormatCount(count)); }

std::string FormatBytesChange(double bytes) { return WithPlus(bytes, FormatBytes(bytes)); }

std::string CountOf(int64_t count, const char* noun, const char* plural) {
  std::string text = FormatCount(count) + " ";
  if (count == 1) return text + noun;
  return plural != nullptr ? text + plural : text + noun + "s";
}

}  // namespace gprof

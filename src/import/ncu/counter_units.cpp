#include "import/ncu/counter_units.h"

#include <algorithm>

#include "import/shared/decimal.h"

namespace gprof {
namespace {

// The power of ten of a prefix, or nothing where the letter is none.
std::optional<int> PrefixExponent(char letter) {
  switch (letter) {
    case 'n':
      return -9;
    case 'u':
      return -6;
    case 'm':
      return -3;
    case 'K':
      return 3;
    case 'M':
      return 6;
    case 'G':
      return 9;
    case 'T':
      return 12;
    case 'P':
      return 15;
    default:
      return {};
  }
}

// Seconds with any prefix: the exponent that they are seconds with.
std::optional<int> SecondsExponent(std::string_view unit) {
  if (unit == "s" || unit == "second") return 0;
  if (unit.size() < 2 || (unit.substr(1) != "s" && unit.substr(1) != "second")) return {};
  return PrefixExponent(unit[0]);
}

BaseUnit WithoutPrefix(std::string_view unit) {
  for (const std::string_view base : {"byte", "hz"}) {
    if (unit.size() != base.size() + 1 || !unit.ends_with(base)) continue;
    if (const std::optional<int> exponent = PrefixExponent(unit[0])) return {std::string(base), *exponent};
  }
  return {std::string(unit), 0};
}

}  // namespace

BaseUnit BaseUnitOf(std::string_view unit) {
  if (const std::optional<int> seconds = SecondsExponent(unit)) return {"ns", *seconds + 9};
  const std::size_t slash = unit.find('/');
  BaseUnit base = WithoutPrefix(unit.substr(0, slash));
  if (slash == std::string_view::npos) return base;
  const std::string_view per = unit.substr(slash + 1);
  const std::optional<int> seconds = SecondsExponent(per);
  if (!seconds) return {base.unit + "/" + std::string(per), base.exponent};
  base.exponent -= *seconds;
  base.unit = base.unit == "cycle" ? "hz" : base.unit + "/s";
  return base;
}

std::optional<CounterNumber> ReadCounterNumber(std::string_view text) {
  std::string plain;
  std::remove_copy(text.begin(), text.end(), std::back_inserter(plain), ',');
  const std::size_t point = plain.find('.');
  if (point != std::string::npos && plain.find_first_of("eE") == std::string::npos) {
    plain.erase(plain.find_last_not_of('0') + 1);
  }
  const auto fraction = point == std::string::npos || plain.size() < point + 1 ? 0 : plain.size() - point - 1;
  // Digits that 64 bits do not hold are beyond what a double tells apart.
  for (int digits = static_cast<int>(std::min<std::size_t>(fraction, 18)); digits >= 0; --digits) {
    if (const std::optional<int64_t> value = ReadDecimal(plain, digits)) return CounterNumber{*value, -digits};
  }
  return {};
}

}  // namespace gprof

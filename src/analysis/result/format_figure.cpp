#include "analysis/result/format_figure.h"

#include "base/units.h"

namespace gprof {

std::string FormatFigure(double value, Unit unit) {
  switch (unit) {
    case Unit::kNs:
      return FormatNs(value);
    case Unit::kBytes:
      return FormatBytes(value);
    case Unit::kPercent:
      return FormatPercent(value);
    case Unit::kBytesPerSecond:
      return FormatBytesPerSecond(value);
    case Unit::kPerSecond:
      return FormatPerSecond(value);
    case Unit::kText:
    case Unit::kCount:
      break;
  }
  return FormatNumber(value);
}

}  // namespace gprof

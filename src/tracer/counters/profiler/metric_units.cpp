#include "tracer/counters/profiler/metric_units.h"

#include <cstring>

#include "tracer/core/notice.h"
#include "tracer/store/interned_names.h"

namespace gprof::tracer {
namespace {

const char* ShortUnit(const char* unit) {
  if (unit == nullptr) return "";
  if (std::strcmp(unit, "nanosecond") == 0) return "ns";
  if (std::strcmp(unit, "percent") == 0) return "%";
  if (std::strcmp(unit, "instruction") == 0) return "inst";
  // Cycles of whatever clock; the warps that were counted in each of them are warps.
  if (std::strstr(unit, "cyclewarp") != nullptr) return "warp";
  if (std::strstr(unit, "cycle") != nullptr) return "cycle";
  if (std::strstr(unit, "sector") != nullptr) return "sector";
  return unit;
}

}  // namespace

trace::StringId UnitOf(const char* metric, const char* base_unit) {
  const char* ending = std::strchr(metric, '.');
  if (ending == nullptr) ending = "";
  if (std::strstr(ending, ".pct") != nullptr) return Names().Intern("%");
  const char* unit = ShortUnit(base_unit);
  if (std::strstr(ending, ".per_second") == nullptr) return Names().Intern(unit);
  if (std::strcmp(unit, "cycle") == 0) return Names().Intern("hz");
  Message text;
  text << unit << "/s";
  return Names().Intern(text.c_str());
}

}  // namespace gprof::tracer

#include "analysis/facts/delays/worth_table.h"

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <string_view>

#include "base/short_names.h"

namespace gprof {
namespace {

std::string IntervalText(const SlopeEstimate& estimate) {
  return fmt::format("{:.2f} to {:.2f}", estimate.low, estimate.high);
}

std::string SavingText(const Worth& worth) {
  if (!worth.HasSaving()) return "";
  const SlopeEstimate saving = worth.SavingPercent();
  if (saving.high < 0.5) return "nothing";
  return fmt::format("{:.1f} to {:.1f}%", saving.low, saving.high);
}

std::string NameOf(const Worth& worth) {
  if (!IsKernelThing(worth.thing)) return std::string(ShownThing(worth.thing));
  return std::string(kKernelThing) + BriefName(worth.thing.substr(kKernelThing.size()));
}

template <class T>
Cell IfTold(const Worth& worth, T value) {
  return worth.verdict == WorthVerdict::kCannotTell ? Cell() : Cell(value);
}

}  // namespace

std::string_view WordOf(WorthVerdict verdict) {
  switch (verdict) {
    case WorthVerdict::kHidden:
      return "hidden";
    case WorthVerdict::kPartlyHidden:
      return "partly hidden";
    case WorthVerdict::kOnThePath:
      return "on the path";
    case WorthVerdict::kHoldsUpOthers:
      return "holds up others";
    default:
      return "cannot tell";
  }
}

Table WorthTable(const std::vector<Worth>& worths) {
  Table table{"delays",
              "What a nanosecond is worth",
              {{"thing", "Thing", Unit::kText},
               {"verdict", "Verdict", Unit::kText, false, ColumnRole::kCommon},
               {"worth", "1 ns costs", Unit::kCount, false, ColumnRole::kOwn,
                "ns by which a step gets longer for each ns by which the thing does: 0 is hidden behind other work, 1 "
                "on the path"},
               {"interval", "95% interval", Unit::kText, false, ColumnRole::kCommon},
               {"worth_low", "Low", Unit::kCount, true, ColumnRole::kOwn},
               {"worth_high", "High", Unit::kCount, true, ColumnRole::kOwn},
               {"windows", "Windows", Unit::kCount, true, ColumnRole::kOwn},
               {"instances", "Per step", Unit::kCount, true, ColumnRole::kOwn},
               {"time_ns", "Time per step", Unit::kNs, true, ColumnRole::kOwn},
               {"saving", "Halving saves", Unit::kText, false, ColumnRole::kCommon,
                "of a step, where the thing itself takes half as long"},
               {"saving_low_percent", "Saves at least", Unit::kPercent, true, ColumnRole::kOwn},
               {"saving_high_percent", "Saves at most", Unit::kPercent, true, ColumnRole::kOwn}},
              {},
              ""};
  for (const Worth& worth : worths) {
    const SlopeEstimate saving = worth.SavingPercent();
    const auto if_saving = [&](double percent) { return worth.HasSaving() ? Cell(percent) : Cell(); };
    const bool is_fitted = worth.slope.high > worth.slope.low && std::isfinite(worth.slope.high);
    table.rows.push_back({NameOf(worth), std::string(WordOf(worth.verdict)), IfTold(worth, worth.slope.value),
                          is_fitted ? Cell(IntervalText(worth.slope)) : Cell(), IfTold(worth, worth.slope.low),
                          IfTold(worth, worth.slope.high), worth.windows, worth.instances_per_unit,
                          static_cast<int64_t>(worth.time_per_unit_ns), SavingText(worth), if_saving(saving.low),
                          if_saving(saving.high)});
  }
  return table;
}

}  // namespace gprof

// Values of figures in the words of budgets: "20%", "200us", "1.5 GB".
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "gprof/analysis.h"

namespace gprof {

// As people read it, without zeros that say nothing: "20%", "200 us", "1.50 GB", "1,200".
std::string FormatValue(double value, Unit unit);

// A limit, as it was written: not rounded where the unit allows for small numbers, "0.05%".
std::string FormatLimit(double limit, Unit unit);

// A value, in digits where rounding would make two different values look alike.
std::string FormatValueBeside(double value, double other, Unit unit);

// A number, or a number with a unit of that kind: ns us ms s min; B kB MB GB TB KiB MiB GiB TiB, the same with /s;
// % for percentages; /s for rates. Empty: it is none.
std::optional<double> ReadValue(std::string_view text, Unit unit);

// What ReadValue takes for figures of that unit: "a number of nanoseconds, or a time such as 200us, 5ms or 2s".
std::string_view ValueForms(Unit unit);

// "5%" as 0.05. Empty: it is no percentage.
std::optional<double> ReadShare(std::string_view text);

}  // namespace gprof

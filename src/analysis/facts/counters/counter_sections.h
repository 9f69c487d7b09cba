// Which metrics there are of a kernel, as data: sections of columns, and sets of sections.
//
// A column has the names that its metric has on different chips, in order: the first one that there is counts. What a
// chip or a collection lacks is left out, never taken for 0.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "analysis/facts/counters/counter_groups.h"
#include "gprof/analysis.h"

namespace gprof {

struct CounterColumn {
  std::string_view key, title;
  Unit unit = Unit::kCount;
  std::array<std::string_view, 3> metrics{};
  double factor = 1;  // for a value in the unit of the column
  bool is_extra = false;
};

struct CounterSection {
  std::string_view id;  // of its table: counter_speed_of_light
  std::string_view title;
  std::string_view ncu_name;  // that ncu's --section takes
  std::string_view meaning;   // for --list-sections
  std::string_view note;      // what its columns are, where their titles do not say it
  std::span<const CounterColumn> columns;
  std::span<const std::string_view> more_metrics{};        // collected with it: what formulas and rules need
  std::span<const std::string_view> (*parts)() = nullptr;  // and what a chip need not have
  std::string_view with{};                                 // the section of ncu has this one, too: by its id
};

std::span<const CounterSection> CounterSections();
// By its id with or without "counter_", or by ncu's name: the one that has all of it. nullptr: there is none.
const CounterSection* FindCounterSection(std::string_view name);

// What is collected for a section, each metric by its names in order. Facts of the launch are no counters.
std::vector<std::span<const std::string_view>> MetricsOf(const CounterSection& section);

struct CounterSet {
  std::string_view name, meaning;
  std::span<const std::string_view> sections;   // by id
  std::span<const std::string_view> metrics{};  // of a set that is a list
};
std::span<const CounterSet> CounterSets();
const CounterSet* FindCounterSet(std::string_view name);

// The value of a column for a kernel.
std::optional<double> ValueOf(const CounterColumn& column, const KernelCounters& kernel);

}  // namespace gprof

// Kernel counters as Nsight Compute summarises them: a row for each metric of a group of launches.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "analysis/result/display_names.h"
#include "export/tables/ncu_page.h"

namespace gprof {
namespace {

struct ValueSpread {
  std::string_view unit;
  double least = 0, most = 0, sum = 0;
  uint32_t count = 0;

  void Add(double value) {
    least = count == 0 ? value : std::min(least, value);
    most = count == 0 ? value : std::max(most, value);
    sum += value;
    ++count;
  }
};

struct Group {
  std::vector<std::string> head;  // of the first columns
  uint32_t launches = 0;
  std::map<std::string_view, ValueSpread> metrics;
};

std::vector<const char*> HeadNames(NcuRows rows) {
  if (rows == NcuRows::kGpus) return {"Device", "CC"};
  if (rows == NcuRows::kNvtxRanges) return {"NVTX", "Device", "CC"};
  return {"Kernel Name", "Block Size", "Grid Size", "Device", "CC"};
}

std::vector<std::string> HeadOf(const Trace& trace, uint32_t index, NcuRows rows) {
  const CounterRange& range = trace.counter_ranges[index];
  std::vector<std::string> head;
  if (rows == NcuRows::kNvtxRanges) head.emplace_back(trace.Text(range.nvtx));
  if (rows == NcuRows::kKernels)
    head = {std::string(KernelName(trace, range.name)), SizeText(trace, index, "block"),
            SizeText(trace, index, "grid")};
  head.push_back(std::to_string(range.device == kNone ? 0 : trace.devices[range.device].ordinal));
  head.push_back(ComputeCapability(trace, range));
  return head;
}

// In the order of their first launches.
std::vector<Group> GroupsOf(const Trace& trace, NcuRows rows) {
  std::vector<Group> groups;
  std::map<std::vector<std::string>, std::size_t> places;
  for (uint32_t i = 0; i < trace.counter_ranges.size(); ++i) {
    std::vector<std::string> head = HeadOf(trace, i, rows);
    const auto [place, is_new] = places.try_emplace(head, groups.size());
    if (is_new) groups.push_back({std::move(head), 0, {}});
    Group& group = groups[place->second];
    ++group.launches;
    for (const CounterValue& value : trace.CountersOf(i)) {
      if (value.text != NameId{}) continue;
      ValueSpread& spread = group.metrics[trace.Text(value.metric)];
      spread.unit = trace.Text(value.unit);
      spread.Add(NumberOf(value));
    }
  }
  return groups;
}

}  // namespace

void WriteNcuSummary(const Trace& trace, const NcuPage& page, OutputStream& out) {
  CsvRow row(out);
  for (const char* const name : HeadNames(page.rows)) row.Field(name);
  for (const char* const name : {"Invocations", "Metric Name", "Metric Unit", "Minimum", "Maximum", "Average"})
    row.Field(name);
  row.End();
  for (const Group& group : GroupsOf(trace, page.rows)) {
    for (const auto& [metric, spread] : group.metrics) {
      const double largest = page.scales_units ? std::max(std::abs(spread.least), std::abs(spread.most)) : 0;
      const ScaledUnit scaled = ScaleOf(spread.unit, largest);
      for (const std::string& field : group.head) row.Field(field);
      row.Field(std::to_string(group.launches));
      row.Field(metric);
      row.Field(scaled.unit);
      for (const double value : {spread.least, spread.most, spread.sum / spread.count})
        row.Field(fmt::format("{}", value / scaled.divisor));
      row.End();
    }
  }
}

}  // namespace gprof

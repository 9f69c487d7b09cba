// The summary tables of `nsys stats`, by the names and with the columns that it has, made of the same figures as the
// report.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "analysis/registry/results.h"
#include "gprof/analysis.h"

namespace gprof {

struct NsysReport {
  std::string_view name;  // cuda_gpu_kern_sum
  std::string_view title;
  std::string_view analysis;            // of ours that is about the same, for `report --only`
  Table (*make)(const AnalysisInput&);  // all rows, with the headings of nsys; null: `stats` does not have it
  bool is_default = false;
};

// In the order in which nsys stats prints them.
std::span<const NsysReport> NsysReports();
const NsysReport* FindNsysReport(std::string_view name);
// Of results what analyses found, and KeptStats. Nothing for the others, which are made of records.
std::optional<Table> TableOf(const NsysReport& report, const Results& results);

// What a partial keeps of the tables that no analysis makes. Each is there, even without rows.
std::vector<Table> KeptStats(const AnalysisInput& input, uint32_t max_rows);

}  // namespace gprof

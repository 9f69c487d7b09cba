// The tables of `idle`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/causes/host_gaps.h"
#include "analysis/causes/idle_groups.h"
#include "analysis/topics/idle/idle_summary.h"
#include "gprof/analysis.h"
#include "gprof/trace.h"

namespace gprof {

// Time of processes before the first and after the last operation of a device that they use.

struct StartupTeardown {
  uint32_t device = kNone, process = kNone;
  int64_t startup_ns = 0, teardown_ns = 0;
};

// By device, then in the order in which the processes first use it. What was not recorded is not counted.
std::vector<StartupTeardown> StartupsAndTeardowns(const AnalysisInput& input);

Table IdleCauseTable(const Trace& trace, const IdleSummary& summary);
Table IdleCallTable(const Trace& trace, const IdleSummary& summary, uint32_t max_rows);
Table GapTable(const Trace& trace, const IdleSummary& summary, const AnalysisOptions& options);

// idle_group_tables.cpp: each sums to the idle time.
Table IdlePathTable(const IdleGroups& groups, uint32_t max_rows);
Table IdleLaunchTable(const IdleGroups& groups, uint32_t max_rows);
Table IdleNextTable(const IdleGroups& groups, uint32_t max_rows);
Table GapLengthTable(const IdleGroups& groups);

// idle_host_tables.cpp: empty where the trace has no records of what they are about.
Table IdleOsTable(const AnalysisInput& input, const IdleSummary& summary, const HostGaps& host, uint32_t max_rows);
Table IdleMpiTable(const Trace& trace, const IdleSummary& summary, const HostGaps& host, uint32_t max_rows);
Table IdleFunctionTable(const IdleSummary& summary, const HostGaps& host, uint32_t max_rows);
Table IdleFunctionPathTable(const Trace& trace, const HostGaps& host, uint32_t max_rows);

Table StartupTeardownTable(const Trace& trace, const std::vector<StartupTeardown>& startups);

// "host 98.2%, launch 1.8%": largest first. What is below 1 % is left to the columns that JSON has.
std::string SplitText(const CauseSplit& split);

}  // namespace gprof

// Two sets of runs beside each other: what changed, in parts that sum to the whole, and whether it is more than noise.
//
// The times of a set are those of one of its runs, the median one, so that they sum exactly; what is said of their
// changes rests on all runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gate/runs/measurement.h"
#include "gate/statistics/samples.h"

namespace gprof {

struct DiffOptions {
  double min_relative = 0.02;  // smaller changes of times do not count …
  double min_absolute_ns = 0;  // … nor do those below this
  bool are_pairs = false;      // base.runs[i] and now.runs[i] ran side by side
};

struct TimeChange {
  int64_t base_ns = 0, new_ns = 0;         // in the runs that stand for their sets
  std::optional<SampleComparison> judged;  // over all runs; nothing where times are not judged
  int64_t ChangeNs() const { return new_ns - base_ns; }
};

// A part of the time of all GPUs. The changes of those in the window sum to the change of the window, all of them to
// the change of the recorded time; `overlap` is what counts twice otherwise, below 0.
struct PartChange {
  std::string key;           // "before", "kernels", "overlap", "idle.host", …
  std::string label;         // for people
  bool is_in_window = true;  // between the first and the last operation
  TimeChange time;
};

// Where a thing is.
enum class Presence : uint8_t { kBoth, kNew, kGone, kRenamed };

struct DeviceChange {
  std::string device;
  Presence presence = Presence::kBoth;
  TimeChange wall, window;
  std::vector<PartChange> parts;
};

struct KernelChange {
  std::string name;
  std::string was;  // name in the base, where it probably was renamed
  std::string why;  // what makes us think so
  Presence presence = Presence::kBoth;
  std::string base_shape, new_shape;
  int64_t base_count = 0, new_count = 0;
  TimeChange time;
};

struct TransferChange {
  std::string direction, memory;
  Presence presence = Presence::kBoth;
  int64_t base_count = 0, new_count = 0, base_bytes = 0, new_bytes = 0;
  TimeChange time;
};

// An NVTX path; the empty one is what lies in no range.
struct PathChange {
  std::string path;
  Presence presence = Presence::kBoth;
  int64_t base_count = 0, new_count = 0;  // ranges
  TimeChange host;                        // in the ranges, children included
  TimeChange busy, idle;                  // of the GPUs, children not included: sum to `window`
  TimeChange window;
};

// Time of all steps by what the GPU did; per step it is that over the number of steps.
struct StepPartChange {
  std::string key, label;
  int64_t base_total_ns = 0, new_total_ns = 0;
};

struct StepChange {
  std::string base_path, new_path;
  int64_t base_count = 0, new_count = 0;
  double base_median_ns = 0, new_median_ns = 0;
  int64_t base_total_ns = 0, new_total_ns = 0;
  std::optional<SampleComparison> judged;  // the medians of all runs
  std::vector<StepPartChange> parts;       // sum to the totals
  // Means, as parts of medians do not sum.
  double BaseMeanNs(int64_t total_ns) const { return static_cast<double>(total_ns) / static_cast<double>(base_count); }
  double NewMeanNs(int64_t total_ns) const { return static_cast<double>(total_ns) / static_cast<double>(new_count); }
};

// A figure that is not what it was, or that one side does not have.
struct MetricChange {
  std::string id, scope;
  Unit unit = Unit::kCount;
  Better better = Better::kNeither;
  bool is_deterministic = false;
  std::optional<double> base, now;         // medians
  std::optional<SampleComparison> judged;  // counters always, times where there are several runs
};

// One of the two sets.
struct DiffSide {
  std::string name;
  std::vector<std::string> sources;  // of the runs
  size_t shown = 0;                  // the run that the times are of
  Fingerprint fingerprint;
  bool is_complete = true;
  std::vector<std::string> missing, notes;
  size_t gpus = 0;
  bool has_breakdown = true;  // a report in JSON has none
};

struct Diff {
  DiffSide base, now;
  std::vector<std::string> differences;        // why times of the two cannot be compared
  std::vector<std::string> other_differences;  // host and program: may be what is compared
  // Several runs of each on the same sort of machine, or one run of each with enough steps.
  bool is_judged = false;

  // What the verdict is about: the time of a step where both have one, else of the GPU, else the wall time.
  std::string figure;
  Change verdict = Change::kInconclusive;
  std::string evidence;  // or why there is no verdict

  TimeChange wall;      // of the run
  TimeChange gpu_wall;  // the same once for each GPU: what `parts` sum to
  TimeChange window;    // first to last operation, summed over the GPUs
  std::vector<PartChange> parts;
  std::vector<DeviceChange> devices;
  std::vector<KernelChange> kernels;  // those below: largest change first
  std::vector<TransferChange> transfers;
  std::vector<PathChange> paths;
  std::optional<StepChange> steps;
  std::vector<MetricChange> metrics;  // changed ones; counters first, then the whole before its scopes
  int64_t base_launches = 0, new_launches = 0;
  int64_t worse_counters = 0, better_counters = 0;  // deterministic, of the whole run
};

// Throws Error where a set has no run.
Diff CompareRuns(const RunSet& base, const RunSet& now, const DiffOptions& options = {});

}  // namespace gprof

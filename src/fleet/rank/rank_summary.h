// What is kept of one rank of a run: a few dozen kilobytes, whatever the size of its trace. A set of them is what
// `gprof-cli partial` writes, `merge` joins and `ranks` judges.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/result/idle_causes.h"

namespace gprof {

// How much of each thing a summary keeps; docs/commands/partial.md has the same numbers.
inline constexpr size_t kKeptKernels = 64, kKeptPlaces = 16, kKeptCalls = 16, kKeptRanges = 32;
inline constexpr size_t kKeptSteps = 512, kKeptCollectives = 4096, kKeptCommunicators = 16;
inline constexpr size_t kKeptWaitSteps = 64, kKeptWaits = 64, kKeptPartners = 2;  // steps; waits of one; ranks of one

// Times that grow, as a rule: the file has their differences.
struct Times {
  std::vector<int64_t> ns;
};

struct RankCalls {
  std::string name;
  int64_t count = 0, total_ns = 0;
};

// Pairs of a bucket and how many kernels are in it, by bucket: histogram.h says which durations a bucket has.
struct RankKernel {
  std::string name;
  int64_t count = 0, total_ns = 0, min_ns = 0, max_ns = 0;
  int64_t gpu_threads = 0;  // of all its launches; 0: not known
  std::vector<int64_t> buckets;
};

struct RankCopies {
  std::string direction, memory;  // "host to device", "pageable to device"
  int64_t count = 0, bytes = 0, total_ns = 0;
};

// The NVTX ranges of one path: their time on the host, and that of what was launched within them.
struct RankRange {
  std::string path;
  int64_t count = 0, total_ns = 0, gpu_busy_ns = 0, kernels = 0;
};

// Idle time of one cause, by where the host was; of a rank without GPU work, its host's time.
struct IdlePlace {
  std::string cause;
  std::string kind;  // "range", "function", "line", "call"
  std::string name;
  int64_t idle_ns = 0;
};

// Of a snapshot of a program that made no progress, in words; empty: nothing of the kind.
struct RankHang {
  std::string thread;      // "python3 (17) was in clock_nanosleep; train.py:30 (main)"
  std::string collective;  // that had not ended: the kernel of NCCL
};

// At most, of the GPU with the most of it; -1: not known.
struct RankMemory {
  int64_t allocated_bytes = -1;                    // by calls of CUDA
  int64_t used_bytes = -1;                         // by all processes, as NVML saw it
  int64_t tensor_bytes = -1, reserved_bytes = -1;  // of PyTorch's allocator
  int64_t gpu_bytes = 0;                           // what there is; 0: not known
};

inline constexpr std::string_view kTimeSlicesPath = "(slices of time)";

// Each entry is of `steps_in_one` iterations in a row, the last one of what is left; all are sums.
struct StepColumns {
  std::string path;  // kTimeSlicesPath: slices of time, as there are no steps; empty: neither
  int64_t count = 0, steps_in_one = 1;
  std::vector<int64_t> wall_ns, kernel_ns, copy_ns, exposed_ns;
  std::array<std::vector<int64_t>, kCauseCount> idle_ns;
};

// Whom a rank waited for: one rank of a communicator, or all of them.
struct WaitPartner {
  std::string communicator;     // as Communicator::name; empty: not known
  int64_t own = -1, peer = -1;  // numbers of the rank and of the other one in it; -1: not known, and all of them
};

// Each `every`-th step with the waits in it. A wait for several ranks is there once for each of them.
struct StepWaits {
  int64_t every = 1;
  Times begin_ns;
  std::vector<int64_t> length_ns, waits;                // by step: its duration, how many waits it has
  std::vector<int64_t> start_ns, duration_ns, partner;  // by wait: since the step began; an index
  std::vector<WaitPartner> partners;
};

inline constexpr const char* kMpiWorldName = "MPI_COMM_WORLD";  // Communicator::name

// The collectives that a rank made on one communicator, every `every`-th of them and the last. Numbers count from 0.
struct Communicator {
  std::string name;  // the same on all ranks: "MPI_COMM_WORLD", "NCCL 1234"
  int64_t count = 0, every = 1;
  std::vector<int64_t> numbers, duration_ns;
  Times arrival_ns;
  Times called_ns;                     // when the host asked for it; empty where NCCL did not tell
  std::vector<std::string> functions;  // "AllReduce", "Send"; empty: not known
};

inline constexpr const char* kNumberedByNccl = "NCCL";  // RankSummary::rank_source

struct RankSummary {
  // Who it is.
  std::string source;      // name of its file, without folders
  std::string unreadable;  // why there is nothing else; empty: there is
  std::string host, program, rank_source;
  int64_t rank = -1, local_rank = -1, world_size = 0, pid = 0;
  int64_t start_ns = 0;  // of the process
  // Whether it is whole.
  bool is_complete = true;
  int64_t records = 0, lost_records = 0;
  std::vector<std::string> problems;  // in words
  // Times of day are times of the trace and this.
  bool has_day = false;
  int64_t day_offset_ns = 0, day_uncertainty_ns = 0;
  std::vector<std::string> gpus, gpu_uuids;
  // Sums over its GPUs, as in the report of its trace.
  int64_t wall_ns = 0, window_ns = 0, busy_ns = 0, kernel_ns = 0;  // kernel_ns: a kernel ran
  int64_t nccl_ns = 0, exposed_ns = 0;  // collectives of NCCL; with no other kernel beside them
  int64_t kernels = 0, api_calls = 0, api_ns = 0, mpi_ns = 0;
  int64_t cpu_ns = -1;                         // of a rank without GPU work, by samples; -1: not known
  std::array<int64_t, kCauseCount> idle_ns{};  // of a rank without GPU work, window_ns by what its host did
  int64_t preempted_ns = -1;                   // of the cause host: ready, without a processor; -1: not known
  int64_t clock_mhz = 0, throttled_ns = -1;    // median; 0 and -1: not known
  int64_t ecc_errors = -1;                     // uncorrected, of its GPUs; -1: not known
  RankMemory memory;
  std::vector<RankKernel> kernel_times;  // the most time first; the last one may be of all others, without a name
  std::vector<RankCopies> copies;
  std::vector<RankCalls> api, mpi;
  std::vector<RankRange> ranges;  // the most GPU time first
  std::vector<IdlePlace> places;  // the most idle time first
  StepColumns steps;
  StepWaits step_waits;
  std::vector<Communicator> communicators;
  RankHang hang;
  std::string results;  // of all analyses, as KeptText has them; beside the summary in a file, and not read with it

  bool HasGpuWork() const { return !gpus.empty(); }
  int64_t IdleNs() const;
  int64_t CopyNs() const { return busy_ns - kernel_ns; }
  // What it spent on itself, not on waiting for other ranks: all but exposed collectives and calls of MPI.
  int64_t OwnNs() const;

  RankSummary();
  RankSummary(const RankSummary&);
  RankSummary(RankSummary&&) noexcept;
  RankSummary& operator=(const RankSummary&);
  RankSummary& operator=(RankSummary&&) noexcept;
  ~RankSummary();
};

// A name as summaries have it: bounded, and valid UTF-8.
std::string KeptName(std::string_view text);
// Communicator::name of one of NCCL's.
std::string NcclName(std::string_view communicator);
// The order of ranks in a file, and what tells two of them apart.
std::string KeyOf(const RankSummary& rank);
// "rank 3", else the name of its file.
std::string NameOf(const RankSummary& rank);

// What stands for a file that cannot be read, so that the verdict names it.
RankSummary UnreadableRank(std::string_view path, std::string_view why);

// summary_json.cpp: A summary as JSON, which is what a .gpart has of it: keys without a value have the default, unknown
// ones are skipped.

// Keeps figures within what sums of thousands of ranks have room for: a damaged trace may hold any number.
void BoundSummary(RankSummary* rank);

std::string SummaryText(const RankSummary& rank);
// Throws Error, in the name of the file, for what no summary can be.
RankSummary ParseSummary(std::string_view text, const std::string& file);

}  // namespace gprof

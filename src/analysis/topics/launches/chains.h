// Sequences of kernels, copies and fills that a stream runs again and again: what a CUDA graph could launch at once.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analysis/facts/gaps/gap_list.h"
#include "analysis/facts/operations/op_facts.h"
#include "gprof/analysis.h"

namespace gprof {

// A gap before an operation can be laid to launching only where it is short (2.6 us a launch on an H200,
// reference/peers.md 4a); a longer one has another reason.
inline constexpr int64_t kLaunchGapAtMostNs = 50'000;

// All runs of one repeated sequence, wherever it begins and in whatever stream.
struct Chain {
  std::vector<uint32_t> operations;     // of one repetition: the first few, after the longest gap
  uint32_t stream = kNone;              // of the first run
  Interval time{INT64_MAX, INT64_MIN};  // from the first of its operations to the last
  uint32_t period = 0, kernels = 0;     // operations and kernels of a repetition
  int64_t repetitions = 0, runs = 0;
  int64_t busy_ns = 0;  // sum of the durations
  int64_t idle_ns = 0;  // of the device before operations within a repetition, where at most 50 us
};

// How long the device of an operation was idle before it: 0 where the gap was not recorded to its end, and during
// start-up, when kernels wait for their code.
class GapsBefore {
 public:
  explicit GapsBefore(const AnalysisInput& input);
  int64_t GapNs(uint32_t op);

 private:
  void FindDevice(uint32_t op);

  const Trace& trace_;
  int64_t from_ns_ = INT64_MIN;  // the end of start-up
  std::vector<const GapList*> of_device_;
  // Of the operation asked for before: as a rule the next one is of the same device.
  const GapList* last_ = nullptr;
};

// The symbols of the operations of all streams as numbers, those of a stream side by side in the order of StreamOps, so
// that runs are followed through 4 bytes of each operation and not through 24 that lie apart. To be added are all
// operations, in the order of the trace, by whoever goes over them anyway.
class SymbolNumbers {
 public:
  static constexpr uint32_t kUnlike = 0;  // the operation is like no other

  explicit SymbolNumbers(const AnalysisInput& input);
  SymbolNumbers(const SymbolNumbers&) = delete;  // refers to itself
  SymbolNumbers& operator=(const SymbolNumbers&) = delete;

  // The next operation, by what it shares with others.
  void Add(uint32_t traits) {
    const Destination& of = destinations_[traits];
    if (of.next != nullptr) *(*of.next)++ = of.number;
  }

  std::span<const uint32_t> Of(uint32_t stream) const {
    return std::span<const uint32_t>(numbers_).subspan(firsts_[stream], firsts_[stream + 1] - firsts_[stream]);
  }
  const std::vector<uint64_t>& symbols() const { return symbols_; }  // by number
  bool has_unlike() const { return has_unlike_; }

 private:
  struct Destination {
    uint32_t** next;  // null: of no stream
    uint32_t number;
  };

  std::vector<uint32_t> NumberFacts(const Trace& trace, const OpFacts& ops);

  std::vector<uint64_t> symbols_;
  std::vector<size_t> firsts_;              // of each stream in numbers_, and the end of the last one
  std::vector<uint32_t*> next_of_streams_;  // where their next ones go
  std::vector<Destination> destinations_;
  std::vector<uint32_t, packed_detail::Unwritten<uint32_t>> numbers_;
  bool has_unlike_ = false;
};

// Those with the most idle time first. Operations of graphs are in none: they are launched at once already.
std::vector<Chain> FindChains(const AnalysisInput& input, const SymbolNumbers& numbers);

}  // namespace gprof

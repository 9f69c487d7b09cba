// Operations of NCCL of known size, with the kernels that carried them out: as NCCL told us (Trace::collectives), else
// as the NVTX payloads of its ranges say.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gprof/trace.h"

namespace gprof {

struct NcclMessage {
  std::string_view function;           // "AllReduce"
  NameId path;                         // of the NVTX range that it was launched in, if any
  int64_t called_ns = 0;               // when the host asked for it
  int64_t bytes = 0;                   // what one rank gives
  std::string communicator;            // its number, which needs all 64 bits; empty where it is not said
  int64_t ranks = 0;                   // of it, else of the job; 0 where neither is known
  std::optional<Interval> kernels;     // from the first start to the last end; nothing where it is not known which
  double kernel_ns = 0;                // its part of that: kernels of a group are divided by bytes
  uint32_t device = kNone;             // that they ran on
  uint32_t thread = kNone;             // that asked for it
  const Collective* record = nullptr;  // null: from a payload

  bool IsPeerToPeer() const { return function == "Send" || function == "Recv"; }
  // As nccl-tests has them: NCCL counts what one rank gives, gathering and scattering move that for each rank.
  bool NeedsRanks() const;
  double AlgorithmBytes() const;
  double BusBytes() const;
};

class NcclMessages {
 public:
  NcclMessages(const Trace& trace, const std::function<bool(const GpuOp&)>& is_collective);

  const Trace& trace() const { return trace_; }
  const std::vector<NcclMessage>& all() const { return all_; }
  bool AreRecords() const { return !trace_.collectives.empty(); }

 private:
  struct Launch {
    int64_t start_ns;
    uint32_t call, op;
  };
  using IsCollective = std::function<bool(const GpuOp&)>;

  void ReadPayloads(const IsCollective& is_collective);
  void ReadPayload(const NvtxPayload& payload);
  void AddKernelOfRange(const GpuOp& op);
  void ReadRecords(const IsCollective& is_collective);
  void AddKernelsOfLaunches(const std::map<uint32_t, std::vector<Launch>>& by_thread);
  int64_t RanksOfJob(uint32_t thread) const;

  const Trace& trace_;
  std::vector<NcclMessage> all_;
  std::map<uint32_t, size_t> of_range_;           // index of the message of a range
  std::map<std::string, int64_t> communicators_;  // their ranks
};

}  // namespace gprof

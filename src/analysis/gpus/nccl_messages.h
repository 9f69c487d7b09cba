// Collectives that say in their NVTX payload what they move and with whom.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "gprof/trace.h"

namespace gprof {

struct NcclMessage {
  int64_t bytes = -1;
  std::string communicator;         // its number, which needs all 64 bits; empty where it is not said
  std::optional<Interval> kernels;  // from the first start to the last end; nothing for calls of a group
  uint32_t device = kNone;          // that they ran on
};

class NcclMessages {
 public:
  NcclMessages(const Trace& trace, const std::function<bool(const GpuOp&)>& is_collective);

  const Trace& trace() const { return trace_; }
  const std::map<uint32_t, NcclMessage>& messages() const { return messages_; }  // by range
  // Of its communicator, else of the job; 0 where neither is known.
  int64_t RanksOf(uint32_t range, const NcclMessage& message) const;

 private:
  void Read(const NvtxPayload& payload);
  void AddKernel(const GpuOp& op);

  const Trace& trace_;
  std::map<uint32_t, NcclMessage> messages_;
  std::map<std::string, int64_t> ranks_;  // by communicator
};

}  // namespace gprof

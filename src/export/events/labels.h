// The names of events in timelines, numbered: each is demangled, cleaned and written out once.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "gprof/trace.h"

namespace gprof {

class Labels {
 public:
  explicit Labels(const Trace& trace);

  uint32_t Of(NameId name);      // as it is
  uint32_t Of(const GpuOp& op);  // "ampere_sgemm…(…)", "Memcpy HtoD (Pageable -> Device)", as torch.profiler has them
  uint32_t Of(std::string_view text);
  // Valid UTF-8. Labels count from 0.
  const std::string& Text(uint32_t label) const { return texts_[label]; }
  std::size_t size() const { return texts_.size(); }

 private:
  uint32_t Add(std::string text);
  uint32_t OfKernel(NameId name);

  using CopyKey = std::tuple<OpKind, uint32_t, trace::MemoryKind, trace::MemoryKind>;
  const Trace& trace_;
  std::vector<std::string> texts_;
  std::vector<uint32_t> names_, kernels_;  // by NameId: their labels, kNone where there is none yet
  std::map<CopyKey, uint32_t> others_;     // operations that are no kernels
  std::map<std::string, uint32_t, std::less<>> literals_;
};

}  // namespace gprof

// Which things of a trace the words of a Selection mean. Words that mean nothing in it are errors.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trace/reshape/select.h"

namespace gprof {

class SelectedNames {
 public:
  SelectedNames(const Trace& trace, const Selection& selection) : trace_(trace), selection_(selection) {}

  // A flag for each process, thread, device and stream.
  std::vector<uint8_t> Processes() const;
  std::vector<uint8_t> Threads(const std::vector<uint8_t>& is_process) const;
  std::vector<uint8_t> Devices() const;
  std::vector<uint8_t> Streams(const std::vector<uint8_t>& is_process, const std::vector<uint8_t>& is_device) const;
  // A flag for each range that is selected itself, whatever is within it. Empty where none are.
  std::vector<uint8_t> Ranges() const;
  // A flag for each string: names of kernels. Empty where they are not selected.
  std::vector<uint8_t> Kernels() const;

 private:
  bool IsNamed(std::string_view path, const NvtxRange& range) const;
  std::string InstancePath(uint32_t range) const;

  const Trace& trace_;
  const Selection& selection_;
};

}  // namespace gprof

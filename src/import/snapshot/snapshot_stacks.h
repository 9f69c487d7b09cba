// Stacks of a snapshot as records of a trace.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "import/shared/foreign_builder.h"
#include "import/snapshot/pickle.h"

namespace gprof {

class SnapshotStacks {
 public:
  SnapshotStacks(const Pickle& pickle, ForeignBuilder* builder) : pickle_(pickle), builder_(*builder) {}

  // The stack of the value "frames", innermost first: lines of Python, and operators where it has native code as well.
  // 0 with neither.
  uint32_t StackOf(Pickle::Value frames);

 private:
  uint32_t FrameOf(Pickle::Value frame);
  uint32_t OperatorFrame(std::string_view name);

  const Pickle& pickle_;
  ForeignBuilder& builder_;
  std::unordered_map<Pickle::Value, uint32_t> known_;  // the same stack is one value of a pickle, mostly
  std::map<std::tuple<std::string_view, std::string_view, int64_t>, uint32_t> frames_;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> stacks_;  // by parent and frame
};

}  // namespace gprof

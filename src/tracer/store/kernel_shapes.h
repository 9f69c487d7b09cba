// Launch configurations: few in a program, so a kernel record names one by its id. [writer thread]
#pragma once

#include <cstdint>

#include "gprof/trace/record.h"

namespace gprof::tracer {

class ShapeTable {
 public:
  // 0 without memory.
  trace::ShapeId Intern(const trace::KernelShapeRecord& shape);
  const trace::KernelShapeRecord& ShapeOf(trace::ShapeId id) const { return entries_[id.value - 1].shape; }
  // True when the shape was not yet named in this chunk; marks it.
  bool MarkForChunk(trace::ShapeId id, uint32_t chunk);
  void ResetAfterFork() { *this = ShapeTable(); }

 private:
  struct Entry {
    trace::KernelShapeRecord shape;
    uint64_t hash;
    uint32_t chunk;
  };
  bool Grow();
  Entry* entries_ = nullptr;
  uint32_t* slots_ = nullptr;  // id, 0 is free
  uint32_t capacity_ = 0;      // of entries_; slots_ has twice as many
  uint32_t count_ = 0;
};

ShapeTable& Shapes();

}  // namespace gprof::tracer

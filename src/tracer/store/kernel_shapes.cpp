#include "tracer/store/kernel_shapes.h"

#include <cstring>

#include "tracer/store/interned_names.h"
#include "tracer/store/memory/arena.h"

namespace gprof::tracer {
namespace {

constinit ShapeTable shape_table GPROF_IN_ARENA;

// Field by field: the padding of a struct is nobody's.
uint64_t HashOf(const trace::KernelShapeRecord& shape) {
  uint64_t values[32] = {};
  uint32_t n = 0;
  trace::KernelShapeRecord::Fields(shape, [&](const trace::FieldInfo&, const auto& v) { values[n++] = v; });
  return HashBytes(values + 1, (n - 1) * sizeof values[0]);  // all but the id
}

bool Same(const trace::KernelShapeRecord& a, const trace::KernelShapeRecord& b) {
  return a.grid_x == b.grid_x && a.grid_y == b.grid_y && a.grid_z == b.grid_z && a.block_x == b.block_x &&
         a.block_y == b.block_y && a.block_z == b.block_z && a.cluster_x == b.cluster_x && a.cluster_y == b.cluster_y &&
         a.cluster_z == b.cluster_z && a.registers_per_thread == b.registers_per_thread &&
         a.static_shared_bytes == b.static_shared_bytes && a.dynamic_shared_bytes == b.dynamic_shared_bytes &&
         a.local_bytes_per_thread == b.local_bytes_per_thread && a.local_bytes_total == b.local_bytes_total &&
         a.shared_carveout_bytes == b.shared_carveout_bytes && a.cache_config == b.cache_config;
}

}  // namespace

ShapeTable& Shapes() { return shape_table; }

bool ShapeTable::Grow() {
  if (count_ < capacity_) return true;
  const uint32_t capacity = capacity_ == 0 ? 1024 : capacity_ * 2;
  auto* entries = static_cast<Entry*>(KeepMemory(capacity * sizeof(Entry), Region::kRows));
  auto* slots = static_cast<uint32_t*>(KeepMemory(capacity * 2 * sizeof(uint32_t), Region::kRows));
  if (entries == nullptr || slots == nullptr) return false;
  if (count_ != 0) std::memcpy(static_cast<void*>(entries), entries_, count_ * sizeof(Entry));
  for (uint32_t id = 1; id <= count_; ++id) {
    uint32_t slot = static_cast<uint32_t>(entries[id - 1].hash) & (capacity * 2 - 1);
    while (slots[slot] != 0) slot = (slot + 1) & (capacity * 2 - 1);
    slots[slot] = id;
  }
  // In this order, so that who is interrupted leaves entries that hold all the ids handed out.
  entries_ = entries;
  slots_ = slots;
  capacity_ = capacity;
  return true;
}

trace::ShapeId ShapeTable::Intern(const trace::KernelShapeRecord& shape) {
  if (!Grow()) return {};
  const uint64_t hash = HashOf(shape);
  const uint32_t mask = capacity_ * 2 - 1;
  uint32_t slot = static_cast<uint32_t>(hash) & mask;
  for (; slots_[slot] != 0; slot = (slot + 1) & mask) {
    const Entry& e = entries_[slots_[slot] - 1];
    if (e.hash == hash && Same(e.shape, shape)) return {slots_[slot]};
  }
  entries_[count_] = {shape, hash, 0};
  entries_[count_].shape.id = count_ + 1;
  slots_[slot] = ++count_;
  return {count_};
}

bool ShapeTable::MarkForChunk(trace::ShapeId id, uint32_t chunk) {
  if (id.value == 0 || (is_salvage && (id.value > count_ || !IsKept(entries_, count_ * sizeof(Entry))))) return false;
  Entry& e = entries_[id.value - 1];
  if (e.chunk == chunk) return false;
  e.chunk = chunk;
  return true;
}

}  // namespace gprof::tracer

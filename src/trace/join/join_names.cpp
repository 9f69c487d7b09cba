#include <type_traits>
#include <unordered_map>

#include "gprof/lists.h"
#include "trace/join/join.h"

namespace gprof {
namespace {

template <class F>
void ForEachName(UnjoinedTrace& unjoined, F f) {
  Trace& t = unjoined.trace;
  ForEachList([&](const auto& list) {
    for (auto& x : t.*list.list) {
      std::decay_t<decltype(x)>::Fields(x, [&](const FieldOf&, auto& field) {
        if constexpr (std::is_same_v<std::decay_t<decltype(field)>, NameId>) f(field);
      });
    }
  });
  for (DeviceSlot& x : unjoined.device_slots) f(x.name), f(x.uuid);
  t.ops.ChangeTraits([&](PackedOps::Traits& x) { f(x.name); });
  t.api_calls.ChangeTraits([&](PackedCalls::Traits& x) { f(x.function); });
  unjoined.nvtx_events.ChangeTraits([&](NvtxEvents::Traits& x) { f(x.message); });
  for (ObjectName& x : unjoined.object_names) f(x.name);
  for (auto& x : unjoined.schemas) f(x.name);
  for (auto& x : unjoined.schema_entries) f(x.name);
  for (auto& x : unjoined.enum_values) f(x.name);
}

}  // namespace

void ResolveLateNames(UnjoinedTrace& unjoined) {
  unjoined.trace.health.missing_strings =
      unjoined.missing_names.size() - unjoined.late_names.size() + unjoined.missing_definitions;
  if (unjoined.late_names.empty()) return;
  std::unordered_map<uint32_t, NameId> names;
  for (const LateName& late : unjoined.late_names) names.emplace(late.placeholder.value, late.name);
  ForEachName(unjoined, [&](NameId& name) {
    const auto at = names.find(name.value);
    if (at != names.end()) name = at->second;
  });
}

void ResolveLateShapes(UnjoinedTrace& unjoined) {
  if (unjoined.late_shapes.empty()) return;
  unjoined.trace.ops.ChangeTraits([&](PackedOps::Traits& op) {
    if (op.shape == kNone || op.shape < kLateShape) return;
    const LateShape late = unjoined.late_shapes[op.shape - kLateShape];
    op.shape = unjoined.shape_ids.Find(late.process, late.shape);
  });
}

}  // namespace gprof

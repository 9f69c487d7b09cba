#include <type_traits>
#include <unordered_map>

#include "gprof/lists.h"
#include "trace/join/join.h"

namespace gprof {
namespace {

template <class F>
void ForEachName(Draft& draft, F f) {
  Trace& t = draft.trace;
  ForEachList([&](const auto& list) {
    for (auto& x : t.*list.list) {
      std::decay_t<decltype(x)>::Fields(x, [&](const FieldOf&, auto& field) {
        if constexpr (std::is_same_v<std::decay_t<decltype(field)>, NameId>) f(field);
      });
    }
  });
  for (DeviceSlot& x : draft.device_slots) f(x.name), f(x.uuid);
  t.ops.ChangeFacts([&](PackedOps::Facts& x) { f(x.name); });
  t.api_calls.ChangeFacts([&](PackedCalls::Facts& x) { f(x.function); });
  draft.nvtx_events.ChangeFacts([&](NvtxEvents::Facts& x) { f(x.message); });
  for (ObjectName& x : draft.object_names) f(x.name);
  for (auto& x : draft.schemas) f(x.name);
  for (auto& x : draft.schema_entries) f(x.name);
  for (auto& x : draft.enum_values) f(x.name);
}

}  // namespace

void ResolveLateNames(Draft& draft) {
  draft.trace.health.missing_strings = draft.missing_names.size() - draft.late_names.size() + draft.missing_definitions;
  if (draft.late_names.empty()) return;
  std::unordered_map<uint32_t, NameId> names;
  for (const LateName& late : draft.late_names) names.emplace(late.placeholder.value, late.name);
  ForEachName(draft, [&](NameId& name) {
    const auto at = names.find(name.value);
    if (at != names.end()) name = at->second;
  });
}

void ResolveLateShapes(Draft& draft) {
  if (draft.late_shapes.empty()) return;
  draft.trace.ops.ChangeFacts([&](PackedOps::Facts& op) {
    if (op.shape == kNone || op.shape < kLateShape) return;
    const LateShape late = draft.late_shapes[op.shape - kLateShape];
    op.shape = draft.shape_ids.Find(late.process, late.shape);
  });
}

}  // namespace gprof

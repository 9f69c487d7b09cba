#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <unordered_map>

#include "trace/join/field_joins.h"
#include "trace/join/join.h"
#include "trace/load/order.h"

namespace gprof {
namespace {

// One device, seen by one or more processes.
struct Candidate {
  uint32_t slot = kNone;  // that describes it best
  uint32_t lowest_ordinal = kNone;
};

// Slots with the same key are one device. Processes that see it under different numbers (CUDA_VISIBLE_DEVICES) still
// agree about its UUID.
std::string KeyOf(const UnjoinedTrace& unjoined, const DeviceSlot& slot) {
  if (slot.uuid != NameId{}) return fmt::format("uuid {}", unjoined.names.Text(slot.uuid));
  const NameId host = unjoined.trace.processes[slot.process].host;
  return fmt::format("host {} ordinal {}", unjoined.names.Text(host), slot.properties.device);
}

// A slot without a description (its record was lost) is the device that others on the host know by the same ordinal,
// when that is one device only.
std::string KeyOfUndescribed(const UnjoinedTrace& unjoined, const DeviceSlot& slot,
                             const std::unordered_map<std::string, std::string>& described) {
  const NameId host = unjoined.trace.processes[slot.process].host;
  const auto at = described.find(fmt::format("{}\n{}", unjoined.names.Text(host), slot.properties.device));
  return at == described.end() || at->second.empty() ? KeyOf(unjoined, slot) : at->second;
}

std::vector<std::string> SlotKeys(const UnjoinedTrace& unjoined) {
  std::unordered_map<std::string, std::string> described;  // host and ordinal to key, "" for more than one device
  std::vector<std::string> keys(unjoined.device_slots.size());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const DeviceSlot& slot = unjoined.device_slots[i];
    if (!slot.is_described) continue;
    keys[i] = KeyOf(unjoined, slot);
    const NameId host = unjoined.trace.processes[slot.process].host;
    const auto [at, is_new] =
        described.emplace(fmt::format("{}\n{}", unjoined.names.Text(host), slot.properties.device), keys[i]);
    if (!is_new && at->second != keys[i]) at->second.clear();
  }
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const DeviceSlot& slot = unjoined.device_slots[i];
    if (!slot.is_described) keys[i] = KeyOfUndescribed(unjoined, slot, described);
  }
  return keys;
}

// By the number that processes use, then by the place on the PCI bus: eight processes that each see one device as 0
// give gpu0 to gpu7 in the order of nvidia-smi, whatever order their chunks came in.
auto OrderOf(const UnjoinedTrace& unjoined, const Candidate& c) {
  const DeviceSlot& slot = unjoined.device_slots[c.slot];
  const trace::DeviceRecord& f = slot.properties;
  return std::make_tuple(c.lowest_ordinal, unjoined.names.Text(unjoined.trace.processes[slot.process].host),
                         f.pcie_domain, f.pcie_bus, f.pcie_device, unjoined.names.Text(slot.uuid), c.slot);
}

// Gives each device its number: the one its processes use, or the next one that is free.
void AssignOrdinals(UnjoinedTrace& unjoined, const std::vector<Candidate>& candidates) {
  uint32_t next = 0;
  for (const Candidate& c : candidates) {
    const DeviceSlot& slot = unjoined.device_slots[c.slot];
    Device d;
    d.process = slot.process;
    d.ordinal = std::max(next, c.lowest_ordinal);
    d.properties = slot.properties;
    d.name = slot.name;
    d.uuid = slot.uuid;
    next = d.ordinal == kNone ? kNone : d.ordinal + 1;
    unjoined.trace.devices.push_back(d);
  }
}

// Index of the device for every slot.
std::vector<uint32_t> MakeDevices(UnjoinedTrace& unjoined) {
  const std::vector<std::string> keys = SlotKeys(unjoined);
  std::unordered_map<std::string, uint32_t> by_key;
  std::vector<Candidate> candidates;
  std::vector<uint32_t> candidate_of(keys.size());
  for (uint32_t i = 0; i < keys.size(); ++i) {
    const auto [at, is_new] = by_key.emplace(keys[i], static_cast<uint32_t>(candidates.size()));
    if (is_new) candidates.push_back({i, unjoined.device_slots[i].properties.device});
    Candidate& c = candidates[at->second];
    if (!unjoined.device_slots[c.slot].is_described && unjoined.device_slots[i].is_described) c.slot = i;
    c.lowest_ordinal = std::min(c.lowest_ordinal, unjoined.device_slots[i].properties.device);
    candidate_of[i] = at->second;
  }
  std::vector<uint32_t> order(candidates.size()), place(candidates.size());
  for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return OrderOf(unjoined, candidates[a]) < OrderOf(unjoined, candidates[b]);
  });
  std::vector<Candidate> sorted;
  for (uint32_t i = 0; i < order.size(); ++i) {
    place[order[i]] = i;
    sorted.push_back(candidates[order[i]]);
  }
  AssignOrdinals(unjoined, sorted);
  for (uint32_t& c : candidate_of) c = place[c];
  return candidate_of;
}

struct NamedStream {
  uint32_t process;
  uint64_t handle;
  int64_t created_ns;
  uint32_t stream;
};

// The legacy and the per-thread default stream have fixed handles, and some programs name the null handle.
bool IsDefaultHandle(uint64_t handle) { return handle <= 2; }

std::vector<NamedStream> StreamsByHandle(const Trace& t) {
  std::vector<NamedStream> named;
  for (uint32_t i = 0; i < t.streams.size(); ++i) {
    const Stream& s = t.streams[i];
    if (s.is_default || (s.handle != 0 && IsDefaultHandle(s.handle))) named.push_back({s.process, 0, 0, i});
    if (!IsDefaultHandle(s.handle)) named.push_back({s.process, s.handle, s.created_ns, i});
  }
  std::sort(named.begin(), named.end(), [](const NamedStream& a, const NamedStream& b) {
    return std::tie(a.process, a.handle, a.created_ns, a.stream) <
           std::tie(b.process, b.handle, b.created_ns, b.stream);
  });
  return named;
}

void GiveName(Stream& s, NameId name, FlatIndex& given, uint32_t stream) {
  uint32_t& seen = given(stream, name.value);
  if (seen == kNone) {
    seen = 0;
    ++s.names_given;
  }
  s.name = name;
}

// The driver uses handles again: a name belongs to the stream with the handle that was made last before it was given.
void NameStream(Trace& t, const std::vector<NamedStream>& streams, const ObjectName& name, FlatIndex& given) {
  const uint64_t handle = IsDefaultHandle(name.handle) ? 0 : name.handle;
  const auto key = std::tie(name.process, handle);
  auto at = std::partition_point(streams.begin(), streams.end(),
                                 [&](const NamedStream& s) { return std::tie(s.process, s.handle) < key; });
  const auto first = at;
  const auto is_same = [&] { return at != streams.end() && std::tie(at->process, at->handle) == key; };
  if (handle == 0) {
    for (; is_same(); ++at) GiveName(t.streams[at->stream], name.name, given, at->stream);
    return;
  }
  at = std::partition_point(first, streams.end(), [&](const NamedStream& s) {
    return std::tie(s.process, s.handle, s.created_ns) <= std::tie(name.process, handle, name.time_ns);
  });
  if (at != first) {
    --at;
  } else if (!is_same()) {
    return;
  }
  GiveName(t.streams[at->stream], name.name, given, at->stream);
}

}  // namespace

void NumberDevices(UnjoinedTrace& unjoined) {
  Trace& t = unjoined.trace;
  const std::vector<uint32_t> device_of = MakeDevices(unjoined);
  const auto from_slot = [&](uint32_t& device) {
    if (device != kNone) device = device_of[device];
  };
  const auto from_ordinal = [&](uint32_t process, uint32_t& device) {
    device = unjoined.slot_ids.Find(process, device);
    from_slot(device);
  };
  t.ops.ChangeTraits([&](PackedOps::Traits& op) { from_slot(op.device), from_slot(op.peer_device); });
  for (Context& c : t.contexts) from_slot(c.device);
  for (Stream& s : t.streams) from_slot(s.device);
  for (Jit& j : t.jits) from_ordinal(j.process, j.device);
  for (MemoryEvent& m : t.memory_events) from_ordinal(m.process, m.device);
  for (TensorBlock& b : t.tensor_blocks) from_ordinal(b.process, b.device);
  for (MemoryPoolEvent& p : t.memory_pools) from_ordinal(p.process, p.device);
  for (ManagedMemory& m : t.managed_memory) from_ordinal(m.process, m.source), from_ordinal(m.process, m.destination);
  for (InProgress& work : t.in_progress) from_ordinal(work.process, work.device);
  for (BaseGraph& graph : t.base_graphs) from_ordinal(graph.process, graph.device);
  for (CounterRange& range : t.counter_ranges) from_ordinal(range.process, range.device);
  std::unordered_map<uint32_t, uint32_t> by_uuid;
  for (uint32_t i = 0; i < t.devices.size(); ++i) by_uuid.emplace(t.devices[i].uuid.value, i);
  for (MetricSource& s : t.metric_sources) {
    const auto at = by_uuid.find(s.device_uuid.value);
    if (s.device_uuid == NameId{}) {
      from_ordinal(s.process, s.device);
    } else {
      s.device = at == by_uuid.end() ? kNone : at->second;
    }
  }
}

void ResolveLateStreams(UnjoinedTrace& unjoined) {
  Trace& t = unjoined.trace;
  FlatIndex by_id;  // stream ids are unique in a process
  unjoined.late_streams.ForEach([&](auto& late) {
    using M = typename std::decay_t<decltype(late)>::Model;
    if (late.streams.empty()) return;
    if (by_id.size() == 0) {
      for (uint32_t i = 0; i < t.streams.size(); ++i) by_id(t.streams[i].process, t.streams[i].id) = i;
    }
    for (const LateStream& l : late.streams) (t.*kListOf<M>.list)[l.event].stream = by_id.Find(l.process, l.stream);
  });
}

void FinishStreams(UnjoinedTrace& unjoined) {
  Trace& t = unjoined.trace;
  for (std::size_t i = 0; i < t.contexts.size(); ++i) {
    const Context c = t.contexts[i];
    if (c.null_stream != 0) t.streams[unjoined.StreamIndex(c.process, c.id, c.null_stream)].is_default = true;
  }
  for (Stream& s : t.streams) {
    Context& c = t.contexts[unjoined.ContextIndex(s.process, s.context)];
    if (s.device == kNone) s.device = c.device;
    if (c.device == kNone) c.device = s.device;
  }
  const std::vector<NamedStream> streams = StreamsByHandle(t);
  SortNearlySorted(unjoined.object_names.begin(), unjoined.object_names.end(),
                   [](const ObjectName& a, const ObjectName& b) { return a.time_ns < b.time_ns; });
  FlatIndex given;
  for (const ObjectName& name : unjoined.object_names) {
    if (name.object == trace::NvtxNameKind::kStream) NameStream(t, streams, name, given);
  }
}

void NameThreads(UnjoinedTrace& unjoined) {
  for (const ObjectName& name : unjoined.object_names) {
    if (name.object != trace::NvtxNameKind::kThread || name.name == NameId{}) continue;
    const uint32_t thread = unjoined.threads.Find(name.process, name.handle);
    if (thread != kNone) unjoined.trace.threads[thread].name = name.name;
  }
}

}  // namespace gprof

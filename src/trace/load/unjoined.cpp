#include "trace/load/unjoined.h"

#include <fmt/format.h>

#include <algorithm>

namespace gprof {

uint32_t UnjoinedTrace::ContextIndex(uint32_t process, uint32_t context) {
  uint32_t& index = contexts(process, context);
  if (index == kNone) {
    index = static_cast<uint32_t>(trace.contexts.size());
    Context c;
    c.process = process;
    c.id = context;
    trace.contexts.push_back(c);
  }
  return index;
}

uint32_t UnjoinedTrace::StreamIndex(uint32_t process, uint32_t context, uint32_t stream) {
  uint32_t& index = streams(uint64_t{process} << 32 | context, stream);
  if (index == kNone) {
    index = static_cast<uint32_t>(trace.streams.size());
    Stream s;
    s.process = process;
    s.context = context;
    s.id = stream;
    trace.streams.push_back(s);
    ContextIndex(process, context);
  }
  return index;
}

uint32_t UnjoinedTrace::ThreadIndex(uint32_t process, uint32_t tid) {
  uint32_t& index = threads(process, tid);
  if (index == kNone) {
    index = static_cast<uint32_t>(trace.threads.size());
    Thread thread;
    thread.process = process;
    thread.tid = tid;
    trace.threads.push_back(thread);
  }
  return index;
}

NameId UnjoinedTrace::Name(uint32_t writer, trace::StringId id) {
  if (id.value == 0) return {};
  const uint32_t known = string_ids.Find(writer, id.value);
  if (known != kNone) return {known};
  const NameId placeholder = names.AddUnique(fmt::format("<name #{}>", id.value));
  string_ids(writer, id.value) = placeholder.value;
  missing_names.push_back(placeholder.value);
  return placeholder;
}

uint32_t UnjoinedTrace::SlotIndex(uint32_t process, uint32_t ordinal) {
  uint32_t& index = slot_ids(process, ordinal);
  if (index == kNone) {
    index = static_cast<uint32_t>(device_slots.size());
    DeviceSlot slot;
    slot.process = process;
    slot.facts.device = ordinal;
    device_slots.push_back(slot);
  }
  return index;
}

uint32_t UnjoinedTrace::DomainIndex(uint32_t process, uint32_t id) {
  uint32_t& index = domains(process, id);
  if (index == kNone) {
    index = static_cast<uint32_t>(trace.domains.size());
    NvtxDomain d;
    d.process = process;
    d.id = id;
    trace.domains.push_back(d);
  }
  return index;
}

void UnjoinedTrace::Touch(uint32_t process, int64_t first_ns, int64_t last_ns) {
  Process& p = trace.processes[process];
  if (first_ns <= last_ns) {
    p.start_ns = p.start_ns == 0 ? first_ns : std::min(p.start_ns, first_ns);
    trace.start_ns = trace.start_ns == 0 ? first_ns : std::min(trace.start_ns, first_ns);
  }
  p.end_ns = std::max(p.end_ns, last_ns);
  trace.end_ns = std::max(trace.end_ns, last_ns);
}

}  // namespace gprof

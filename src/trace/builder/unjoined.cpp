#include "trace/builder/unjoined.h"

#include <fmt/format.h>

#include <algorithm>

namespace gprof {

namespace {

// `index` is where something is in the list, kNone when it is named for the first time: then it begins as `make` says.
template <class List, class F>
uint32_t FindOrAdd(uint32_t& index, List* list, F&& make) {
  if (index == kNone) {
    index = static_cast<uint32_t>(list->size());
    make(list->emplace_back());
  }
  return index;
}

}  // namespace

uint32_t UnjoinedTrace::ContextIndex(uint32_t process, uint32_t context) {
  return FindOrAdd(contexts(process, context), &trace.contexts, [&](Context& c) {
    c.process = process;
    c.id = context;
  });
}

uint32_t UnjoinedTrace::StreamIndex(uint32_t process, uint32_t context, uint32_t stream) {
  return FindOrAdd(streams(uint64_t{process} << 32 | context, stream), &trace.streams, [&](Stream& s) {
    s.process = process;
    s.context = context;
    s.id = stream;
    ContextIndex(process, context);
  });
}

uint32_t UnjoinedTrace::ThreadIndex(uint32_t process, uint32_t tid) {
  return FindOrAdd(threads(process, tid), &trace.threads, [&](Thread& thread) {
    thread.process = process;
    thread.tid = tid;
  });
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
  return FindOrAdd(slot_ids(process, ordinal), &device_slots, [&](DeviceSlot& slot) {
    slot.process = process;
    slot.properties.device = ordinal;
  });
}

uint32_t UnjoinedTrace::DomainIndex(uint32_t process, uint32_t id) {
  return FindOrAdd(domains(process, id), &trace.domains, [&](NvtxDomain& d) {
    d.process = process;
    d.id = id;
  });
}

void UnjoinedTrace::Touch(uint32_t process, const TimeExtent& times) {
  const auto [first_ns, last_ns] = times;
  Process& p = trace.processes[process];
  if (first_ns <= last_ns) {
    p.start_ns = p.start_ns == 0 ? first_ns : std::min(p.start_ns, first_ns);
    trace.start_ns = trace.start_ns == 0 ? first_ns : std::min(trace.start_ns, first_ns);
  }
  p.end_ns = std::max(p.end_ns, last_ns);
  trace.end_ns = std::max(trace.end_ns, last_ns);
}

}  // namespace gprof

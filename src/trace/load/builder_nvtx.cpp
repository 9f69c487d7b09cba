// What becomes of the records about NVTX.
#include "trace/load/builder.h"
#include "trace/model/saturating_time.h"
#include "trace/text/enum_or.h"

namespace gprof {

uint32_t TraceBuilder::FactsOf(const trace::NvtxRecord& r) {
  NvtxEvents::Facts f;
  f.thread = ThreadIndex(r.tid);
  f.domain = draft_.DomainIndex(process_, r.domain);
  f.message = Name(r.message);
  f.category = r.category;
  f.color = r.color;
  f.event = static_cast<trace::NvtxEvent>(r.event);
  f.payload_type = EnumOr(r.payload_type, trace::PayloadType::kExtended, trace::PayloadType::kNone);
  return draft_.nvtx_events.Intern(f);
}

void TraceBuilder::Add(const trace::NvtxRecord& r) {
  Touch(TimeNs(r.time_ns), TimeNs(r.time_ns));
  draft_.nvtx_events.Add(TimeNs(r.time_ns), FactsOf(r), {r.range, r.payload});
}

void TraceBuilder::Add(const trace::NvtxDomainRecord& r) {
  const NameId name = Name(r.name);
  draft_.trace.domains[draft_.DomainIndex(process_, r.domain)].name = name;
}

void TraceBuilder::Add(const trace::NvtxCategoryRecord& r) {
  const uint32_t domain = draft_.DomainIndex(process_, r.domain);
  uint32_t& index = draft_.categories(domain, r.category);
  if (index == kNone) {
    index = static_cast<uint32_t>(draft_.trace.categories.size());
    draft_.trace.categories.push_back({domain, r.category, {}});
  }
  draft_.trace.categories[index].name = Name(r.name);
}

void TraceBuilder::Add(const trace::NvtxNameRecord& r) {
  ObjectName n;
  n.time_ns = TimeNs(r.time_ns);
  n.handle = r.handle;
  n.process = process_;
  n.name = Name(r.name);
  n.object = static_cast<trace::NvtxNameKind>(r.object);
  draft_.object_names.push_back(n);
}

void TraceBuilder::NameStream(uint32_t context, uint32_t stream, trace::StringId name) {
  Stream& s = draft_.trace.streams[draft_.StreamIndex(process_, context, stream)];
  if (s.name != Name(name)) ++s.names_given;
  s.name = Name(name);
}

// ---- payloads ----

void TraceBuilder::Add(const trace::NvtxSchemaRecord& r) {
  draft_.schemas.push_back({draft_.DomainIndex(process_, r.domain), r, Name(r.name)});
}

void TraceBuilder::Add(const trace::NvtxSchemaEntryRecord& r) {
  draft_.schema_entries.push_back({draft_.DomainIndex(process_, r.domain), r, Name(r.name)});
}

void TraceBuilder::Add(const trace::NvtxEnumRecord& r) {
  draft_.enum_values.push_back({draft_.DomainIndex(process_, r.domain), r, Name(r.name)});
}

void TraceBuilder::Add(const trace::NvtxPayloadRecord& r) {
  RawPayload p;
  p.time_ns = TimeNs(r.time_ns);
  p.thread = ThreadIndex(r.tid);
  p.domain = draft_.DomainIndex(process_, r.domain);
  p.range = r.range;
  p.schema = r.schema;
  p.event = static_cast<trace::NvtxEvent>(r.event);
  p.first_byte = draft_.payload_bytes.size();
  p.size_bytes = r.data.size;
  draft_.payload_bytes.append(r.data.View());  // the record's bytes are gone with its chunk
  Touch(p.time_ns, p.time_ns);
  draft_.raw_payloads.push_back(p);
}

}  // namespace gprof

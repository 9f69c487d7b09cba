// What becomes of the records about NVTX.
#include "trace/builder/builder.h"
#include "trace/model/saturating_time.h"
#include "trace/text/enum_or.h"

namespace gprof {

uint32_t TraceBuilder::TraitsOf(const trace::NvtxRecord& r) {
  NvtxEvents::Traits f;
  f.thread = ThreadIndex(r.tid);
  f.domain = unjoined_.DomainIndex(process_, r.domain);
  f.message = Name(r.message);
  f.category = r.category;
  f.color = r.color;
  f.event = static_cast<trace::NvtxEvent>(r.event);
  f.payload_type = EnumOr(r.payload_type, trace::PayloadType::kExtended, trace::PayloadType::kNone);
  return unjoined_.nvtx_events.Intern(f);
}

void TraceBuilder::Add(const trace::NvtxDomainRecord& r) {
  const NameId name = Name(r.name);
  unjoined_.trace.domains[unjoined_.DomainIndex(process_, r.domain)].name = name;
}

void TraceBuilder::Add(const trace::NvtxCategoryRecord& r) {
  const uint32_t domain = unjoined_.DomainIndex(process_, r.domain);
  uint32_t& index = unjoined_.categories(domain, r.category);
  if (index == kNone) {
    index = static_cast<uint32_t>(unjoined_.trace.categories.size());
    unjoined_.trace.categories.push_back({domain, r.category, {}});
  }
  unjoined_.trace.categories[index].name = Name(r.name);
}

void TraceBuilder::Add(const trace::NvtxNameRecord& r) {
  ObjectName n;
  n.time_ns = TimeNs(r.time_ns);
  n.handle = r.handle;
  n.process = process_;
  n.name = Name(r.name);
  n.object = static_cast<trace::NvtxNameKind>(r.object);
  unjoined_.object_names.push_back(n);
}

void TraceBuilder::NameStream(uint32_t context, uint32_t stream, trace::StringId name) {
  Stream& s = unjoined_.trace.streams[unjoined_.StreamIndex(process_, context, stream)];
  if (s.name != Name(name)) ++s.names_given;
  s.name = Name(name);
}

// ---- payloads ----

void TraceBuilder::Add(const trace::NvtxSchemaRecord& r) {
  unjoined_.schemas.push_back({unjoined_.DomainIndex(process_, r.domain), r, Name(r.name)});
}

void TraceBuilder::Add(const trace::NvtxSchemaEntryRecord& r) {
  unjoined_.schema_entries.push_back({unjoined_.DomainIndex(process_, r.domain), r, Name(r.name)});
}

void TraceBuilder::Add(const trace::NvtxEnumRecord& r) {
  unjoined_.enum_values.push_back({unjoined_.DomainIndex(process_, r.domain), r, Name(r.name)});
}

void TraceBuilder::Add(const trace::NvtxPayloadRecord& r) {
  RawPayload p;
  p.time_ns = TimeNs(r.time_ns);
  p.thread = ThreadIndex(r.tid);
  p.domain = unjoined_.DomainIndex(process_, r.domain);
  p.range = r.range;
  p.schema = r.schema;
  p.event = static_cast<trace::NvtxEvent>(r.event);
  p.first_byte = unjoined_.payload_bytes.size();
  p.size_bytes = r.data.size;
  unjoined_.payload_bytes.append(r.data.View());  // the record's bytes are gone with its chunk
  Touch(p.time_ns, p.time_ns);
  unjoined_.raw_payloads.push_back(p);
}

}  // namespace gprof

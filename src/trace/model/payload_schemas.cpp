#include "trace/model/payload_schemas.h"

#include <algorithm>
#include <tuple>

namespace gprof {
namespace {

// A domain and number come first in every key.
auto KeyOf(const SchemaEntry& e) { return std::make_tuple(e.domain, e.record.schema, uint64_t{e.record.index}); }
auto KeyOf(const EnumValue& v) { return std::make_tuple(v.domain, v.record.enumeration, v.record.value); }

// Later captures repeat what was registered before: the first of each counts.
template <class T>
void SortUnique(std::vector<T>& v) {
  std::stable_sort(v.begin(), v.end(), [](const T& a, const T& b) { return KeyOf(a) < KeyOf(b); });
  v.erase(std::unique(v.begin(), v.end(), [](const T& a, const T& b) { return KeyOf(a) == KeyOf(b); }), v.end());
}

template <class T>
std::span<const T> Range(const std::vector<T>& sorted, uint32_t domain, uint64_t number) {
  const auto key = std::make_tuple(domain, number);
  const auto prefix = [](const T& t) { return std::make_tuple(std::get<0>(KeyOf(t)), std::get<1>(KeyOf(t))); };
  const auto first = std::partition_point(sorted.begin(), sorted.end(), [&](const T& t) { return prefix(t) < key; });
  const auto last = std::partition_point(first, sorted.end(), [&](const T& t) { return prefix(t) == key; });
  return {first, last};
}

}  // namespace

PayloadSchemas::PayloadSchemas(UnjoinedTrace& unjoined) : unjoined_(unjoined) {
  SortUnique(unjoined.schema_entries);
  SortUnique(unjoined.enum_values);
  for (uint32_t i = 0; i < unjoined.schemas.size(); ++i) {
    uint32_t& index = schemas_(unjoined.schemas[i].domain, unjoined.schemas[i].record.schema);
    if (index == kNone) index = i;
  }
}

const Schema* PayloadSchemas::Find(uint32_t domain, uint64_t schema) const {
  const uint32_t index = schemas_.Find(domain, schema);
  return index == kNone ? nullptr : &unjoined_.schemas[index];
}

std::span<const SchemaEntry> PayloadSchemas::EntriesOf(const Schema& schema) const {
  return Range(unjoined_.schema_entries, schema.domain, schema.record.schema);
}

std::span<const EnumValue> PayloadSchemas::EnumOf(uint32_t domain, uint64_t enumeration) const {
  return Range(unjoined_.enum_values, domain, enumeration);
}

}  // namespace gprof

// Layouts and enumerations that programs registered for their NVTX payloads, by domain and number.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "trace/builder/flat_index.h"
#include "trace/builder/unjoined.h"

namespace gprof {

using Schema = OfDomain<trace::NvtxSchemaRecord>;
using SchemaEntry = OfDomain<trace::NvtxSchemaEntryRecord>;
using EnumValue = OfDomain<trace::NvtxEnumRecord>;

class PayloadSchemas {
 public:
  // Sorts the records of the unjoined trace, which must outlive this and stay as they are.
  explicit PayloadSchemas(UnjoinedTrace& unjoined);

  // Null for a number that is no schema of the domain.
  const Schema* Find(uint32_t domain, uint64_t schema) const;
  std::span<const SchemaEntry> EntriesOf(const Schema& schema) const;
  // Empty for a number that is no enumeration of the domain.
  std::span<const EnumValue> EnumOf(uint32_t domain, uint64_t enumeration) const;

 private:
  const UnjoinedTrace& unjoined_;
  FlatIndex schemas_;
};

}  // namespace gprof

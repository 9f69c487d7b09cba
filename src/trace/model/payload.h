// NVTX payloads: bytes and schema to names and values. Whatever the bytes and the schema say, nothing outside the bytes
// is read, the work is bounded, and what cannot be decoded is left out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trace/builder/unjoined.h"
#include "trace/model/payload_schemas.h"
#include "trace/model/payload_types.h"

namespace gprof {

class PayloadDecoder {
 public:
  explicit PayloadDecoder(UnjoinedTrace& unjoined)
      : unjoined_(unjoined), schemas_(unjoined), align_bytes_(unjoined.schemas.size()) {}

  // Appends the payload and its values to the trace.
  void Decode(const RawPayload& raw);

 private:
  // Where bytes end that were used; nothing where that cannot be known, or they are not all there.
  using End = std::optional<std::size_t>;
  using Integers = std::vector<std::optional<uint64_t>>;  // values of the entries of a schema: lengths of arrays

  // What an entry has one or more of.
  struct Element {
    payload::TypeInfo type;
    const Schema* nested = nullptr;
    std::size_t size_bytes = 0;  // 0: not known before it is read
  };
  // The part of the payload that a schema describes.
  struct Place {
    std::size_t begin = 0, end = 0;
    int depth = 0;
    std::string prefix;  // of the keys
  };

  Element ElementOf(const SchemaEntry& entry) const;
  std::size_t AlignOf(const SchemaEntry& entry, int depth);
  End StartOf(const SchemaEntry& entry, const Place& place, End at);
  End TakeSchema(const Schema& schema, const Place& place);
  End TakeEntry(const Schema& schema, const SchemaEntry& entry, const Place& place, std::size_t at, Integers* integers);
  End TakeString(const Schema& schema, const SchemaEntry& entry, const Place& place, std::size_t at,
                 const Integers& integers);
  End TakeArray(const SchemaEntry& entry, const Element& element, const Place& place, std::size_t at, uint64_t count);
  End TakeNested(const SchemaEntry& entry, const Element& element, const Place& place, std::size_t at, uint64_t count);
  std::optional<uint64_t> CountOf(const SchemaEntry& entry, std::size_t element_bytes, std::size_t at, std::size_t end,
                                  const Integers& integers);
  std::string ScalarText(const SchemaEntry& entry, const payload::TypeInfo& type, std::string_view bytes) const;
  std::string EnumText(const SchemaEntry& entry, std::string_view bytes) const;
  std::string KeyOf(const SchemaEntry& entry, const Place& place) const;
  void AddText(std::string_view key, std::string_view text);
  void AddScalar(std::string_view key, const payload::TypeInfo& type, std::string_view bytes, std::string_view text);
  bool TakeStep(std::size_t steps = 1);

  UnjoinedTrace& unjoined_;
  PayloadSchemas schemas_;
  std::string_view bytes_;  // of the payload that is decoded
  std::size_t first_value_ = 0, steps_ = 0;
  std::vector<uint8_t> align_bytes_;  // of each schema of the unjoined trace, 0 where not known yet
};

}  // namespace gprof

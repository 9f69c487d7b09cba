// Values that a program attached to an NVTX event, as JSON has them, become a payload with a layout of its own: the
// decoder of our own traces reads them from there.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "import/shared/foreign_builder.h"
#include "import/shared/json_scanner.h"

namespace gprof {

// Layouts are told once for each process and domain. Bounded: a hostile source has another layout in every row.
class JsonPayloads {
 public:
  struct Payload {
    uint64_t schema = 0;
    std::string bytes;
  };

  explicit JsonPayloads(ForeignBuilder* builder) : builder_(*builder) {}

  // Of an event in `domain` of the process that was entered last: the members of an object, those of objects within as
  // "outer.inner". Nothing where there are none, or too many layouts.
  std::optional<Payload> Read(std::string_view json, uint32_t domain);
  // Those that begin with `prefix`, without it.
  std::optional<Payload> ReadMembers(std::string_view json, std::string_view prefix, uint32_t domain);

  uint64_t left_out_count() const { return left_out_count_; }

 private:
  enum class Type : char { kInteger = 'i', kReal = 'r', kText = 't' };
  struct Entry {
    std::string key;
    Type type = Type::kText;
  };

  void TakeObject(std::string_view json, std::string_view prefix, const std::string& outer, int depth);
  void TakeValue(std::string key, const JsonPiece& value, int depth);
  void Add(std::string key, Type type, std::string_view bytes);
  std::optional<Payload> Finish(uint32_t domain);
  void AddSchema(uint64_t schema, uint32_t domain);

  ForeignBuilder& builder_;
  std::vector<Entry> entries_;  // of the payload that is read
  std::string bytes_, buffer_;
  std::map<std::pair<uint32_t, std::string>, uint64_t> schemas_;  // by process and domain, and what the entries are
  uint64_t left_out_count_ = 0;
};

// Of the event that was added just before.
trace::NvtxPayloadRecord PayloadRecordOf(const trace::NvtxRecord& event, const JsonPayloads::Payload& payload);

}  // namespace gprof

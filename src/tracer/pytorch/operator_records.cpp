// Rows of operators become NVTX ranges of a domain of their own. Their sequence numbers are the payloads.
#include "tracer/pytorch/operator_collector.h"
#include "tracer/pytorch/operator_text.h"
#include "tracer/store/interned_names.h"
#include "tracer/store/memory/arena.h"
#include "tracer/store/thread_log.h"

namespace gprof::tracer {
namespace {

// Operators have an NVTX domain of their own, with a number that no program gets to.
constexpr uint32_t kDomain = 1u << 20;
struct Domain {
  bool is_used, is_told;
};
constinit Domain operator_domain GPROF_IN_ARENA = {};

// The names of operators by what their rows say, so that texts are made once. What has lost its place is made anew.
struct Known {
  uint64_t hash;
  trace::StringId name;
};
constexpr std::size_t kMostKnown = 1u << 12;
constinit Known known_operators[kMostKnown] = {};

trace::StringId NameOf(Bytes name, Bytes inputs) {
  // They lie one behind the other.
  const uint64_t hash = HashBytes(name.data, name.size + inputs.size) + name.size;
  Known& place = known_operators[hash % kMostKnown];
  if (place.hash == hash && place.name.value != 0) return place.name;
  char text[kMaxNameBytes];
  place = {hash, Names().Intern(text, WriteOperatorText(name, inputs, text, sizeof text))};
  return place.name;
}

void AddEvent(uint64_t stamp, trace::NvtxRecord r, const RowSource& source) {
  operator_domain.is_used = true;
  // Two drains convert with two slopes, which may differ by a nanosecond at the seam.
  const uint64_t own_ns = source.clock.ToNs(stamp);
  if (own_ns > source.log->nvtx.last_ns) source.log->nvtx.last_ns = own_ns;
  r.time_ns = source.log->nvtx.last_ns;
  r.tid = source.log->tid;
  r.domain = kDomain;
  source.output->Add(r, source.cursor);
}

void AddBegin(const OperatorRow& row, const RowSource& source) {
  const char* const text = reinterpret_cast<const char*>(&row + 1);
  const std::size_t room = BytesOf(row.header) - sizeof row;
  const std::size_t size = std::size_t{row.name_bytes} + row.input_bytes;
  if (BytesOf(row.header) < sizeof row || size > room) return;  // in salvage a row may say anything
  trace::NvtxRecord r;
  r.event = static_cast<uint8_t>(trace::NvtxEvent::kPush);
  r.message = NameOf({text, row.name_bytes}, {text + row.name_bytes, row.input_bytes});
  if (row.sequence >= 0) {
    r.payload = static_cast<uint64_t>(row.sequence);
    r.payload_type = static_cast<uint8_t>(trace::PayloadType::kSigned64);
  }
  AddEvent(row.stamp, r, source);
}

}  // namespace

void ConvertOperatorRow(const RowHeader* header, const RowSource& source) {
  if (header->type == RowType::kOperator) return AddBegin(*reinterpret_cast<const OperatorRow*>(header), source);
  trace::NvtxRecord r;
  r.event = static_cast<uint8_t>(trace::NvtxEvent::kPop);
  AddEvent(reinterpret_cast<const OperatorEndRow*>(header)->stamp, r, source);
}

void RetellOperators() { operator_domain.is_told = false; }

void DrainOperators(DrainRound*) {
  if (!operator_domain.is_used || operator_domain.is_told) return;
  Output().Add(trace::NvtxDomainRecord{kDomain, Names().Intern("PyTorch")});
  operator_domain.is_told = true;
}

void ResetOperatorsAfterFork() {
  operator_domain = {};
  for (Known& place : known_operators) place = {};
}

}  // namespace gprof::tracer

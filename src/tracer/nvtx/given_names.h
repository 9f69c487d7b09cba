// What programs name and tracers must repeat: NVTX domains, categories, threads, streams, …. An append-only list; the
// writer thread turns what is new into records.
#pragma once

#include <cstdint>

#include "gprof/trace/record.h"

namespace gprof::tracer {

enum class GivenNameType : uint8_t { kDomain, kCategory, kObject };

struct GivenName {
  GivenNameType type;
  uint8_t object;  // trace::NvtxNameKind
  uint32_t domain;
  uint64_t number;  // category or handle
  trace::StringId name;
  uint64_t stamp;
};

// [any thread, rare] A full list drops it.
void AddGivenName(const GivenName& given);
// The same name gives the same domain, also from another shared object.
uint32_t DomainOf(trace::StringId name);
// Empty: the default one.
trace::StringId NameOfDomain(uint32_t domain);
// A number for a named resource, unique in the process.
uint64_t NewResource();

// [writer thread, or salvage] Name `i`, null when there is none yet.
const GivenName* GivenNameAt(uint32_t i);
void ResetGivenNamesAfterFork();

}  // namespace gprof::tracer

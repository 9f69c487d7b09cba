// What programs name and tracers must repeat: NVTX domains, categories, threads, streams, …. An append-only list; the
// writer thread turns what is new into records.
#pragma once

#include <cstdint>

#include "gprof/trace/record.h"

namespace gprof::tracer {

enum class NameType : uint8_t { kDomain, kCategory, kObject };

struct NameEntry {
  NameType type;
  uint8_t object;  // trace::NvtxNameKind
  uint32_t domain;
  uint64_t number;  // category or handle
  trace::StringId name;
  uint64_t stamp;
};

// [any thread, rare] A full list drops the entry.
void AddName(const NameEntry& entry);
// The same name gives the same domain, also from another shared object.
uint32_t DomainOf(trace::StringId name);
// A number for a named resource, unique in the process.
uint64_t NewResource();

// [writer thread] Entry `i`, null when there is none yet.
const NameEntry* NameAt(uint32_t i);
void ResetNamesAfterFork();

}  // namespace gprof::tracer

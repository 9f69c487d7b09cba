// The table of all collectors.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "collect/run/collector.h"

namespace gprof {

struct CollectorKind {
  const char* name;   // in the journal; a C identifier
  const char* title;  // what the user knows it by: "host load"
  bool (*is_wanted)(const CollectorOptions& options);
  std::unique_ptr<Collector> (*make)(const CollectorOptions& options);
  bool tells_end = false;  // that the program failed, which one of them says
};

std::span<const CollectorKind> Collectors();
// Null for a name that this build does not know.
const CollectorKind* FindCollector(std::string_view name);

}  // namespace gprof

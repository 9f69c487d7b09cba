#include "tracer/nvtx/given_names.h"

#include <atomic>

#include "tracer/store/clock.h"
#include "tracer/store/memory/kept_list.h"
#include "tracer/system/system_calls.h"

namespace gprof::tracer {
namespace {

Lock lock;
constinit KeptList<GivenName, Region::kNames, 1024, 256> given_names GPROF_IN_ARENA;
constinit std::atomic<uint64_t> resources{0};
uint32_t domain_count GPROF_IN_ARENA = 0;

}  // namespace

void AddGivenName(const GivenName& given) {
  LockGuard guard(lock);
  given_names.Append(given);
}

uint32_t DomainOf(trace::StringId name) {
  if (name.value == 0) return 0;
  LockGuard guard(lock);
  for (uint32_t i = 0; const GivenName* given = given_names.At(i); ++i) {
    if (given->type == GivenNameType::kDomain && given->name == name) return given->domain;
  }
  if (!given_names.Append({GivenNameType::kDomain, 0, domain_count + 1, 0, name, Stamp()})) return 0;
  return ++domain_count;
}

trace::StringId NameOfDomain(uint32_t domain) {
  for (uint32_t i = 0; const GivenName* given = domain == 0 ? nullptr : given_names.At(i); ++i) {
    if (given->type == GivenNameType::kDomain && given->domain == domain) return given->name;
  }
  return {};
}

uint64_t NewResource() { return resources.fetch_add(1, std::memory_order_relaxed) + 1; }

const GivenName* GivenNameAt(uint32_t i) { return given_names.At(i); }

void ResetGivenNamesAfterFork() {
  lock.ResetAfterFork();
  given_names.ResetAfterFork();
}

}  // namespace gprof::tracer

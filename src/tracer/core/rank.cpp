#include "tracer/core/rank.h"

#include "gprof/trace/rank_variables.h"
#include "tracer/store/interned_names.h"

namespace gprof::tracer {

void FillRank(trace::ProcessRecord* process) {
  const trace::Rank found = trace::FindRank();
  if (found.variables == nullptr) return;
  process->rank = found.rank;
  process->local_rank = found.local_rank;
  process->world_size = found.world_size > 0 ? static_cast<uint32_t>(found.world_size) : 0;
  process->rank_source = Names().Intern(found.variables->starter);
}

}  // namespace gprof::tracer

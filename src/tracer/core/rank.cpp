#include "tracer/core/rank.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "tracer/store/interned_names.h"

namespace gprof::tracer {
namespace {

struct Source {
  const char* name;
  const char* rank;
  const char* world;  // null: it does not say
  const char* local_rank;
  bool needs_all = false;  // the names are so common that one alone says nothing
};

// The starter of the ranks before what it was started by: mpirun within Slurm sets the variables of both, and a step of
// one Slurm task may start many ranks.
constexpr Source kSources[] = {
    {"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", true},
    {"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"},
    {"MVAPICH", "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_LOCAL_RANK"},
    {"MVAPICH", "MVP_COMM_WORLD_RANK", "MVP_COMM_WORLD_SIZE", "MVP_COMM_WORLD_LOCAL_RANK"},
    {"MPICH", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"},
    {"PALS", "PALS_RANKID", "PALS_NRANKS", "PALS_LOCAL_RANKID"},
    {"ALPS", "ALPS_APP_PE", nullptr, nullptr},
    {"Spectrum MPI", "JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE", "JSM_NAMESPACE_LOCAL_RANK"},
    {"Slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", true},
    {"Slurm", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"},
    {"PMIx", "PMIX_RANK", nullptr, nullptr},
    {"Flux", "FLUX_TASK_RANK", "FLUX_JOB_SIZE", "FLUX_TASK_LOCAL_ID"}};

// -1 for a variable that is not set, or is no number.
int32_t NumberIn(const char* variable) {
  const char* text = variable != nullptr ? getenv(variable) : nullptr;
  if (text == nullptr || *text < '0' || *text > '9') return -1;
  char* end = nullptr;
  errno = 0;
  const long number = strtol(text, &end, 10);
  return *end == 0 && errno == 0 && number <= INT_MAX ? static_cast<int32_t>(number) : -1;
}

}  // namespace

void FillRank(trace::ProcessRecord* process) {
  for (const Source& source : kSources) {
    const int32_t rank = NumberIn(source.rank);
    if (rank < 0) continue;
    const int32_t world = NumberIn(source.world);
    const int32_t local_rank = NumberIn(source.local_rank);
    if (source.needs_all && (world < 0 || local_rank < 0)) continue;
    process->rank = rank;
    process->local_rank = local_rank;
    process->world_size = world > 0 ? static_cast<uint32_t>(world) : 0;
    process->rank_source = Names().Intern(source.name);
    return;
  }
}

}  // namespace gprof::tracer

// Which of the processes of a parallel job this one is, as its starter says in the environment. Tracer, launcher and
// the command that summarises many ranks ask here, so that they know the same starters.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace gprof::trace {

struct RankVariables {
  const char* starter;
  const char* rank;
  const char* world;  // null: it does not say
  const char* local_rank;
  bool needs_all = false;  // the names are so common that one alone says nothing
};

// The starter of the ranks before what it was started by: mpirun within Slurm sets the variables of both, and a step of
// one Slurm task may start many ranks.
inline constexpr RankVariables kRankVariables[] = {
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

struct Rank {
  const RankVariables* variables = nullptr;  // null: no starter of ranks is known
  int32_t rank = -1;
  int32_t local_rank = -1;  // -1: it does not say
  int32_t world_size = -1;  // -1: it does not say
};

// -1 for a variable that is not set, or is no number.
inline int32_t NumberInEnvironment(const char* variable) {
  const char* const text = variable != nullptr ? std::getenv(variable) : nullptr;
  if (text == nullptr || *text == '\0') return -1;
  int64_t number = 0;
  for (const char* c = text; *c != '\0'; ++c) {
    if (*c < '0' || *c > '9') return -1;
    number = number * 10 + (*c - '0');
    if (number > INT32_MAX) return -1;
  }
  return static_cast<int32_t>(number);
}

inline Rank FindRank() {
  for (const RankVariables& variables : kRankVariables) {
    const Rank found = {&variables, NumberInEnvironment(variables.rank), NumberInEnvironment(variables.local_rank),
                        NumberInEnvironment(variables.world)};
    if (found.rank < 0 || (variables.needs_all && (found.world_size < 0 || found.local_rank < 0))) continue;
    return found;
  }
  return {};
}

}  // namespace gprof::trace

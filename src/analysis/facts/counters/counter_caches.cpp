#include "analysis/facts/counters/counter_caches.h"

#include <fmt/format.h>

#include <string>
#include <utility>

namespace gprof {
namespace {

// Of a cache, by the names of its metrics.
struct AccessNames {
  std::string_view operation;
  std::string requests{}, sectors{};
  std::string hit_rate{}, hits{};  // of the sectors, one of the two
  std::string wavefronts{}, bank_conflicts{};
  bool is_collected = true;
};

struct L1Kind {
  std::string_view operation, access;
};
constexpr L1Kind kL1Kinds[] = {{"global loads", "lsu_mem_global_op_ld"},
                               {"global stores", "lsu_mem_global_op_st"},
                               {"global atomics", "lsu_mem_global_op_atom"},
                               {"global reductions", "lsu_mem_global_op_red"},
                               {"local loads", "lsu_mem_local_op_ld"},
                               {"local stores", "lsu_mem_local_op_st"},
                               {"texture loads", "tex_mem_texture"},
                               {"surface loads", "tex_mem_surface_op_ld"},
                               {"surface stores", "tex_mem_surface_op_st"},
                               {"surface atomics", "tex_mem_surface_op_atom"},
                               {"surface reductions", "tex_mem_surface_op_red"}};

struct SharedKind {
  std::string_view operation, access, instructions;
};
constexpr SharedKind kSharedKinds[] = {{"shared loads", "ld", "smsp__sass_inst_executed_op_shared_ld.sum"},
                                       {"shared stores", "st", "smsp__sass_inst_executed_op_shared_st.sum"},
                                       {"shared atomics", "atom", "smsp__inst_executed_op_shared_atom.sum"}};

// Who asks L2: L1, the caches of instructions and constants, and the other partition of L2 on chips that have two.
constexpr std::pair<std::string_view, std::string_view> kL2Kinds[] = {
    {"L1 reads", "_srcunit_tex_op_read"},           {"L1 writes", "_srcunit_tex_op_write"},
    {"L1 atomics", "_srcunit_tex_op_atom_dot_alu"}, {"L1 atomics (CAS)", "_srcunit_tex_op_atom_dot_cas"},
    {"L1 reductions", "_srcunit_tex_op_red"},       {"instructions, constants", "_srcunit_gcc"},
    {"other L2 partition", "_srcunit_ltcfabric"},   {"all", ""}};

std::vector<AccessNames> MakeL1Names() {
  std::vector<AccessNames> all;
  for (const L1Kind& kind : kL1Kinds) {
    const std::string_view suffix = kind.access == "tex_mem_texture" ? "_op_tex" : "";
    all.push_back({.operation = kind.operation,
                   .requests = fmt::format("l1tex__t_requests_pipe_{}.sum", kind.access),
                   .sectors = fmt::format("l1tex__t_sectors_pipe_{}.sum", kind.access),
                   .hit_rate = fmt::format("l1tex__t_sector_pipe_{}{}_hit_rate.pct", kind.access, suffix),
                   .is_collected = !kind.operation.starts_with("surface")});
  }
  for (const SharedKind& kind : kSharedKinds) {
    all.push_back(
        {.operation = kind.operation,
         .requests = std::string(kind.instructions),
         .wavefronts = fmt::format("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{}.sum", kind.access),
         .bank_conflicts = fmt::format("l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{}.sum", kind.access)});
  }
  return all;
}

std::vector<AccessNames> MakeL2Names() {
  std::vector<AccessNames> all;
  for (const auto& [operation, from] : kL2Kinds) {
    all.push_back({.operation = operation,
                   .requests = fmt::format("lts__t_requests{}.sum", from),
                   .sectors = fmt::format("lts__t_sectors{}.sum", from),
                   .hits = fmt::format("lts__t_sectors{}_lookup_hit.sum", from)});
  }
  return all;
}

const std::vector<AccessNames>& L1Names() {
  static const std::vector<AccessNames> kNames = MakeL1Names();
  return kNames;
}

const std::vector<AccessNames>& L2Names() {
  static const std::vector<AccessNames> kNames = MakeL2Names();
  return kNames;
}

// In L2 it is that of lts__t_sector_hit_rate.pct: of a sector that comes from the other partition, hits and misses add
// up to more than it.
std::optional<double> HitPercent(const KernelCounters& kernel, const AccessNames& names) {
  if (!names.hit_rate.empty()) return kernel.Value(names.hit_rate);
  const auto hits = kernel.Value(names.hits);
  const double sectors = kernel.ValueOrZero(names.sectors);
  return hits && sectors > 0 ? std::optional<double>(100 * *hits / sectors) : std::nullopt;
}

std::vector<CacheAccess> AccessesOf(const KernelCounters& kernel, const std::vector<AccessNames>& all) {
  std::vector<CacheAccess> accesses;
  for (const AccessNames& names : all) {
    const CacheAccess access{
        names.operation,           kernel.Value(names.requests),   kernel.Value(names.sectors),
        HitPercent(kernel, names), kernel.Value(names.wavefronts), kernel.Value(names.bank_conflicts)};
    if (access.requests.value_or(0) + access.sectors.value_or(0) + access.wavefronts.value_or(0) > 0)
      accesses.push_back(access);
  }
  return accesses;
}

}  // namespace

std::optional<double> CacheAccess::SectorsPerRequest() const {
  if (!sectors || requests.value_or(0) <= 0) return {};
  return *sectors / *requests;
}

std::optional<double> CacheAccess::Bytes() const {
  constexpr double kSectorBytes = 32;
  return sectors ? std::optional<double>(kSectorBytes * *sectors) : std::nullopt;
}

std::vector<CacheAccess> L1AccessesOf(const KernelCounters& kernel) { return AccessesOf(kernel, L1Names()); }
std::vector<CacheAccess> L2AccessesOf(const KernelCounters& kernel) { return AccessesOf(kernel, L2Names()); }

std::span<const std::string_view> CacheMetrics() {
  static const std::vector<std::string_view> kMetrics = [] {
    std::vector<std::string_view> metrics;
    for (const auto* const all : {&L1Names(), &L2Names()}) {
      for (const AccessNames& names : *all) {
        if (!names.is_collected) continue;
        for (const std::string* const name : {&names.requests, &names.sectors, &names.hit_rate, &names.hits,
                                              &names.wavefronts, &names.bank_conflicts}) {
          if (!name->empty()) metrics.push_back(*name);
        }
      }
    }
    return metrics;
  }();
  return kMetrics;
}

}  // namespace gprof

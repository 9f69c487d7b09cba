#include "tracer/mpi/mpi_library.h"

#include "tracer/core/notice.h"
#include "tracer/mpi/mpi_functions.h"
#include "tracer/mpi/mpi_wrappers.h"

namespace gprof::tracer {
namespace {

MpiLibrary library;
uintptr_t library_base = 0;
bool has_other_tool = false, has_said_so = false;
// What the wrappers are to call, once it is known that nobody else's functions stand before these.
void *found[kMpiNumbers], *found_profiling[kMpiNumbers];

template <class F>
void FindFunction(const LoadedModule& module, const char* symbol, F* function) {
  *function = reinterpret_cast<F>(module.AddressOfExport(symbol));
}

// Done anew after any module was unloaded, while wrappers go on calling the library: nothing is cleared in between.
void NoteLibrary(const LoadedModule& module) {
  library_base = module.base();
  FindFunction(module, "PMPI_Type_size", &library.type_size);
  FindFunction(module, "PMPI_Comm_size", &library.comm_size);
  FindFunction(module, "PMPI_Comm_rank", &library.comm_rank);
  FindFunction(module, "PMPI_Comm_test_inter", &library.comm_test_inter);
  // Handles of Open MPI are addresses, and a program may have a copy of the object that is the world. Fortran's numbers
  // for them are the same everywhere. Those of MPICH and its kin are numbers.
  constexpr uint64_t kWorldOfMpich = 0x44000000, kWorldInFortran = 0;
  const bool is_open_mpi = module.AddressOfExport("ompi_mpi_comm_world") != nullptr;
  if (is_open_mpi) FindFunction(module, "PMPI_Comm_c2f", &library.comm_c2f);
  library.world = is_open_mpi ? kWorldInFortran + 1 : kWorldOfMpich;
  library.any_source = is_open_mpi ? -1 : -2;
  for (std::size_t i = 0; i < kMpiNumbers; ++i) {
    if (!Exists(i)) continue;
    const MpiSymbol symbol = SymbolOf(i);
    found[i] = module.AddressOfExport(symbol.text + 1);
    found_profiling[i] = module.AddressOfExport(symbol.text);
  }
}

bool IsWhole() {
  return library.type_size != nullptr && library.comm_size != nullptr && library.comm_rank != nullptr &&
         library.comm_test_inter != nullptr;
}

// The library has each function under two names. Who has the one that programs call and not the other is a tool that
// stands before it. It is left alone: it may rely on seeing every call.
void See(const LoadedModule& module) {
  if (module.AddressOfExport("MPI_Barrier") == nullptr) return;
  if (module.AddressOfExport("PMPI_Barrier") == nullptr) {
    has_other_tool = true;
  } else if (library_base == 0) {
    NoteLibrary(module);
  }
}

void SeenAll() {
  if (library_base == 0 || !IsWhole()) return;
  if (!has_other_tool) {
    for (std::size_t i = 0; i < kMpiNumbers; ++i) {
      mpi_targets[i].real = found[i];
      mpi_profiling_targets[i].real = found_profiling[i];
    }
  } else if (!has_said_so) {
    has_said_so = true;
    Message message;
    message << "MPI calls are not recorded: another tool intercepts them";
    Say(trace::NoticeLevel::kInfo, message);
  }
}

void Forget() {
  library_base = 0;
  has_other_tool = false;
}

}  // namespace

const MpiLibrary& Mpi() { return library; }

void WatchForMpi() {
  WatchModules({.see = See, .seen_all = SeenAll, .forget = Forget, .is_urgent = [] { return library_base != 0; }});
}

}  // namespace gprof::tracer

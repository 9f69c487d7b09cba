#include "import/snapshot/snapshot.h"

#include <fmt/format.h>

#include "gprof/error.h"
#include "import/snapshot/pickle.h"
#include "import/snapshot/snapshot_import.h"
#include "trace/file/memory_budget.h"

namespace gprof {

Trace ReadSnapshot(std::string_view bytes, const std::string& path) {
  try {
    MemoryBudget budget(path, bytes.size());
    const Pickle pickle(bytes, &budget);
    SnapshotImport import(pickle, path, &budget);
    return import.Run(bytes.size());
  } catch (const Error& e) {
    if (std::string_view(e.what()).starts_with("cannot ")) throw;
    throw Error(e.code(), fmt::format("cannot read '{}': {}", path, e.what()),
                "gprof-cli reads pickles that torch.cuda.memory._dump_snapshot() wrote");
  }
}

}  // namespace gprof

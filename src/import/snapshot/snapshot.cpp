#include "import/snapshot/snapshot.h"

#include <fmt/format.h>

#include "gprof/error.h"
#include "import/snapshot/pickle.h"
#include "import/snapshot/snapshot_import.h"

namespace gprof {

Trace ReadSnapshot(std::string_view bytes, const std::string& path) {
  try {
    const Pickle pickle(bytes);
    SnapshotImport import(pickle, path);
    return import.Run(bytes.size());
  } catch (const Error& e) {
    throw Error(e.code(), fmt::format("cannot read '{}': {}", path, e.what()),
                "gprof-cli reads pickles that torch.cuda.memory._dump_snapshot() wrote");
  }
}

}  // namespace gprof

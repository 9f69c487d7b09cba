#include "sqlite_target.h"

#include <cstdio>
#include <cstdlib>

#include "database.h"
#include "gprof/error.h"
#include "import/nsight/nsight.h"

namespace gprof {
namespace {

void Require(bool is_true, const char* what) {
  if (is_true) return;
  std::fprintf(stderr, "the trace is not sound: %s\n", what);
  std::abort();
}

// What every analysis relies on.
void ExpectSound(const Trace& t) {
  for (const GpuOp& op : t.ops) {
    Require(op.start_ns <= op.end_ns && op.start_ns > 0, "times of an operation");
    Require(op.device < t.devices.size() && op.stream < t.streams.size(), "place of an operation");
    Require(op.process < t.processes.size() && (op.api == kNone || op.api < t.api_calls.size()),
            "call of an operation");
    Require(op.name.value < t.strings.size(), "name of an operation");
  }
  for (const ApiCall& call : t.api_calls) {
    Require(call.thread < t.threads.size() && call.function.value < t.strings.size(), "a call");
    Require(call.start_ns <= call.end_ns, "times of a call");
  }
  for (const NvtxRange& range : t.ranges) {
    Require(range.thread < t.threads.size() && range.start_ns <= range.end_ns, "a range");
  }
  for (const Sync& sync : t.syncs) Require(sync.thread < t.threads.size(), "thread of a synchronisation");
}

}  // namespace

void FuzzSqliteFile(const std::string& path) {
  try {
    ExpectSound(ReadNsight(path));
  } catch (const Error&) {
    // not an export: fine
  }
}

void FuzzSqlite(std::string_view bytes) {
  static const TestDatabase kFile("");
  kFile.SetBytes(bytes);
  FuzzSqliteFile(kFile.path());
}

}  // namespace gprof

#include "tracer/osrt/python_gil.h"

#include "gprof/trace/python_layout.h"
#include "tracer/imports/import_slots.h"
#include "tracer/store/memory/arena.h"
#include "tracer/system/system_calls.h"

namespace gprof::tracer {
namespace {

struct PythonRuntime {
  uint64_t address, bytes;
};
PythonRuntime python GPROF_IN_ARENA = {};
// Of a thread's state, where its tid is. From 3.11 on.
uint16_t native_id_offset = trace::kNoOffset;

// What CPython has had before the condition of its lock since 3.2, with the number of switches in between.
struct GilState {
  const char* last_holder;  // a thread's state
  int32_t is_locked, unused;
  uint64_t switches;
};

// `version` is PY_VERSION_HEX, 0 where that is not known.
void SetPythonRuntime(uintptr_t address, uint64_t bytes, uint32_t version) {
  const bool has_table = bytes >= sizeof(trace::PythonTable);
  const trace::PythonLayout layout =
      has_table ? trace::LayoutOfPython(version, reinterpret_cast<const void*>(address)) : trace::PythonLayout{};
  native_id_offset = layout.IsKnown() ? layout.thread_native_id : trace::kNoOffset;
  python = {address, bytes};
}

void LookForPython(const LoadedModule& module) {
  const ElfW(Sym)* const runtime = module.FindExport("_PyRuntime");
  if (runtime == nullptr) return;
  const void* const version = module.AddressOfExport("Py_Version");  // from 3.11 on
  SetPythonRuntime(module.base() + runtime->st_value, runtime->st_size,
                   version != nullptr ? *static_cast<const uint32_t*>(version) : 0);
}

}  // namespace

void WatchForPython() { WatchModules({.see = LookForPython}); }

bool IsInPythonRuntime(uint64_t address) { return address - python.address < python.bytes; }

// The caller has the mutex of the lock, without which nobody lets go of it: while it is locked, its holder lives. The
// runtime has other conditions, too, before which other things lie.
uint32_t HolderOfGil(uintptr_t condition) {
  if (native_id_offset == trace::kNoOffset || condition - python.address >= python.bytes) return 0;
  if (condition - python.address < sizeof(GilState)) return 0;
  const auto* const gil = reinterpret_cast<const GilState*>(condition - sizeof(GilState));
  if (gil->is_locked != 1 || gil->unused != 0) return 0;
  const char* const id = gil->last_holder + native_id_offset;
  if (gil->last_holder == nullptr || !CanReadWord(id)) return 0;
  return static_cast<uint32_t>(*reinterpret_cast<const uint64_t*>(id));
}

}  // namespace gprof::tracer

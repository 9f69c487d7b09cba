#include "tracer/python/interpreter.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>

#include <cstring>

#include "tracer/system/loaded_module.h"
#include "tracer/system/system_calls.h"

namespace gprof::tracer {
namespace {

// The interpreter's symbols, as the module has them that it is in: the program itself, or a library. Looked up without
// dlsym(), which leaves a message in memory of the thread where there is nothing to be found: once the process forks,
// that is a leak.
struct Symbols {
  Interpreter python;
  const char* (*version_text)() = nullptr;
  char path[4096] = {};  // empty: of the program
};

template <class T>
bool Symbol(const LoadedModule& module, const char* name, T* out) {
  *out = reinterpret_cast<T>(module.AddressOfExport(name));
  return *out != nullptr;
}

int FindSymbols(dl_phdr_info* info, std::size_t, void* found) {
  const LoadedModule module(*info);
  auto* const symbols = static_cast<Symbols*>(found);
  Interpreter* const python = &symbols->python;
  if (!Symbol(module, "_PyRuntime", &python->runtime)) return 0;
  if (info->dlpi_name != nullptr && std::strlen(info->dlpi_name) < sizeof symbols->path) {
    std::strcpy(symbols->path, info->dlpi_name);
  }
  Symbol(module, "Py_GetVersion", &symbols->version_text);
  Symbol(module, "PyGILState_GetThisThreadState", &python->this_thread);
  if (!Symbol(module, "Py_IsFinalizing", &python->is_finalizing)) {
    Symbol(module, "_Py_IsFinalizing", &python->is_finalizing);
  }
  Symbol(module, "PyCode_Type", &python->code_type);
  Symbol(module, "PyUnicode_Type", &python->text_type);
  Symbol(module, "PyBytes_Type", &python->bytes_type);
  return 1;
}

// PY_VERSION_HEX, as far as major and minor go.
uint32_t VersionOf(const Symbols& symbols) {
  const auto* const version = static_cast<const unsigned long*>(AddressOfGlobal("Py_Version"));
  if (version != nullptr) return static_cast<uint32_t>(*version);
  if (symbols.version_text == nullptr) return 0;
  char* end = nullptr;
  const unsigned long major = strtoul(symbols.version_text(), &end, 10);
  const unsigned long minor = *end == '.' ? strtoul(end + 1, nullptr, 10) : 0;
  return static_cast<uint32_t>(major << 24 | minor << 16);
}

bool CanRead(const char* object, std::size_t bytes) {
  return CanReadWord(object) && CanReadWord(object + bytes / 8 * 8);
}

// The longest of the offsets that are read of threads and frames.
constexpr uint32_t kThreadBytes = 304, kFrameBytes = 104;

bool IsOfType(const trace::PythonLayout& layout, const char* object, const char* type) {
  return CanRead(object, 40) && ReadAt<const char*>(object, layout.object_type) == type;
}

bool CheckCode(const Interpreter& python, const char* code) {
  const trace::PythonLayout& l = python.layout;
  if (!CanRead(code, l.CodeBytes()) || !IsOfType(l, code, python.code_type)) return false;
  return IsOfType(l, ReadAt<const char*>(code, l.code_file), python.text_type) &&
         IsOfType(l, ReadAt<const char*>(code, l.code_name), python.text_type) &&
         IsOfType(l, ReadAt<const char*>(code, l.code_line_table), python.bytes_type);
}

bool CanReadCopies(const trace::PythonLayout& l, const char* frame, const char* code) {
  const char* const copies = ReadAt<const char*>(code, l.code_copies);
  const auto number = ReadAt<int32_t>(frame, l.frame_copy);
  return number >= 0 && CanReadWord(copies) && number < ReadAt<int64_t>(copies, 0) &&
         CanReadWord(copies + 8 + int64_t{number} * 8);
}

bool CheckPlace(const trace::PythonLayout& l, const char* frame, const char* code) {
  if (l.place_kind != trace::PythonPlace::kPointer) return ReadAt<int32_t>(frame, l.frame_place) >= -1;
  if (l.code_copies != trace::kNoOffset && !CanReadCopies(l, frame, code)) return false;
  const int64_t place = ReadAt<const char*>(frame, l.frame_place) - InstructionsOf(l, frame, code);
  return place >= -2 && place < 2 * ReadAt<int64_t>(code, l.object_size);
}

}  // namespace

Found FindInterpreter(Interpreter* out, char (&unknown)[32]) {
  Symbols symbols;
  if (ForEachModule(FindSymbols, &symbols) == 0) return Found::kNothing;
  // The loader may be in the midst of loading a library; this waits until it is done.
  if (symbols.path[0] != 0 && dlopen(symbols.path, RTLD_LAZY | RTLD_NOLOAD) == nullptr) return Found::kNothing;
  unknown[0] = 0;
  if (symbols.version_text != nullptr) {
    const char* const text = symbols.version_text();
    std::size_t n = std::strcspn(text, " ");
    if (n >= sizeof unknown) n = sizeof unknown - 1;
    std::memcpy(unknown, text, n);
    unknown[n] = 0;
  }
  *out = symbols.python;
  out->layout = trace::LayoutOfPython(VersionOf(symbols), out->runtime);
  const bool has_all = out->this_thread != nullptr && out->is_finalizing != nullptr && out->code_type != nullptr &&
                       out->text_type != nullptr && out->bytes_type != nullptr;
  return has_all && out->layout.IsKnown() ? Found::kGood : Found::kUnknown;
}

int CheckFrames(const Interpreter& python, const char* thread) {
  ErrnoGuard errno_guard;
  const trace::PythonLayout& l = python.layout;
  constexpr int kMost = 10000;
  if (!CanRead(thread, kThreadBytes)) return 0;
  if (ReadAt<pthread_t>(thread, l.thread_id) != pthread_self()) return 0;
  const char* frame = ReadAt<const char*>(thread, l.thread_frame);
  if (frame != nullptr && l.frame_in_holder != trace::kNoOffset) {
    if (!CanRead(frame, 16)) return 0;
    frame = ReadAt<const char*>(frame, l.frame_in_holder);
  }
  int good = 0;
  for (; frame != nullptr && good < kMost; frame = ReadAt<const char*>(frame, l.frame_back)) {
    if (!CanRead(frame, kFrameBytes)) return 0;
    if (IsShim(l, frame)) continue;
    const char* code = CodeOf(l, frame);
    if (!CheckCode(python, code) || !CheckPlace(l, frame, code)) return 0;
    ++good;
  }
  return good > 0 ? 1 : -1;
}

}  // namespace gprof::tracer

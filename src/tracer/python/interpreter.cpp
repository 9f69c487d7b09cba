#include "tracer/python/interpreter.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>

#include <cstring>

#include "tracer/system/system_calls.h"

namespace gprof::tracer {
namespace {

// A library that was opened without RTLD_GLOBAL is not found otherwise.
int FindLibrary(dl_phdr_info* info, std::size_t, void* path) {
  const char* slash = info->dlpi_name == nullptr ? nullptr : std::strrchr(info->dlpi_name, '/');
  if (slash == nullptr || std::strncmp(slash, "/libpython3.", 12) != 0) return 0;
  if (std::strlen(info->dlpi_name) >= 4096) return 0;
  std::strcpy(static_cast<char*>(path), info->dlpi_name);
  return 1;
}

void* Library() {
  if (dlsym(RTLD_DEFAULT, "_PyRuntime") != nullptr) return RTLD_DEFAULT;
  char path[4096];
  if (dl_iterate_phdr(FindLibrary, path) == 0) return nullptr;
  return dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
}

template <class T>
bool Symbol(void* library, const char* name, T* out) {
  *out = reinterpret_cast<T>(dlsym(library, name));
  return *out != nullptr;
}

// PY_VERSION_HEX, as far as major and minor go.
uint32_t VersionOf(void* library) {
  const unsigned long* number = nullptr;
  if (Symbol(library, "Py_Version", &number)) return static_cast<uint32_t>(*number);
  const char* (*text)() = nullptr;
  if (!Symbol(library, "Py_GetVersion", &text)) return 0;
  char* end = nullptr;
  const unsigned long major = strtoul(text(), &end, 10);
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
  void* const library = Library();
  if (library == nullptr && dlsym(RTLD_DEFAULT, "_PyRuntime") == nullptr) return Found::kNothing;
  if (!Symbol(library, "_PyRuntime", &out->runtime)) return Found::kNothing;
  const uint32_t version = VersionOf(library);
  const char* (*text)() = nullptr;
  unknown[0] = 0;
  if (Symbol(library, "Py_GetVersion", &text)) {
    std::size_t n = std::strcspn(text(), " ");
    if (n >= sizeof unknown) n = sizeof unknown - 1;
    std::memcpy(unknown, text(), n);
    unknown[n] = 0;
  }
  out->layout = trace::LayoutOfPython(version, out->runtime);
  const bool has_all = Symbol(library, "PyGILState_GetThisThreadState", &out->this_thread) &&
                       (Symbol(library, "Py_IsFinalizing", &out->is_finalizing) ||
                        Symbol(library, "_Py_IsFinalizing", &out->is_finalizing)) &&
                       Symbol(library, "PyCode_Type", &out->code_type) &&
                       Symbol(library, "PyUnicode_Type", &out->text_type) &&
                       Symbol(library, "PyBytes_Type", &out->bytes_type);
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

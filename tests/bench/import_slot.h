// Whether the tracer has taken the calls of this program: import slots are led to it some time after its start.
#pragma once

#include <dlfcn.h>
#include <link.h>
#include <nvtx3/nvToolsExt.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace gprof::bench {

// The slot of this program that holds the address of a function; null when it does not call it.
inline void** SlotOf(const char* symbol) {
  const ElfW(Sym)* symbols = nullptr;
  const char* texts = nullptr;
  const ElfW(Rela) * tables[2] = {};
  std::size_t sizes[2] = {};
  for (const ElfW(Dyn)* d = _DYNAMIC; d->d_tag != DT_NULL; ++d) {
    if (d->d_tag == DT_SYMTAB) symbols = reinterpret_cast<const ElfW(Sym)*>(d->d_un.d_ptr);
    if (d->d_tag == DT_STRTAB) texts = reinterpret_cast<const char*>(d->d_un.d_ptr);
    if (d->d_tag == DT_JMPREL) tables[0] = reinterpret_cast<const ElfW(Rela)*>(d->d_un.d_ptr);
    if (d->d_tag == DT_PLTRELSZ) sizes[0] = d->d_un.d_val;
    if (d->d_tag == DT_RELA) tables[1] = reinterpret_cast<const ElfW(Rela)*>(d->d_un.d_ptr);
    if (d->d_tag == DT_RELASZ) sizes[1] = d->d_un.d_val;
  }
  Dl_info self = {};
  if (dladdr(reinterpret_cast<void*>(&SlotOf), &self) == 0) return nullptr;
  for (int i = 0; i < 2; ++i) {
    for (std::size_t k = 0; k < sizes[i] / sizeof(ElfW(Rela)); ++k) {
      const auto number = tables[i][k].r_info >> 32;
      if (number == 0 || std::strcmp(texts + symbols[number].st_name, symbol) != 0) continue;
      return reinterpret_cast<void**>(static_cast<char*>(self.dli_fbase) + tables[i][k].r_offset);
    }
  }
  return nullptr;
}

// Of a function that the program calls somewhere.
inline bool LeadsToTracer(const char* symbol) {
  void** const slot = SlotOf(symbol);
  Dl_info info = {};
  return slot != nullptr && dladdr(*static_cast<void* volatile*>(slot), &info) != 0 && info.dli_fname != nullptr &&
         std::strstr(info.dli_fname, "gprof-tracer") != nullptr;
}

// Starts the tracer, and waits until it has, or no longer has, the calls. False: it did not come to that. Where osrt is
// not recorded there is nothing to wait for.
inline bool WaitForSlots(const char* symbol, bool lead_to_tracer = true) {
  nvtxMarkA("begin");
  const char* const kinds = std::getenv("GPROF_TRACE");
  if (kinds == nullptr || std::strstr(kinds, "osrt") == nullptr) return true;
  for (int i = 0; i < 10'000; ++i) {
    if (LeadsToTracer(symbol) == lead_to_tracer) return true;
    const timespec time = {0, 1'000'000};
    syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &time, nullptr);  // not one of the calls
  }
  return false;
}

}  // namespace gprof::bench

// What a loaded module imports, as its dynamic section says.
#pragma once

#include <link.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace gprof::tracer {

// A span of addresses.
struct Span {
  uintptr_t begin = 0, end = 0;
  bool Has(uintptr_t at) const { return at >= begin && at < end; }
  bool IsEmpty() const { return begin >= end; }
};

// A place that holds the address of a function of another module.
struct ImportSlot {
  uintptr_t* at;
  const char* symbol;
  bool is_defined_here;
};

// The one function of C++ that may be wrapped (pytorch/tensor_memory.h).
inline constexpr char kReportOfTorch[] = "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE";
inline bool IsWrappedCpp(const char* symbol) { return std::strcmp(symbol, kReportOfTorch) == 0; }

// dl_iterate_phdr(), which locks the loader's list. libc leaves that locked for ever in a child that is forked at that
// moment, so forks wait for us.
int ForEachModule(int (*see)(dl_phdr_info*, std::size_t, void*), void* argument);
void HoldLoader();  // [forking thread, before and after]
void ReleaseLoader();
void ResetLoaderAfterFork();  // [child of a fork, at once]

// Where the first module that exports it has it; null where there is none. Unlike dlsym() it leaves no message behind,
// which in the child of a fork is a leak.
void* AddressOfGlobal(const char* symbol);
// The same in libc alone, whatever stands in for its functions.
void* AddressInLibc(const char* symbol);
// Whether the loader that we are linked to has loaded us. In a statically linked program it is another one.
bool IsKnownToLoader();

class LoadedModule {
 public:
  explicit LoadedModule(const dl_phdr_info& info);

  // Of whole pages: what the loader makes read-only once the module is relocated.
  Span Relro() const { return relro_; }
  Span Addresses() const { return addresses_; }
  // f(slot, version): `version()` is the one that the module was linked against, null for any.
  template <class F>
  void ForEachSlot(F&& f) const {
    ForEachSlotOf(plt_, plt_count_, f);
    ForEachSlotOf(relocations_, relocation_count_, f);
  }
  // Of a symbol that the module exports; null when it does not.
  const ElfW(Sym) * FindExport(const char* symbol) const;
  // Where that is; null when it is none.
  void* AddressOfExport(const char* symbol) const;
  uintptr_t base() const { return base_; }

 private:
  // The loader has added the base to what the section says, except where it is read-only.
  uintptr_t AddressOf(uintptr_t value) const { return value < base_ ? value + base_ : value; }
  void ReadDynamic(const ElfW(Dyn) * dynamic);
  const char* VersionOf(uint32_t symbol) const;

  template <class F>
  void ForEachSlotOf(const ElfW(Rela) * all, std::size_t count, F&& f) const {
    if (symbols_ == nullptr || texts_ == nullptr || all == nullptr) return;
    for (std::size_t i = 0; i < count; ++i) {
      const auto type = static_cast<uint32_t>(all[i].r_info & 0xffffffffu);
      if (type != kJumpSlot && type != kGlobData) continue;
      const auto number = static_cast<uint32_t>(all[i].r_info >> 32);
      const ElfW(Sym)& symbol = symbols_[number];
      const char* const name = texts_ + symbol.st_name;
      if (name[0] == '_' && name[1] == 'Z' && !IsWrappedCpp(name)) continue;  // most names of large libraries are
      f(ImportSlot{reinterpret_cast<uintptr_t*>(base_ + all[i].r_offset), name, symbol.st_shndx != SHN_UNDEF},
        [this, number] { return VersionOf(number); });
    }
  }

#ifdef __aarch64__
  static constexpr uint32_t kJumpSlot = 1026, kGlobData = 1025;
#else
  static constexpr uint32_t kJumpSlot = 7, kGlobData = 6;
#endif

  uintptr_t base_;
  Span relro_, addresses_;
  const ElfW(Sym) * symbols_ = nullptr;
  const char* texts_ = nullptr;
  const ElfW(Rela) * plt_ = nullptr;
  std::size_t plt_count_ = 0;
  const ElfW(Rela) * relocations_ = nullptr;
  std::size_t relocation_count_ = 0;
  const uint32_t* hash_ = nullptr;
  const uint16_t* versions_ = nullptr;
  const unsigned char* needed_versions_ = nullptr;
  std::size_t needed_version_count_ = 0;
};

}  // namespace gprof::tracer

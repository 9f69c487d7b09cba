#include "tracer/system/loaded_module.h"

#include <unistd.h>

#include <cstring>

#include "tracer/system/system_calls.h"

namespace gprof::tracer {
namespace {

uint32_t GnuHash(const char* name) {
  uint32_t hash = 5381;
  for (; *name != 0; ++name) hash = hash * 33 + static_cast<unsigned char>(*name);
  return hash;
}

Lock loader_lock;

struct GlobalSearch {
  const char* symbol;
  bool is_in_libc;
  void* found;
};

bool IsLibc(const dl_phdr_info& info) {
  const char* const slash = info.dlpi_name == nullptr ? nullptr : std::strrchr(info.dlpi_name, '/');
  return slash != nullptr && (std::strcmp(slash, "/libc.so.6") == 0 || std::strcmp(slash, "/libpthread.so.0") == 0);
}

int SearchModule(dl_phdr_info* info, std::size_t, void* argument) {
  auto* const search = static_cast<GlobalSearch*>(argument);
  if (search->is_in_libc && !IsLibc(*info)) return 0;
  search->found = LoadedModule(*info).AddressOfExport(search->symbol);
  return search->found != nullptr ? 1 : 0;
}

}  // namespace

int ForEachModule(int (*see)(dl_phdr_info*, std::size_t, void*), void* argument) {
  const LockGuard guard(loader_lock);
  return dl_iterate_phdr(see, argument);
}

void HoldLoader() { loader_lock.Acquire(); }
void ReleaseLoader() { loader_lock.Release(); }
void ResetLoaderAfterFork() { loader_lock.ResetAfterFork(); }

void* AddressOfGlobal(const char* symbol) {
  GlobalSearch search{symbol, false, nullptr};
  ForEachModule(SearchModule, &search);
  return search.found;
}

void* AddressInLibc(const char* symbol) {
  GlobalSearch search{symbol, true, nullptr};
  ForEachModule(SearchModule, &search);
  return search.found;
}

bool IsKnownToLoader() {
  const auto is_here = [](dl_phdr_info* info, std::size_t, void*) {
    return LoadedModule(*info).Addresses().Has(reinterpret_cast<uintptr_t>(&IsKnownToLoader)) ? 1 : 0;
  };
  return ForEachModule(is_here, nullptr) != 0;
}

LoadedModule::LoadedModule(const dl_phdr_info& info) : base_(info.dlpi_addr) {
  const auto page = static_cast<uintptr_t>(getpagesize());
  addresses_ = {~uintptr_t{0}, 0};
  const ElfW(Dyn)* dynamic = nullptr;
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info.dlpi_phdr[i];
    const uintptr_t begin = base_ + header.p_vaddr, end = begin + header.p_memsz;
    if (header.p_type == PT_DYNAMIC) dynamic = reinterpret_cast<const ElfW(Dyn)*>(begin);
    if (header.p_type == PT_GNU_RELRO) relro_ = {begin / page * page, end / page * page};
    if (header.p_type != PT_LOAD) continue;
    if (begin < addresses_.begin) addresses_.begin = begin;
    if (end > addresses_.end) addresses_.end = end;
  }
  if (dynamic != nullptr) ReadDynamic(dynamic);
}

void LoadedModule::ReadDynamic(const ElfW(Dyn) * dynamic) {
  std::size_t relative = 0, plt_type = DT_RELA;
  for (; dynamic->d_tag != DT_NULL; ++dynamic) {
    const uintptr_t value = dynamic->d_un.d_val, at = AddressOf(value);
    switch (dynamic->d_tag) {
      case DT_SYMTAB:
        symbols_ = reinterpret_cast<const ElfW(Sym)*>(at);
        break;
      case DT_STRTAB:
        texts_ = reinterpret_cast<const char*>(at);
        break;
      case DT_JMPREL:
        plt_ = reinterpret_cast<const ElfW(Rela)*>(at);
        break;
      case DT_PLTRELSZ:
        plt_count_ = value / sizeof(ElfW(Rela));
        break;
      case DT_PLTREL:
        plt_type = value;
        break;
      case DT_RELA:
        relocations_ = reinterpret_cast<const ElfW(Rela)*>(at);
        break;
      case DT_RELASZ:
        relocation_count_ = value / sizeof(ElfW(Rela));
        break;
      case DT_RELACOUNT:
        relative = value;
        break;
      case DT_GNU_HASH:
        hash_ = reinterpret_cast<const uint32_t*>(at);
        break;
      case DT_VERSYM:
        versions_ = reinterpret_cast<const uint16_t*>(at);
        break;
      case DT_VERNEED:
        needed_versions_ = reinterpret_cast<const unsigned char*>(at);
        break;
      case DT_VERNEEDNUM:
        needed_version_count_ = value;
        break;
      default:
        break;
    }
  }
  if (plt_type != DT_RELA) plt_ = nullptr;
  // Relative ones, which name no symbol, come first.
  if (relocations_ != nullptr && relative <= relocation_count_) {
    relocations_ += relative;
    relocation_count_ -= relative;
  }
}

const char* LoadedModule::VersionOf(uint32_t symbol) const {
  if (versions_ == nullptr || needed_versions_ == nullptr) return nullptr;
  const uint32_t wanted = versions_[symbol] & 0x7fff;
  const unsigned char* at = needed_versions_;
  for (std::size_t i = 0; i < needed_version_count_; ++i) {
    const auto* need = reinterpret_cast<const ElfW(Verneed)*>(at);
    const unsigned char* of_file = at + need->vn_aux;
    for (uint32_t k = 0; k < need->vn_cnt; ++k) {
      const auto* version = reinterpret_cast<const ElfW(Vernaux)*>(of_file);
      if (version->vna_other == wanted) return texts_ + version->vna_name;
      of_file += version->vna_next;
    }
    at += need->vn_next;
  }
  return nullptr;
}

const ElfW(Sym) * LoadedModule::FindExport(const char* symbol) const {
  if (hash_ == nullptr || symbols_ == nullptr || texts_ == nullptr) return nullptr;
  const uint32_t buckets = hash_[0], first = hash_[1], bloom_words = hash_[2];
  if (buckets == 0) return nullptr;
  const uint32_t* const bucket = hash_ + 4 + bloom_words * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
  const uint32_t* const chain = bucket + buckets;
  const uint32_t hash = GnuHash(symbol);
  uint32_t i = bucket[hash % buckets];
  if (i < first) return nullptr;
  for (;; ++i) {
    const uint32_t of_chain = chain[i - first];
    if ((of_chain | 1) == (hash | 1) && std::strcmp(texts_ + symbols_[i].st_name, symbol) == 0)
      return symbols_[i].st_shndx == SHN_UNDEF ? nullptr : &symbols_[i];
    if ((of_chain & 1) != 0) return nullptr;
  }
}

void* LoadedModule::AddressOfExport(const char* symbol) const {
  const ElfW(Sym)* const entry = FindExport(symbol);
  return entry == nullptr ? nullptr : reinterpret_cast<void*>(base_ + entry->st_value);
}

}  // namespace gprof::tracer

// How libgcc finds the tables of a function when an exception is thrown: since glibc 2.35 it is told in one call.
#include <dlfcn.h>
#include <link.h>

namespace {

struct Search {
  ElfW(Addr) address = 0;
  dl_find_object* result = nullptr;
};

int Look(dl_phdr_info* info, size_t, void* data) {
  const Search& search = *static_cast<Search*>(data);
  const ElfW(Phdr)* tables = nullptr;
  const ElfW(Phdr)* found = nullptr;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info->dlpi_phdr[i];
    if (header.p_type == PT_GNU_EH_FRAME) tables = &header;
    const ElfW(Addr) start = info->dlpi_addr + header.p_vaddr;
    if (header.p_type == PT_LOAD && search.address - start < header.p_memsz) found = &header;
  }
  if (found == nullptr) return 0;
  if (tables == nullptr) return -1;  // it has none, so nothing can be caught there
  const ElfW(Addr) start = info->dlpi_addr + found->p_vaddr;
  search.result->dlfo_flags = 0;
  search.result->dlfo_map_start = reinterpret_cast<void*>(start);
  search.result->dlfo_map_end = reinterpret_cast<void*>(start + found->p_memsz);
  search.result->dlfo_link_map = nullptr;
  search.result->dlfo_eh_frame = reinterpret_cast<void*>(info->dlpi_addr + tables->p_vaddr);
  return 1;
}

}  // namespace

extern "C" int _dl_find_object(void* address, dl_find_object* result) noexcept {
  Search search = {reinterpret_cast<ElfW(Addr)>(address), result};
  return dl_iterate_phdr(Look, &search) == 1 ? 0 : -1;
}

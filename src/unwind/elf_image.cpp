#include "unwind/elf_image.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/machine/descriptor.h"

namespace gprof {
namespace {

#ifdef __aarch64__
constexpr uint16_t kMachine = EM_AARCH64;
#else
constexpr uint16_t kMachine = EM_X86_64;
#endif

template <class T>
std::optional<T> ReadAt(Bytes bytes, uint64_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

std::string_view TextAt(Bytes table, uint64_t offset) {
  if (offset >= table.size()) return {};
  const char* const text = reinterpret_cast<const char*>(table.data()) + offset;
  return {text, strnlen(text, table.size() - offset)};
}

}  // namespace

ElfImage::~ElfImage() {
  if (mapped_ != nullptr) munmap(mapped_, bytes_.size());
}

std::unique_ptr<ElfImage> ElfImage::Open(const std::string& path) {
  const int descriptor = OpenHigh(path.c_str(), O_RDONLY | O_NONBLOCK, 0);
  struct stat status;
  const bool is_file = descriptor >= 0 && fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) &&
                       status.st_size >= static_cast<off_t>(sizeof(Elf64_Ehdr));
  void* mapped = MAP_FAILED;
  if (is_file) mapped = mmap(nullptr, static_cast<std::size_t>(status.st_size), PROT_READ, MAP_PRIVATE, descriptor, 0);
  if (descriptor >= 0) close(descriptor);
  if (mapped == MAP_FAILED) return nullptr;
  std::unique_ptr<ElfImage> image(new ElfImage);
  image->mapped_ = mapped;
  image->bytes_ = {static_cast<const unsigned char*>(mapped), static_cast<std::size_t>(status.st_size)};
  return image->Parse() ? std::move(image) : nullptr;
}

std::unique_ptr<ElfImage> ElfImage::OfBytes(std::string bytes) {
  std::unique_ptr<ElfImage> image(new ElfImage);
  image->copy_ = std::move(bytes);
  image->bytes_ = {reinterpret_cast<const unsigned char*>(image->copy_.data()), image->copy_.size()};
  return image->Parse() ? std::move(image) : nullptr;
}

bool ElfImage::Parse() {
  const auto head = ReadAt<Elf64_Ehdr>(bytes_, 0);
  const bool is_ours = head && std::memcmp(head->e_ident, ELFMAG, SELFMAG) == 0 &&
                       head->e_ident[EI_CLASS] == ELFCLASS64 && head->e_ident[EI_DATA] == ELFDATA2LSB &&
                       head->e_machine == kMachine;
  if (!is_ours) return false;
  for (uint64_t i = 0; i < head->e_phnum; ++i) {
    const auto program = ReadAt<Elf64_Phdr>(bytes_, head->e_phoff + i * sizeof(Elf64_Phdr));
    if (!program) break;
    if (program->p_type == PT_LOAD)
      segments_.push_back({program->p_vaddr, program->p_offset, program->p_filesz, (program->p_flags & PF_X) != 0});
    if (program->p_type == PT_GNU_EH_FRAME) unwind_index_ = program->p_vaddr;
    if (program->p_type == PT_NOTE && build_id_.empty()) ReadNotes(Part(program->p_offset, program->p_filesz));
  }
  return true;
}

void ElfImage::ReadNotes(Bytes notes) {
  constexpr char kDigits[] = "0123456789abcdef";
  constexpr uint64_t kAlignment = 4;
  ByteReader reader(notes);
  while (!reader.AtEnd()) {
    const auto name_size = reader.Take<uint32_t>(), size = reader.Take<uint32_t>(), type = reader.Take<uint32_t>();
    const Bytes name = reader.TakeBytes((uint64_t{name_size} + kAlignment - 1) / kAlignment * kAlignment);
    const Bytes description = reader.TakeBytes(size);
    if (reader.is_bad()) return;
    if (type == NT_GNU_BUILD_ID && name.size() == sizeof "GNU" && std::memcmp(name.data(), "GNU", sizeof "GNU") == 0) {
      for (const unsigned char byte : description) {
        build_id_ += kDigits[byte >> 4];
        build_id_ += kDigits[byte & 0xfu];
      }
      return;
    }
    reader.TakeBytes((kAlignment - size % kAlignment) % kAlignment);
  }
}

Bytes ElfImage::Part(uint64_t offset, uint64_t size) const {
  if (offset > bytes_.size()) return {};
  return bytes_.subspan(offset, std::min<uint64_t>(size, bytes_.size() - offset));
}

UnwindTables ElfImage::unwind_tables() const {
  const auto at = [](const void* image, uint64_t address) { return static_cast<const ElfImage*>(image)->At(address); };
  return {unwind_index_, this, at};
}

Bytes ElfImage::At(uint64_t address) const {
  for (const Segment& segment : segments_) {
    const uint64_t into = address - segment.address;
    if (address >= segment.address && into < segment.size && segment.offset <= bytes_.size()) {
      return Part(segment.offset + into, segment.size - into);
    }
  }
  return {};
}

std::optional<uint64_t> ElfImage::AddressOfOffset(uint64_t offset) const {
  // Mappings begin at pages, segments anywhere: a page may hold the end of one and the begin of the next, and is mapped
  // for each of them.
  constexpr uint64_t kLargestPage = 64 << 10;
  for (const Segment& segment : segments_) {
    const uint64_t first = segment.offset / kLargestPage * kLargestPage;
    if (segment.is_code && offset >= first && offset < segment.offset + segment.size) {
      return segment.address - segment.offset + offset;
    }
  }
  return std::nullopt;
}

std::vector<ElfImage::Section> ElfImage::Sections() const {
  std::vector<Section> sections;
  const auto head = ReadAt<Elf64_Ehdr>(bytes_, 0);
  if (!head || head->e_shoff == 0) return sections;
  const auto header_of = [&](uint64_t i) { return ReadAt<Elf64_Shdr>(bytes_, head->e_shoff + i * sizeof(Elf64_Shdr)); };
  const auto names_header = header_of(head->e_shstrndx);
  const Bytes names = names_header ? Part(names_header->sh_offset, names_header->sh_size) : Bytes();
  for (uint64_t i = 0; i < head->e_shnum; ++i) {
    const auto header = header_of(i);
    if (!header) break;
    sections.push_back({TextAt(names, header->sh_name), header->sh_type, header->sh_link, header->sh_offset,
                        header->sh_type == SHT_NOBITS ? 0 : header->sh_size, (header->sh_flags & SHF_COMPRESSED) != 0});
  }
  return sections;
}

bool ElfImage::HasFullSymbols() const {
  const std::vector<Section> sections = Sections();
  return std::any_of(sections.begin(), sections.end(),
                     [](const Section& section) { return section.type == SHT_SYMTAB && section.size != 0; });
}

std::optional<uint64_t> ElfImage::AddressOf(std::string_view symbol) const {
  const std::vector<Section> sections = Sections();
  for (const Section& section : sections) {
    if (section.type != SHT_DYNSYM || section.link >= sections.size()) continue;
    const Bytes symbols = Part(section.offset, section.size);
    const Bytes names = Part(sections[section.link].offset, sections[section.link].size);
    for (uint64_t at = 0;; at += sizeof(Elf64_Sym)) {
      const auto entry = ReadAt<Elf64_Sym>(symbols, at);
      if (!entry) break;
      if (entry->st_shndx != SHN_UNDEF && TextAt(names, entry->st_name) == symbol) return entry->st_value;
    }
  }
  return std::nullopt;
}

Bytes ElfImage::SectionNamed(std::string_view name) const {
  for (const Section& section : Sections()) {
    if (section.name == name) return section.is_compressed ? Bytes() : Part(section.offset, section.size);
  }
  return {};
}

void ElfImage::ForEachFunction(const std::function<void(const FunctionSymbol&)>& visit) const {
  const std::vector<Section> sections = Sections();
  const Section* table = nullptr;
  for (const Section& section : sections) {
    if (section.size == 0) continue;
    if (section.type == SHT_SYMTAB || (section.type == SHT_DYNSYM && table == nullptr)) table = &section;
  }
  if (table == nullptr || table->link >= sections.size()) return;
  const Bytes symbols = Part(table->offset, table->size);
  const Bytes names = Part(sections[table->link].offset, sections[table->link].size);
  for (uint64_t at = 0;; at += sizeof(Elf64_Sym)) {
    const auto symbol = ReadAt<Elf64_Sym>(symbols, at);
    if (!symbol) return;
    const unsigned type = ELF64_ST_TYPE(symbol->st_info);
    const bool is_function = type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE;
    if (!is_function || symbol->st_shndx == SHN_UNDEF || symbol->st_shndx >= SHN_LORESERVE) continue;
    std::string_view name = TextAt(names, symbol->st_name);
    name = name.substr(0, name.find('@'));  // and its version
    if (name.empty() || name.front() == '$') continue;
    visit({symbol->st_value, symbol->st_size, name, ELF64_ST_BIND(symbol->st_info) != STB_GLOBAL});
  }
}

std::string_view ElfImage::DebugLink() const {
  for (const Section& section : Sections()) {
    if (section.name == ".gnu_debuglink") return TextAt(Part(section.offset, section.size), 0);
  }
  return {};
}

}  // namespace gprof

// An ELF file, or a copy of one, as far as unwinding and names of functions need it. Nothing in it is taken on trust.
// Addresses are those of its program headers; where it lies in a process is said elsewhere (address_space.h).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "unwind/byte_reader.h"
#include "unwind/cfi.h"

namespace gprof {

struct FunctionSymbol {
  uint64_t address = 0, size = 0;
  std::string_view name;
  bool is_weak = false;
};

class ElfImage {
 public:
  // Null where there is no such file, or it is not one for machines of this kind.
  static std::unique_ptr<ElfImage> Open(const std::string& path);
  static std::unique_ptr<ElfImage> OfBytes(std::string bytes);
  ~ElfImage();
  ElfImage(const ElfImage&) = delete;
  ElfImage& operator=(const ElfImage&) = delete;

  // From an address on, as far as the file has it.
  Bytes At(uint64_t address) const;
  std::optional<uint64_t> AddressOfOffset(uint64_t offset) const;
  UnwindTables unwind_tables() const;                        // which live as long as the image
  const std::string& build_id() const { return build_id_; }  // hexadecimal digits, empty for none

  // Of .symtab, or where that was stripped of .dynsym.
  void ForEachFunction(const std::function<void(const FunctionSymbol&)>& visit) const;
  bool HasFullSymbols() const;
  // Of a symbol of any kind that the file exports.
  std::optional<uint64_t> AddressOf(std::string_view symbol) const;
  // Empty where there is none, or it is compressed.
  Bytes SectionNamed(std::string_view name) const;
  // The name of the file that has the symbols, empty for none.
  std::string_view DebugLink() const;

 private:
  struct Segment {
    uint64_t address, offset, size;
    bool is_code;
  };
  struct Section {
    std::string_view name;
    uint32_t type, link;
    uint64_t offset, size;
    bool is_compressed;
  };

  ElfImage() = default;
  bool Parse();
  void ReadNotes(Bytes notes);
  Bytes Part(uint64_t offset, uint64_t size) const;
  std::vector<Section> Sections() const;

  std::string copy_;
  void* mapped_ = nullptr;
  Bytes bytes_;
  std::vector<Segment> segments_;
  uint64_t unwind_index_ = 0;
  std::string build_id_;
};

}  // namespace gprof

// Where code lies in a process, as /proc/PID/maps has it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "unwind/elf_image.h"

namespace gprof {

// Opened when it is asked for first: most libraries of a process are on no stack.
class CodeFile {
 public:
  // The first of the paths that there is is taken; "[vdso]" is that of this process, which is the same in all.
  CodeFile(std::string name, std::vector<std::string> paths) : name_(std::move(name)), paths_(std::move(paths)) {}

  const std::string& name() const { return name_; }  // as the process has it
  bool IsVdso() const { return name_ == "[vdso]"; }
  const ElfImage* Image() const;

 private:
  std::string name_;
  std::vector<std::string> paths_;
  mutable bool was_tried_ = false;
  mutable std::unique_ptr<ElfImage> image_;
};

struct CodeMapping {
  uint64_t begin = 0, end = 0, offset = 0, inode = 0;
  std::shared_ptr<const CodeFile> file;  // null for code that was generated at run time

  // What to take from an address in the process to have it as the file does. 0 where that is not known.
  uint64_t Bias() const;

 private:
  mutable std::optional<uint64_t> bias_;
};

// Libraries are the same files in many processes, and stay while they are read again.
class CodeFiles {
 public:
  std::shared_ptr<const CodeFile> Get(pid_t pid, std::string_view range, std::string_view device, uint64_t inode,
                                      const std::string& path);

 private:
  std::map<std::tuple<std::string, uint64_t, std::string>, std::shared_ptr<const CodeFile>> files_;
};

class AddressSpace {
 public:
  // As the process has it now. None when it is gone.
  static std::optional<AddressSpace> Of(pid_t pid, CodeFiles* files, const std::string& proc = "/proc");
  static AddressSpace FromMaps(std::string_view maps, pid_t pid, CodeFiles* files);

  // Null: there is no code.
  const CodeMapping* Find(uint64_t address) const;
  const std::vector<CodeMapping>& mappings() const { return mappings_; }

 private:
  std::vector<CodeMapping> mappings_;  // in order
};

}  // namespace gprof

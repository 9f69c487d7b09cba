// The bytes of a file, mapped where that works and read where it does not (pipes of the shell).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/input_file.h"

namespace gprof {

class MappedFile {
 public:
  // Throws FileError where the file cannot be read.
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::string_view bytes() const;

  // All of it was read: its pages go back to the system, which has them again where they are wanted after all.
  void DropPages() const;

 private:
  void* map_ = nullptr;
  std::size_t map_bytes_ = 0;
  std::string copy_;
};

}  // namespace gprof

#include "trace/file/mapped_file.h"

#include <sys/mman.h>

#include "base/input_file.h"

namespace gprof {

MappedFile::MappedFile(const std::string& path) {
  const InputFile file(path, "check the name; 'gprof-cli profile -o FILE -- APP' writes a trace");
  if (file.size_bytes() > 0) {
    void* map = mmap(nullptr, file.size_bytes(), PROT_READ, MAP_PRIVATE, file.descriptor(), 0);
    if (map != MAP_FAILED) {
      madvise(map, file.size_bytes(), MADV_SEQUENTIAL);
      map_ = map;
      map_bytes_ = file.size_bytes();
      return;
    }
  }
  // Pipes, files of /proc (size 0) and file systems that cannot map.
  copy_ = file.ReadAll();
}

MappedFile::~MappedFile() {
  if (map_ != nullptr) munmap(map_, map_bytes_);
}

std::string_view MappedFile::bytes() const {
  return map_ != nullptr ? std::string_view(static_cast<const char*>(map_), map_bytes_) : std::string_view(copy_);
}

void MappedFile::DropPages() const {
  if (map_ != nullptr) madvise(map_, map_bytes_, MADV_DONTNEED);
}

}  // namespace gprof

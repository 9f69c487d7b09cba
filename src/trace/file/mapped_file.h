// The bytes of a file, mapped where that works and read where it does not (pipes).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "gprof/error.h"

namespace gprof {

// The system did not give the file; `number` is its errno.
class FileError : public Error {
 public:
  FileError(int number, const std::string& what, std::string hint)
      : Error(ExitCode::kUnreadable, what, std::move(hint)), number_(number) {}
  int number() const { return number_; }

 private:
  int number_;
};

class MappedFile {
 public:
  // Throws FileError with what the system says when the file cannot be read.
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

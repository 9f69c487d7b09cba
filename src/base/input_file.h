// Opening what a user names as input, in one place: what is no file is refused before it can be waited for.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
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

// A regular file, or a pipe that the shell made: "<(command)", stdin.
class InputFile {
 public:
  // Throws FileError for what cannot be opened, and for folders, devices, sockets and named pipes: reading one may
  // never end, or be felt elsewhere. `hint` is what to do where there is no such file.
  explicit InputFile(const std::string& path, const std::string& hint = {});
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  int descriptor() const { return descriptor_; }
  // 0 for pipes, and for files of /proc.
  std::size_t size_bytes() const { return size_bytes_; }
  bool IsRegular() const { return is_regular_; }

  // From where it is read to its end. Throws FileError.
  std::string ReadAll() const;

 private:
  std::string path_;
  int descriptor_ = -1;
  std::size_t size_bytes_ = 0;
  bool is_regular_ = false;
};

// All of a file. Throws FileError.
std::string ReadInputFile(const std::string& path, const std::string& hint = {});

// Its first bytes, up to `size_bytes`, to tell what it is; nothing of what is no regular file or cannot be read, so
// that nothing is taken out of a pipe.
std::string StartOfInputFile(const std::string& path, std::size_t size_bytes);

}  // namespace gprof

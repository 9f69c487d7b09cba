// A file or folder that appears whole or not at all: it is made beside its place, and put there when it is done.
//
// What is ended by a signal leaves nothing behind. Where the process is killed outright that holds for kBytes alone,
// which have no name until they are done, where the file system is able to; other leftovers go with a later run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "export/output/unfinished.h"

namespace gprof {

class FreshOutput {
 public:
  enum class Kind : uint8_t { kBytes, kFile, kFolder };

  // kBytes: Write() fills it, in place where `path` is a pipe or device. kFile: a writer makes the file at work_path().
  // kFolder: work_path() is an empty folder.
  FreshOutput(const std::string& path, Kind kind);
  // Leaves nothing behind but what was there before, unless Finish() was called.
  ~FreshOutput();
  FreshOutput(const FreshOutput&) = delete;
  FreshOutput& operator=(const FreshOutput&) = delete;

  const std::string& work_path() const { return work_path_; }
  void Write(std::string_view bytes);
  uint64_t written_bytes() const { return written_bytes_; }
  // For bytes that take the place of a good file: gives them its mode, and waits until they are on the disk. Throws
  // Error where the disk has no room for them after all.
  void MakeAsGoodAs(const std::string& path);
  // Into a folder that is there already goes file by file, and each is whole.
  void Finish();

 private:
  void OpenBytes();
  bool OpenNameless();
  void GiveName();
  void MoveFiles();
  [[noreturn]] void Fail(int error) const;

  std::string path_, target_, work_path_;
  Kind kind_;
  int descriptor_ = -1;
  bool is_in_place_ = false, is_nameless_ = false, is_done_ = false;
  std::optional<Unfinished> unfinished_;
  uint64_t written_bytes_ = 0;
};

}  // namespace gprof

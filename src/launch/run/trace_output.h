#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace gprof {

// The trace file, opened, with its first chunk and nothing else. It stays open as long as this lives, so that its inode
// number is not given away.
class OutputFile {
 public:
  std::string path;  // as given, patterns replaced
  std::string absolute_path;
  std::string run_id;  // "device:inode:run", see env.h
  uint64_t device = 0, inode = 0;
  uint64_t run = 0;  // ChunkHeader::run of the first chunk

  explicit OutputFile(int descriptor) : descriptor_(descriptor) {}
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();

  void Remove();
  // Another file has its name: somebody recorded to it meanwhile, with -f.
  bool IsDisplaced() const;

 private:
  int descriptor_;
};

// Replaces %p (pid of the program), %h (host name), %q{NAME} (environment variable) and %% in a file name; %n becomes
// `number`. Throws Error for anything else behind a percent sign.
std::string ExpandPattern(const std::string& pattern, pid_t pid, unsigned number);

// The pattern that stands for this file, whatever is in its name.
std::string PatternOf(const std::string& file);

// Puts `number` in the place of every %n and leaves the rest of the pattern as it is.
std::string WithNumber(const std::string& pattern, const std::string& number);

// Throws Error where there is something at `path` that a trace or a document about traces cannot replace.
void RefuseExisting(const std::string& path, bool may_overwrite);

// Creates the trace file. An existing file is refused, or with `may_overwrite` replaced by a new one; what is not a
// regular file is refused always. With %n in the pattern, takes the first number that is free.
OutputFile OpenOutput(const std::string& pattern, pid_t pid, bool may_overwrite);

// "run.trace", 3 -> "run.3.trace"; 1 leaves the name as it is.
std::string NumberedName(const std::string& name, unsigned number);

// For a name that nobody chose: where it is taken, the next number from `first` on that is free is. Without patterns.
OutputFile OpenDefaultOutput(const std::string& name, unsigned first, bool may_overwrite);

}  // namespace gprof

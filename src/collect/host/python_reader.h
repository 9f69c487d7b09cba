// The Python of another process, read from its memory while it runs: which threads it has, and where each of them is.
// Nothing is stopped and nothing of the process is changed. A thread that runs moves on meanwhile, so that outer frames
// of a stack may be of a moment later than the innermost one; what is no frame any more is noticed.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "gprof/trace/python_layout.h"

namespace gprof {

// What lets a process read the memory of others, where the kernel restricts that.
inline constexpr const char* kLiftReading = "sysctl kernel.yama.ptrace_scope=0, or in a container --cap-add SYS_PTRACE";

// A place in a code object. `key` tells objects apart that had the same address one after the other.
struct PythonFrame {
  uint64_t code = 0, key = 0;
  uint32_t offset = 0;  // of the instruction, in bytes
  // How it lies in the process, which does not make it another one: the frame, which call of the interpreter's loop
  // runs it (counted from the innermost) and, from 3.12 on, an address in the part of the stack that this call has.
  uint64_t address = 0, loop_address = 0;
  uint32_t loop = 0;
  // Where its instructions lie; not known where each thread has a copy of them.
  uint64_t instructions = 0, instructions_end = 0;

  friend bool operator==(const PythonFrame& a, const PythonFrame& b) {
    return a.code == b.code && a.key == b.key && a.offset == b.offset;
  }
};

// A part of the code of a process.
struct CodeRange {
  uint64_t begin = 0, end = 0;
  bool Has(uint64_t address) const { return begin <= address && address < end; }
};

struct PythonCode {
  std::string file, name, line_table;
  uint32_t first_line = 0;
};

class PythonReader;

// What came of looking for Python in a process.
struct PythonTrial {
  std::unique_ptr<PythonReader> reader;  // null: nothing to read
  std::string unknown;                   // there is one that cannot be read: "CPython 3.15"
  int error = 0;                         // errno where the memory of a Python may not be read
};

class PythonReader {
 public:
  static constexpr std::size_t kMostFrames = 256;

  static PythonTrial Try(pid_t pid);

  uint16_t version() const { return layout_.version; }
  // The threads of Python, by tid, with where their state is.
  std::map<pid_t, uint64_t> Threads() const;
  // The innermost frame first; `is_whole`: there are no more. False: it changed while it was read.
  bool StackOf(uint64_t thread, std::vector<PythonFrame>* frames, bool* is_whole);
  bool CodeOf(uint64_t code, PythonCode* out) const;
  // The file that the interpreter lies in, and in it the function that runs Python code.
  CodeRange file() const { return file_; }
  CodeRange loop() const { return loop_; }

 private:
  // Memory of the process as it was at one time.
  struct Window {
    uint64_t begin = 0;
    std::vector<unsigned char> bytes;
  };

  explicit PythonReader(pid_t pid) : pid_(pid) {}
  bool Read(uint64_t address, void* out, std::size_t bytes) const;
  template <class T>
  T At(uint64_t address) const {
    T value{};
    return Read(address, &value, sizeof value) ? value : T{};
  }
  pid_t TidOf(uint64_t thread) const;
  bool ReadThread(uint64_t thread, uint64_t* frame, uint64_t* chunk) const;
  const unsigned char* FrameAt(uint64_t frame, uint64_t chunk);
  bool IsShim(const unsigned char* frame) const;
  bool EndsLoop(const unsigned char* frame) const;
  bool BeginsAsBefore(uint64_t thread, uint64_t outermost);
  bool AddFrame(const unsigned char* bytes, std::vector<PythonFrame>* frames);
  void TakeInstructions(const unsigned char* code, PythonFrame* frame);
  bool TakeCodes(std::vector<PythonFrame>* frames);
  bool TakeOffsets(std::vector<PythonFrame>* frames);
  static uint32_t OffsetOf(int64_t place);
  std::string TextAt(uint64_t object) const;
  std::string BytesAt(uint64_t object) const;

  pid_t pid_;
  trace::PythonLayout layout_;
  uint64_t runtime_ = 0, code_type_ = 0;
  CodeRange file_, loop_;
  // Of each frame, where code has copies: the instruction that it is at, and which copy that is of.
  struct InCopy {
    uint64_t place = 0;
    int32_t number = 0;
  };
  std::vector<InCopy> copies_;
  std::unordered_map<uint64_t, uint64_t> instruction_bytes_;  // of objects that hold instructions
  // The outermost frame of a thread, and how often in a row another one was read.
  struct Beginning {
    uint64_t frame = 0;
    uint32_t others = 0;
  };
  std::unordered_map<uint64_t, Beginning> beginnings_;  // by thread
  Window window_;
  std::vector<unsigned char> codes_;
};

}  // namespace gprof

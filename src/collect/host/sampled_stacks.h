// Stacks of sampled threads as records: what is new in one is told, with the functions of its frames later.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "collect/host/merged_stack.h"
#include "collect/host/perf_ring.h"
#include "collect/host/python_modules.h"
#include "collect/host/python_moments.h"
#include "collect/host/python_reader.h"
#include "collect/run/journal.h"
#include "unwind/debug_lines.h"
#include "unwind/symbols.h"
#include "unwind/unwinder.h"

namespace gprof {

class SampledStacks {
 public:
  // The number of the record of the sample's stack, 0 for none. With what Python ran, its functions are on it.
  uint32_t StackOf(const PerfSample& sample, const std::optional<SampledPython>& python, Journal* journal);
  // Of that process, as it has mapped more.
  void ForgetAddresses(pid_t pid);
  // The functions and lines of frames that were told, of so many files. Takes milliseconds for each large library;
  // those with much debug information are left for the last time.
  void TellSymbols(std::size_t files, bool is_last, Journal* journal);
  bool HasPendingSymbols() const;  // that can be told before the last time
  // What was told is not known any more.
  void Reset();

 private:
  struct Process {
    AddressSpace space;
    uint64_t number = 0;  // of this reading of it, for the unwinder
    int64_t read_ns = 0;
    bool is_stale = true;
    std::unordered_map<uint64_t, uint32_t> frames;  // by address
  };
  struct PendingFrame {
    uint32_t frame;
    uint64_t address;  // as the file has it
  };
  struct Pending {
    pid_t pid = 0;
    std::shared_ptr<const CodeFile> file;  // null for code generated at run time
    std::vector<PendingFrame> frames;
    bool is_large = false;  // in debug information
  };
  // The process that has it, and what it is; without a file, generated code.
  using ModuleKey = std::tuple<pid_t, const CodeFile*, uint64_t>;

  Process& ProcessOf(const PerfSample& sample);
  StackEnd Unwind(const PerfSample& sample, Process* process);
  static void AddOuterPython(const PythonMoment& moment, MergedStack* merged);
  uint32_t FrameOf(const PerfSample& sample, Process* process, const UnwoundFrame& frame, Journal* journal);
  uint32_t ModuleOf(const PerfSample& sample, const CodeMapping& mapping, Journal* journal);
  uint32_t FrameOf(const PerfSample& sample, const PythonFrame& frame, const PythonReader& reader, Journal* journal);
  uint32_t FrameAt(uint32_t module, uint64_t offset, Journal* journal);
  uint32_t NodeOf(uint32_t parent, uint32_t frame, bool is_cut, bool is_guessed, Journal* journal);
  const ElfImage* SymbolsOf(const CodeFile& file);
  bool IsLarge(const Pending& pending);
  std::vector<FoundSymbol> Find(const Pending& pending, const std::vector<uint64_t>& addresses);
  void TellSymbolsOf(const Pending& pending, Journal* journal);

  CodeFiles files_;
  Unwinder unwinder_;
  std::map<pid_t, Process> processes_;
  std::vector<UnwoundFrame> frames_now_;
  std::map<ModuleKey, uint32_t> modules_;
  std::vector<std::shared_ptr<const CodeFile>> kept_files_;  // those that modules_ names
  PythonModules python_modules_;
  std::map<std::pair<uint32_t, uint64_t>, uint32_t> frames_;
  std::unordered_map<uint64_t, uint32_t> nodes_[4];  // by whether they are cut and guessed
  std::map<uint32_t, Pending> pending_;              // by module
  std::map<const CodeFile*, std::unique_ptr<ElfImage>> debug_images_;
  // Numbers go on after Reset(): those told before may be in the file.
  uint32_t next_module_ = 1, next_frame_ = 1, next_node_ = 1;
  uint64_t next_space_ = 1;
};

}  // namespace gprof

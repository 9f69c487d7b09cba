#include "collect/host/sampled_stacks.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>

#include "collect/run/system_clocks.h"

namespace gprof {
namespace {

// While libraries are loaded there is one more every few milliseconds, and the list of thousands takes milliseconds.
constexpr int64_t kRereadNs = 1000 * kMillisecondNs, kRereadMissingNs = 50 * kMillisecondNs;
// Beyond this many records of stacks a program would be too odd to be told.
constexpr uint32_t kMostStackNodes = 4'000'000;
// Lines of a larger file wait for the end: they take longer than rings may wait.
constexpr std::size_t kMostLineBytes = 2u << 20;

}  // namespace

SampledStacks::Process& SampledStacks::ProcessOf(const PerfSample& sample) {
  Process& process = processes_[sample.pid];
  const bool is_new = process.number == 0;
  if (!is_new && !(process.is_stale && sample.time_ns - process.read_ns >= kRereadNs)) return process;
  process.is_stale = false;
  process.read_ns = sample.time_ns;
  // One that has ended keeps what was known of it.
  if (std::optional<AddressSpace> space = AddressSpace::Of(sample.pid, &files_)) {
    process.space = std::move(*space);
    process.frames.clear();
    process.number = next_space_++;
  } else if (is_new) {
    process.number = next_space_++;
  }
  return process;
}

void SampledStacks::ForgetAddresses(pid_t pid) {
  const auto process = processes_.find(pid);
  if (process != processes_.end()) process->second.is_stale = true;
}

StackEnd SampledStacks::Unwind(const PerfSample& sample, Process* process) {
  frames_now_.clear();
  if (sample.callers.empty()) {
    return unwinder_.Unwind(process->space, process->number, sample.registers, sample.stack, &frames_now_);
  }
  for (std::size_t i = 0; i < sample.callers.size() && i < Unwinder::kMostFrames; ++i) {
    const uint64_t address = sample.callers[i] - (i == 0 ? 0 : 1);
    frames_now_.push_back({address, process->space.Find(address), i != 0, {}});
  }
  return StackEnd::kWhole;
}

uint32_t SampledStacks::StackOf(const PerfSample& sample, const std::optional<SampledPython>& python,
                                Journal* journal) {
  if (sample.registers.known == 0) return 0;
  Process* process = &ProcessOf(sample);
  StackEnd end = Unwind(sample, process);
  const auto is_missing = [](const UnwoundFrame& frame) { return frame.mapping == nullptr; };
  const bool misses = std::any_of(frames_now_.begin(), frames_now_.end(), is_missing);
  if (misses && sample.time_ns - process->read_ns >= kRereadMissingNs) {
    process->is_stale = true;
    process->read_ns = sample.time_ns - kRereadNs;
    process = &ProcessOf(sample);
    end = Unwind(sample, process);
  }
  const PythonMoment no_python;
  KnownCode no_codes;
  MergedStack merged =
      Merge({frames_now_, end, sample.stack}, python ? python->moment : no_python, python ? &python->codes : &no_codes);
  if (sample.is_waiting && python) AddOuterPython(python->moment, &merged);
  const bool is_cut = merged.end != StackEnd::kWhole;
  uint32_t node = 0;
  for (auto frame = merged.frames.rbegin(); frame != merged.frames.rend(); ++frame) {
    const UnwoundFrame* const native = frame->is_python ? nullptr : &frames_now_[frame->native];
    const uint32_t id = native != nullptr ? FrameOf(sample, process, *native, journal)
                                          : FrameOf(sample, frame->python, python->reader, journal);
    if (id == 0) continue;
    const bool is_guessed = native != nullptr ? native->is_guessed : frame->is_guessed;
    node = NodeOf(node, id, is_cut && node == 0, is_guessed, journal);
    if (node == 0) return 0;
  }
  return node;
}

uint32_t SampledStacks::FrameOf(const PerfSample& sample, Process* process, const UnwoundFrame& frame,
                                Journal* journal) {
  uint32_t& known = process->frames[frame.address];
  if (known != 0) return known;
  const uint32_t module = frame.mapping == nullptr ? 0 : ModuleOf(sample, *frame.mapping, journal);
  const uint64_t offset = frame.address - (frame.mapping == nullptr ? 0 : frame.mapping->Bias());
  const uint32_t next = next_frame_;
  known = FrameAt(module, offset, journal);
  if (known == next && module != 0) {
    Pending& pending = pending_[module];
    pending.pid = sample.pid;
    pending.file = frame.mapping->file;
    if (pending.frames.empty()) pending.is_large = IsLarge(pending);
    pending.frames.push_back({known, offset});
  }
  return known;
}

uint32_t SampledStacks::FrameAt(uint32_t module, uint64_t offset, Journal* journal) {
  const auto [at, is_new] = frames_.try_emplace({module, offset}, next_frame_);
  if (is_new) journal->Add(trace::FrameRecord{next_frame_++, module, offset});
  return at->second;
}

// Where the stack of a waiting thread was cut before the interpreter, what that ran is known all the same.
void SampledStacks::AddOuterPython(const PythonMoment& moment, MergedStack* merged) {
  if (merged->end == StackEnd::kWhole || std::ranges::any_of(merged->frames, &MergedFrame::is_python)) return;
  for (const PythonFrame& frame : moment.frames) merged->frames.push_back({true, 0, frame, false});
  if (moment.is_whole && !moment.frames.empty()) merged->end = StackEnd::kWhole;
}

// 0: no function of the program.
uint32_t SampledStacks::FrameOf(const PerfSample& sample, const PythonFrame& frame, const PythonReader& reader,
                                Journal* journal) {
  const uint32_t module = python_modules_.NumberOf(sample.pid, reader, frame, sample.time_ns, &next_module_, journal);
  return module == 0 || module == kInterpretersOwn ? 0 : FrameAt(module, frame.offset, journal);
}

uint32_t SampledStacks::ModuleOf(const PerfSample& sample, const CodeMapping& mapping, Journal* journal) {
  const CodeFile* const file = mapping.file.get();
  const auto [at, is_new] = modules_.try_emplace({sample.pid, file, mapping.Bias()}, next_module_);
  if (!is_new) return at->second;
  ++next_module_;
  trace::ModuleRecord record;
  record.time_ns = static_cast<uint64_t>(sample.time_ns);
  record.id = at->second;
  record.pid = static_cast<uint32_t>(sample.pid);
  record.address = mapping.Bias();
  record.module_kind = static_cast<uint8_t>(file == nullptr  ? trace::ModuleKind::kGenerated
                                            : file->IsVdso() ? trace::ModuleKind::kVdso
                                                             : trace::ModuleKind::kFile);
  if (file != nullptr) {
    kept_files_.push_back(mapping.file);
    record.path = journal->Name(file->name());
    record.size_bytes = mapping.end - mapping.begin;
    record.inode = mapping.inode;
    if (const ElfImage* const image = file->Image()) record.build_id = journal->Name(image->build_id());
  }
  journal->Add(record);
  return at->second;
}

uint32_t SampledStacks::NodeOf(uint32_t parent, uint32_t frame, bool is_cut, bool is_guessed, Journal* journal) {
  if (next_node_ > kMostStackNodes) return 0;
  std::unordered_map<uint64_t, uint32_t>& nodes = nodes_[(is_cut ? 1 : 0) + (is_guessed ? 2 : 0)];
  const auto [at, is_new] = nodes.try_emplace(uint64_t{parent} << 32 | frame, next_node_);
  if (!is_new) return at->second;
  ++next_node_;
  journal->Add(trace::StackRecord{at->second, parent, frame, is_cut, is_guessed});
  return at->second;
}

// The file itself, or where it was stripped the one with its symbols.
const ElfImage* SampledStacks::SymbolsOf(const CodeFile& file) {
  const ElfImage* const image = file.Image();
  if (image == nullptr || image->HasFullSymbols()) return image;
  const auto [at, is_new] = debug_images_.try_emplace(&file);
  if (is_new) {
    for (const std::string& path : DebugFilesOf(*image, file.name())) {
      std::unique_ptr<ElfImage> debug = ElfImage::Open(path);
      if (debug == nullptr || debug->build_id() != image->build_id() || !debug->HasFullSymbols()) continue;
      at->second = std::move(debug);
      break;
    }
  }
  return at->second != nullptr ? at->second.get() : image;
}

bool SampledStacks::IsLarge(const Pending& pending) {
  const ElfImage* const image = pending.file == nullptr ? nullptr : SymbolsOf(*pending.file);
  return image != nullptr && BytesOfLines(*image) > kMostLineBytes;
}

std::vector<FoundSymbol> SampledStacks::Find(const Pending& pending, const std::vector<uint64_t>& addresses) {
  if (pending.file != nullptr) {
    const ElfImage* const image = SymbolsOf(*pending.file);
    return image == nullptr ? std::vector<FoundSymbol>(addresses.size()) : FindSymbols(*image, addresses);
  }
  // In a container, its /tmp is another one.
  const std::string pid = std::to_string(pending.pid), name = "/tmp/perf-" + pid + ".map";
  std::ifstream file("/proc/" + pid + "/root" + name, std::ios::binary);
  if (!file) file.open(name, std::ios::binary);
  const std::string map{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  return FindInPerfMap(map, addresses);
}

void SampledStacks::TellSymbols(std::size_t files, bool is_last, Journal* journal) {
  for (auto at = pending_.begin(); files > 0 && at != pending_.end();) {
    if (at->second.is_large && !is_last) {
      ++at;
      continue;
    }
    TellSymbolsOf(at->second, journal);
    at = pending_.erase(at);
    --files;
  }
}

bool SampledStacks::HasPendingSymbols() const {
  return std::any_of(pending_.begin(), pending_.end(), [](const auto& entry) { return !entry.second.is_large; });
}

void SampledStacks::TellSymbolsOf(const Pending& pending, Journal* journal) {
  std::vector<uint64_t> addresses;
  for (const PendingFrame& frame : pending.frames) addresses.push_back(frame.address);
  const std::vector<FoundSymbol> symbols = Find(pending, addresses);
  const ElfImage* const image = pending.file == nullptr ? nullptr : SymbolsOf(*pending.file);
  const std::vector<SourceLine> lines =
      image == nullptr ? std::vector<SourceLine>(addresses.size()) : FindLines(*image, addresses);
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    if (symbols[i].name.empty()) continue;
    trace::SymbolRecord record;
    record.frame = pending.frames[i].frame;
    record.name = journal->Name(symbols[i].name);
    record.file = journal->Name(lines[i].file);
    record.line = lines[i].line;
    record.function_offset = symbols[i].function;
    if (record.name.value != 0) journal->Add(record);
  }
}

void SampledStacks::Reset() {
  for (auto& [pid, process] : processes_) process.frames.clear();
  modules_.clear();
  kept_files_.clear();
  python_modules_.Reset();
  frames_.clear();
  for (auto& nodes : nodes_) nodes.clear();
  pending_.clear();
}

}  // namespace gprof

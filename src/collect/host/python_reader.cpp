#include "collect/host/python_reader.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <utility>

#include "collect/run/open_proc_file.h"
#include "unwind/address_space.h"

namespace gprof {
namespace {

constexpr std::size_t kLongestText = 4096, kLongestTable = 65536, kMostThreads = 10'000;
// Where glibc has the tid of a thread, from its pthread_t on. It has been there since 2.2.
constexpr uint64_t kTidOffset = 720;

// PY_VERSION_HEX of "libpython3.10.so.1.0" and "python3.10", as far as the name says it; 0 for other files.
uint32_t VersionInName(std::string_view path) {
  std::string_view file = path.substr(path.rfind('/') + 1);
  if (file.starts_with("lib")) file.remove_prefix(3);
  constexpr std::string_view kStart = "python3.";
  if (!file.starts_with(kStart)) return 0;
  uint32_t minor = 0;
  std::from_chars(file.data() + kStart.size(), file.data() + file.size(), minor);
  return minor == 0 || minor > 99 ? 0 : 3u << 24 | minor << 16;
}

bool MayBePython(std::string_view path) {
  const std::string_view file = path.substr(path.rfind('/') + 1);
  return file.starts_with("libpython3") || file.starts_with("python3") || file == "python";
}

void PutUtf8(uint32_t c, std::string* out) {
  const auto put = [out](uint32_t byte) { out->push_back(static_cast<char>(byte)); };
  if (c < 0x80) return put(c);
  if (c < 0x800) {
    put(0xC0 | c >> 6);
  } else if (c < 0x10000) {
    put(0xE0 | c >> 12), put(0x80 | (c >> 6 & 0x3F));
  } else {
    put(0xF0 | c >> 18), put(0x80 | (c >> 12 & 0x3F)), put(0x80 | (c >> 6 & 0x3F));
  }
  put(0x80 | (c & 0x3F));
}

template <class T>
T In(const unsigned char* bytes, int offset) {
  T value;
  std::memcpy(&value, bytes + offset, sizeof value);
  return value;
}

// What is read of a frame and of a code object.
constexpr std::size_t kFrameBytes = 112, kMostCodeBytes = 512, kThreadBytes = 512;
constexpr uint64_t kPageBytes = 4096, kMostWindowBytes = 16384;

// A table in the memory of the process may say anything.
bool IsWithin(const trace::PythonLayout& layout) {
  const auto ends_within = [](std::size_t bytes, std::initializer_list<uint16_t> offsets) {
    return std::all_of(offsets.begin(), offsets.end(),
                       [bytes](uint16_t offset) { return offset + sizeof(uint64_t) <= bytes; });
  };
  return ends_within(kFrameBytes, {layout.frame_back, layout.frame_code, layout.frame_place}) &&
         (layout.thread_chunk == trace::kNoOffset ||
          ends_within(kThreadBytes, {layout.thread_frame, layout.thread_chunk})) &&
         (layout.frame_owner == trace::kNoOffset || layout.frame_owner < kFrameBytes) &&
         (layout.code_copies == trace::kNoOffset || ends_within(kFrameBytes, {layout.frame_copy})) &&
         layout.CodeBytes() <= kMostCodeBytes;
}

// A file of /proc that nobody may read; that of a process that has ended is another matter.
bool IsForbidden(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return errno == EACCES || errno == EPERM;
  close(descriptor);
  return false;
}

std::string NameOfVersion(uint32_t hex) {
  if (hex == 0) return "CPython of an unknown version";
  return "CPython " + std::to_string(hex >> 24) + "." + std::to_string(hex >> 16 & 0xFF);
}

// 3.11 marks the frames that a call of the loop began with; the calls of Python by Python within it have none.
constexpr uint16_t kVersionWithMarks = 0x030b;
constexpr std::size_t kMark = 68;

CodeRange LoopOf(const ElfImage& image, uint64_t bias) {
  CodeRange loop;
  image.ForEachFunction([&](const FunctionSymbol& function) {
    if (function.name == "_PyEval_EvalFrameDefault")
      loop = {function.address + bias, function.address + bias + function.size};
  });
  return loop;
}

}  // namespace

bool PythonReader::Read(uint64_t address, void* out, std::size_t bytes) const {
  const iovec here = {out, bytes}, there = {reinterpret_cast<void*>(address), bytes};
  return process_vm_readv(pid_, &here, 1, &there, 1, 0) == static_cast<ssize_t>(bytes);
}

PythonTrial PythonReader::Try(pid_t pid) {
  PythonTrial trial;
  CodeFiles files;
  const std::optional<AddressSpace> space = AddressSpace::Of(pid, &files);
  if (!space) {
    if (IsForbidden("/proc/" + std::to_string(pid) + "/maps")) trial.error = EACCES;
    return trial;
  }
  const std::string program = PathOfProgram(pid);
  for (const CodeMapping& mapping : space->mappings()) {
    if (mapping.file == nullptr) continue;
    const std::string& path = mapping.file->name();
    if (path != program && !MayBePython(path)) continue;
    const ElfImage* const image = mapping.file->Image();
    const auto address_of = [&](std::string_view symbol) -> uint64_t {
      const std::optional<uint64_t> address = image == nullptr ? std::nullopt : image->AddressOf(symbol);
      return address ? *address + mapping.Bias() : 0;
    };
    std::unique_ptr<PythonReader> reader(new PythonReader(pid));
    reader->runtime_ = address_of("_PyRuntime");
    reader->code_type_ = address_of("PyCode_Type");
    if (reader->runtime_ == 0 || reader->code_type_ == 0) continue;
    reader->file_ = {mapping.begin, mapping.end};
    reader->loop_ = LoopOf(*image, mapping.Bias());
    std::array<unsigned char, sizeof(trace::PythonTable)> begin = {};
    if (!reader->Read(reader->runtime_, begin.data(), begin.size())) {
      trial.error = errno;
      return trial;
    }
    const uint64_t version = address_of("Py_Version");
    const uint32_t hex = version != 0 ? reader->At<uint32_t>(version) : VersionInName(path);
    reader->layout_ = trace::LayoutOfPython(hex, begin.data());
    if (reader->layout_.IsKnown() && IsWithin(reader->layout_)) {
      trial.reader = std::move(reader);
    } else {
      trial.unknown = NameOfVersion(hex);
    }
    return trial;
  }
  return trial;
}

pid_t PythonReader::TidOf(uint64_t thread) const {
  if (layout_.thread_native_id != trace::kNoOffset)
    return static_cast<pid_t>(At<uint64_t>(thread + layout_.thread_native_id));
  return At<int32_t>(At<uint64_t>(thread + layout_.thread_id) + kTidOffset);
}

std::map<pid_t, uint64_t> PythonReader::Threads() const {
  std::map<pid_t, uint64_t> threads;
  std::size_t seen = 0;
  auto interpreter = At<uint64_t>(runtime_ + layout_.runtime_interpreters);
  for (; interpreter != 0 && seen < kMostThreads; interpreter = At<uint64_t>(interpreter + layout_.interpreter_next)) {
    auto thread = At<uint64_t>(interpreter + layout_.interpreter_threads);
    for (; thread != 0 && seen < kMostThreads; thread = At<uint64_t>(thread + layout_.thread_next), ++seen) {
      const pid_t tid = TidOf(thread);
      if (tid > 0) threads.emplace(tid, thread);
    }
    ++seen;
  }
  return threads;
}

// Each reading takes some microseconds, however little it reads.
bool PythonReader::ReadThread(uint64_t thread, uint64_t* frame, uint64_t* chunk) const {
  const uint16_t first = layout_.thread_frame, second = layout_.thread_chunk;
  if (second == trace::kNoOffset) return Read(thread + first, frame, sizeof *frame);
  std::array<unsigned char, kThreadBytes> bytes;
  const uint16_t begin = std::min(first, second);
  if (!Read(thread + begin, bytes.data(), std::max(first, second) + sizeof(uint64_t) - begin)) return false;
  *frame = In<uint64_t>(bytes.data(), first - begin);
  *chunk = In<uint64_t>(bytes.data(), second - begin);
  return true;
}

// Frames of newer versions lie one behind the other in chunks, the innermost at the end. Most of a stack is read at
// once, which is quicker than frame by frame, and of one moment.
const unsigned char* PythonReader::FrameAt(uint64_t frame, uint64_t chunk) {
  const uint64_t end = frame + kFrameBytes;
  if (end < frame) return nullptr;  // what was read is no address
  if (frame < window_.begin || end > window_.begin + window_.bytes.size()) {
    uint64_t begin = frame;
    if (layout_.thread_chunk != trace::kNoOffset) {
      const bool is_in_chunk = chunk <= frame && frame - chunk < kMostWindowBytes - kFrameBytes;
      begin = is_in_chunk ? chunk : frame / kPageBytes * kPageBytes;
    }
    window_.begin = begin;
    window_.bytes.resize(end - begin);
    if (!Read(begin, window_.bytes.data(), window_.bytes.size())) {
      window_.bytes.clear();
      return nullptr;
    }
  }
  return window_.bytes.data() + (frame - window_.begin);
}

uint32_t PythonReader::OffsetOf(int64_t place) {
  return place < 0 || place > INT32_MAX ? 0 : static_cast<uint32_t>(place);
}

bool PythonReader::IsShim(const unsigned char* frame) const {
  return layout_.frame_owner != trace::kNoOffset && frame[layout_.frame_owner] >= trace::kPythonShim;
}

// Up to 3.10 every frame has a call of the loop for itself; from 3.12 on shims are between those of different calls.
bool PythonReader::EndsLoop(const unsigned char* frame) const {
  if (layout_.version < kVersionWithMarks) return true;
  return layout_.version == kVersionWithMarks ? frame[kMark] != 0 : IsShim(frame);
}

bool PythonReader::AddFrame(const unsigned char* bytes, std::vector<PythonFrame>* frames) {
  PythonFrame frame;
  frame.code = trace::WithoutPythonFlags(In<uint64_t>(bytes, layout_.frame_code));
  int64_t place = 0;
  if (layout_.code_copies != trace::kNoOffset) {
    copies_.push_back({In<uint64_t>(bytes, layout_.frame_place), In<int32_t>(bytes, layout_.frame_copy)});
  } else if (layout_.place_kind == trace::PythonPlace::kPointer) {
    place = static_cast<int64_t>(In<uint64_t>(bytes, layout_.frame_place) - frame.code - layout_.code_instructions);
  } else {
    place = int64_t{In<int32_t>(bytes, layout_.frame_place)} *
            (layout_.place_kind == trace::PythonPlace::kWordNumber ? 2 : 1);
  }
  frame.offset = OffsetOf(place);
  frames->push_back(frame);
  return frame.code != 0;
}

// A generator that yields has no caller for a moment: read then, it seems to be what its thread began with. Of a thread
// that generators keep busy that is every tenth reading. What is read three times in a row is a new beginning.
bool PythonReader::BeginsAsBefore(uint64_t thread, uint64_t outermost) {
  constexpr uint32_t kMostOthers = 2;
  Beginning& beginning = beginnings_[thread];
  const bool is_taken = beginning.frame == 0 || beginning.frame == outermost ||
                        std::exchange(beginning.others, beginning.others + 1) >= kMostOthers;
  if (is_taken) beginning = {outermost, 0};
  return is_taken;
}

bool PythonReader::StackOf(uint64_t thread, std::vector<PythonFrame>* frames, bool* is_whole) {
  frames->clear();
  copies_.clear();
  window_.bytes.clear();
  uint64_t frame = 0, chunk = 0;
  if (!ReadThread(thread, &frame, &chunk)) return false;
  if (frame != 0 && layout_.frame_in_holder != trace::kNoOffset) frame = At<uint64_t>(frame + layout_.frame_in_holder);
  uint32_t loop = 0;
  std::size_t first_of_loop = 0;
  // Shims are no frames, and a list that changes while it is read may lead around in a circle of them.
  for (std::size_t left = 2 * kMostFrames; frame != 0 && left > 0 && frames->size() < kMostFrames; --left) {
    const unsigned char* const bytes = FrameAt(frame, chunk);
    if (bytes == nullptr) return false;
    if (!IsShim(bytes)) {
      if (!AddFrame(bytes, frames)) return false;
      frames->back().address = frame;
      frames->back().loop = loop;
    }
    if (EndsLoop(bytes)) {
      // They lie on the stack of the call, whose end they are.
      for (; IsShim(bytes) && first_of_loop < frames->size(); ++first_of_loop)
        (*frames)[first_of_loop].loop_address = frame;
      ++loop;
    }
    frame = In<uint64_t>(bytes, layout_.frame_back);
  }
  *is_whole = frame == 0;
  if (*is_whole && !frames->empty() && !BeginsAsBefore(thread, frames->back().address)) return false;
  return TakeCodes(frames);
}

// Of frames that run a copy of their instructions: which place in it that is.
bool PythonReader::TakeOffsets(std::vector<PythonFrame>* frames) {
  std::array<uint64_t, kMostFrames> begins;
  std::array<iovec, kMostFrames> there;
  for (std::size_t i = 0; i < frames->size(); ++i) {
    const auto array = In<uint64_t>(codes_.data() + i * layout_.CodeBytes(), layout_.code_copies);
    const uint64_t entry = array + 8 + 8 * static_cast<uint64_t>(std::max(copies_[i].number, 0));
    there[i] = {reinterpret_cast<void*>(entry), sizeof begins[i]};
  }
  const std::size_t bytes = frames->size() * sizeof begins[0];
  const iovec here = {begins.data(), bytes};
  const ssize_t got = process_vm_readv(pid_, &here, 1, there.data(), frames->size(), 0);
  if (got != static_cast<ssize_t>(bytes)) return false;
  for (std::size_t i = 0; i < frames->size(); ++i) {
    (*frames)[i].offset = OffsetOf(static_cast<int64_t>(copies_[i].place - begins[i]));
  }
  return true;
}

// Where its instructions lie: in the code object, before 3.11 in an object of its own.
void PythonReader::TakeInstructions(const unsigned char* code, PythonFrame* frame) {
  constexpr int kInstructionsObject = 48;
  constexpr uint64_t kMostInstructions = 1u << 24;
  const bool is_apart = layout_.version < kVersionWithMarks;
  uint64_t bytes = 2 * In<uint64_t>(code, layout_.object_size);
  frame->instructions = frame->code + layout_.code_instructions;
  if (is_apart) {
    const auto object = In<uint64_t>(code, kInstructionsObject);
    const auto [known, is_new] = instruction_bytes_.try_emplace(object);
    if (is_new) known->second = At<uint64_t>(object + layout_.object_size);
    bytes = known->second;
    frame->instructions = object + layout_.bytes_data;
  }
  frame->instructions_end = frame->instructions + std::min(bytes, kMostInstructions);
}

// What is no code object any more tells that the stack changed while it was read.
bool PythonReader::TakeCodes(std::vector<PythonFrame>* frames) {
  if (frames->empty()) return true;
  const std::size_t code_bytes = layout_.CodeBytes();
  codes_.resize(frames->size() * code_bytes);
  std::array<iovec, kMostFrames> there;
  for (std::size_t i = 0; i < frames->size(); ++i) there[i] = {reinterpret_cast<void*>((*frames)[i].code), code_bytes};
  const iovec here = {codes_.data(), codes_.size()};
  const ssize_t got = process_vm_readv(pid_, &here, 1, there.data(), frames->size(), 0);
  if (got != static_cast<ssize_t>(codes_.size())) return false;
  if (layout_.code_copies != trace::kNoOffset && !TakeOffsets(frames)) return false;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < frames->size(); ++i) {
    const unsigned char* const code = codes_.data() + i * code_bytes;
    if (In<uint64_t>(code, layout_.object_type) != code_type_) return false;
    const auto first_line = In<int32_t>(code, layout_.code_first_line);
    if (first_line <= 0) continue;  // the interpreter's own
    PythonFrame& frame = (*frames)[kept++] = (*frames)[i];
    if (layout_.code_copies == trace::kNoOffset) TakeInstructions(code, &frame);
    frame.key = In<uint64_t>(code, layout_.code_file) ^ In<uint64_t>(code, layout_.code_line_table) << 7 ^
                uint64_t { static_cast<uint32_t>(first_line) } << 48;
  }
  frames->resize(kept);
  return true;
}

std::string PythonReader::TextAt(uint64_t object) const {
  const auto length = At<int64_t>(object + layout_.object_size);
  const uint32_t state = At<uint32_t>(object + layout_.text_state) >> layout_.text_state_at;
  const uint32_t width = state & 7;
  const bool is_compact = (state >> 3 & 1) != 0, is_ascii = (state >> 4 & 1) != 0;
  if (!is_compact || length <= 0 || (width != 1 && width != 2 && width != 4)) return "";
  const std::size_t count = std::min(static_cast<std::size_t>(length), kLongestText);
  std::vector<unsigned char> units(count * width);
  if (!Read(object + (is_ascii ? layout_.text_ascii : layout_.text_other), units.data(), units.size())) return "";
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    uint32_t c = 0;
    std::memcpy(&c, units.data() + i * width, width);
    PutUtf8(c, &text);
  }
  return text;
}

std::string PythonReader::BytesAt(uint64_t object) const {
  const auto size = At<int64_t>(object + layout_.object_size);
  if (size <= 0 || static_cast<std::size_t>(size) > kLongestTable) return "";
  std::string bytes(static_cast<std::size_t>(size), '\0');
  return Read(object + layout_.bytes_data, bytes.data(), bytes.size()) ? bytes : "";
}

bool PythonReader::CodeOf(uint64_t code, PythonCode* out) const {
  unsigned char bytes[kMostCodeBytes];
  if (!Read(code, bytes, layout_.CodeBytes()) || In<uint64_t>(bytes, layout_.object_type) != code_type_) return false;
  out->file = TextAt(In<uint64_t>(bytes, layout_.code_file));
  out->name = TextAt(In<uint64_t>(bytes, layout_.code_name));
  out->line_table = BytesAt(In<uint64_t>(bytes, layout_.code_line_table));
  out->first_line = In<uint32_t>(bytes, layout_.code_first_line);
  return !out->name.empty();
}

}  // namespace gprof

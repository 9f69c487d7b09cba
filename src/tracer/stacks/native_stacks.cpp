// As with Python's stacks (python/python_stacks.cpp), a stack is its innermost frame and the stack that called it, and
// what a thread has told once is a number from then on:
//
//   Walk       from the caller of the wrapper out: addresses, and why it ended
//   Join       leaves out what is Python's interpreter, in whose place the stack of its frames is
//   NumberOf   from the outermost frame in: what is not in `nodes` is told, with its module where that is new
//
// A table of the thread remembers how each address leaves its caller's frame, so that most steps cost a look there.
#include "tracer/stacks/native_stacks.h"

#include <link.h>
#include <unistd.h>

#include <atomic>
#include <cstring>

#include "tracer/capture/delayed_stacks.h"
#include "tracer/core/config.h"
#include "tracer/core/notice.h"
#include "tracer/imports/import_slots.h"
#include "tracer/stacks/frame_tables.h"
#include "tracer/stacks/shared_frames.h"
#include "tracer/stacks/stack_window.h"
#include "tracer/store/caller_stack.h"
#include "tracer/store/clock.h"
#include "tracer/store/interned_names.h"

namespace gprof::tracer {
namespace {

constexpr uint32_t kMostFrames = 256;
// A program may have thousands of threads that wait, each with few stacks.
constexpr uint32_t kFewNodeBits = 10, kManyNodeBits = 14, kNodeTries = 8;
constexpr uint32_t kRowBits = 9, kRows = 1u << kRowBits;
constexpr uint32_t kModules = 128;
constexpr uint32_t kCutParent = ~0u;  // of the outermost frame of a cut stack

struct NativeModuleRow {
  RowHeader header;
  uint32_t number;
  uint64_t stamp, address, bytes;
  trace::StringId path, build_id;
};

struct NativeFrameRow {
  RowHeader header;
  uint32_t number;  // of its stack record
  uint32_t parent, module;
  uint64_t offset;
  uint32_t is_cut, frame;  // frame: told before, or with the number of the stack
};

// A stack that was told: found by its innermost frame and its caller. All zero: free.
struct Node {
  uintptr_t address;
  uint32_t parent, stack;
};

struct KnownRow {
  uintptr_t address;
  FrameRow row;
};

// What a thread knows. In private memory: its rows are all that salvage needs.
struct ThreadStacks {
  bool is_busy;  // a handler of a signal that makes long calls gets no stack
  uint32_t generation;
  uint32_t node_bits, node_count;
  Node* nodes;  // null: none yet
  uintptr_t addresses[kMostFrames];
  KnownRow rows[kRows];
  KnownModule modules[kModules];
};

struct Addresses {
  uintptr_t begin, end;
  bool Has(uintptr_t address) const { return address - begin < end - begin; }
};
// Of the tracer, and of Python's function that runs its frames and of the module that it is in. All zero: none.
Addresses own_code, python_runs, python_code;
// One more each time that a module was unloaded: its addresses may be those of another one now.
constinit std::atomic<uint32_t> generation{1};
constinit std::atomic<bool> has_python{false};

uint64_t Mix(uint64_t a) { return a * 0x9E3779B97F4A7C15u; }
constexpr std::size_t NodeBytes(uint32_t bits) { return sizeof(Node) << bits; }

ThreadStacks* StacksOf(ThreadLog* log) {
  if (log->native_stacks == nullptr) log->native_stacks = MapMemory(sizeof(ThreadStacks));
  return static_cast<ThreadStacks*>(log->native_stacks);
}

void ForgetUnloaded(ThreadStacks* stacks) {
  const uint32_t now = generation.load(std::memory_order_acquire);
  if (stacks->generation == now) return;
  if (stacks->generation != 0) {
    if (stacks->nodes != nullptr) std::memset(static_cast<void*>(stacks->nodes), 0, NodeBytes(stacks->node_bits));
    stacks->node_count = 0;
    std::memset(static_cast<void*>(stacks->rows), 0, sizeof stacks->rows);
    std::memset(static_cast<void*>(stacks->modules), 0, sizeof stacks->modules);
  }
  stacks->generation = now;
}

const FrameRow& RowAt(ThreadStacks* stacks, uintptr_t address) {
  KnownRow& known = stacks->rows[Mix(address) >> (64 - kRowBits)];
  if (known.address == address) return known.row;
  LoadedObject object;
  known.address = address;
  known.row = FindObject(address, &object) ? FindFrameRow(object, address) : FrameRow{};
  return known.row;
}

enum class Step : uint8_t { kCaller, kOutermost, kCut };

bool CfaOf(const FrameRow& row, const CallerFrame& now, StackWindow* stack, uintptr_t* cfa) {
  const auto offset = static_cast<uintptr_t>(intptr_t{row.cfa_offset});
  switch (row.cfa) {
    case FrameRow::Cfa::kStackPointer:
      *cfa = now.stack_pointer + offset;
      return true;
    case FrameRow::Cfa::kFramePointer:
      *cfa = now.frame_pointer + offset;
      return true;
    case FrameRow::Cfa::kAtFramePointer:
      return stack->Word(now.frame_pointer + offset, cfa);
    default:
      return false;
  }
}

Step Follow(const FrameRow& row, StackWindow* stack, CallerFrame* now) {
  if (row.cfa == FrameRow::Cfa::kOutermost) return Step::kOutermost;
  uintptr_t cfa = 0;
  CallerFrame caller{0, 0, now->frame_pointer};
  if (!CfaOf(row, *now, stack, &cfa) || cfa <= now->stack_pointer) return Step::kCut;
  if (!stack->Word(cfa - sizeof(uintptr_t), &caller.pc)) return Step::kCut;
  caller.stack_pointer = cfa;
  const auto offset = static_cast<uintptr_t>(intptr_t{row.frame_pointer_offset});
  if (row.frame_pointer == FrameRow::Saved::kLost) caller.frame_pointer = 0;
  if (row.frame_pointer == FrameRow::Saved::kAtCfa && !stack->Word(cfa + offset, &caller.frame_pointer))
    return Step::kCut;
  if (row.frame_pointer == FrameRow::Saved::kAtFramePointer &&
      !stack->Word(now->frame_pointer + offset, &caller.frame_pointer))
    return Step::kCut;
  if (caller.pc == 0) return Step::kOutermost;
  *now = caller;
  return Step::kCaller;
}

// Where a walk ends before the outermost frame.
struct WalkEnd {
  uint32_t frames;
  bool at_python;
};

// The addresses of calls, the innermost first; those of the tracer are left out.
Step Walk(ThreadStacks* stacks, CallerFrame now, StackWindow* stack, const WalkEnd& ends, uint32_t* count) {
  uint32_t n = 0;
  Step step = Step::kCaller;
  for (uint32_t steps = 0; step == Step::kCaller && steps < kMostFrames; ++steps) {
    const uintptr_t address = now.pc - 1;  // of the call, not of what comes behind it
    if (!own_code.Has(address)) {
      if (n == ends.frames) break;
      stacks->addresses[n++] = address;
    }
    step = ends.at_python && python_runs.Has(address) ? Step::kOutermost : Follow(RowAt(stacks, address), stack, &now);
  }
  *count = n;
  return step == Step::kCaller ? Step::kCut : step;
}

// Leaves out what is the interpreter's: functions that Python called may wait in it, as those of its module _queue do.
uint32_t OutsideOfPython(uintptr_t* addresses, uint32_t count) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < count; ++i) {
    if (!python_code.Has(addresses[i])) addresses[kept++] = addresses[i];
  }
  return kept;
}

int FindBuildId(const link_map& map, uintptr_t begin, char (&digits)[65]) {
  const auto* const header = reinterpret_cast<const ElfW(Ehdr)*>(begin);
  if (std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_phoff > 1024) return 0;
  const auto* const parts = reinterpret_cast<const ElfW(Phdr)*>(begin + header->e_phoff);
  for (uint32_t i = 0; i < header->e_phnum && i < 32; ++i) {
    if (parts[i].p_type != PT_NOTE) continue;
    for (uintptr_t at = 0; at + sizeof(ElfW(Nhdr)) <= parts[i].p_memsz;) {
      const auto* const note = reinterpret_cast<const ElfW(Nhdr)*>(map.l_addr + parts[i].p_vaddr + at);
      const auto* const id = reinterpret_cast<const unsigned char*>(note + 1) + (note->n_namesz + 3) / 4 * 4;
      at += sizeof *note + (note->n_namesz + 3) / 4 * 4 + (note->n_descsz + 3) / 4 * 4;
      if (note->n_type != NT_GNU_BUILD_ID || note->n_descsz > 32 || at > parts[i].p_memsz) continue;
      for (uint32_t k = 0; k < note->n_descsz; ++k) {
        digits[2 * k] = "0123456789abcdef"[id[k] >> 4];
        digits[2 * k + 1] = "0123456789abcdef"[id[k] & 15];
      }
      return static_cast<int>(2 * note->n_descsz);
    }
  }
  return 0;
}

trace::StringId PathOf(const link_map& map) {
  if (map.l_name != nullptr && map.l_name[0] != 0) return Names().Intern(map.l_name);
  char path[1024];
  const ssize_t size = readlink("/proc/self/exe", path, sizeof path);
  return size > 0 ? Names().Intern(path, static_cast<std::size_t>(size)) : trace::StringId{};
}

// What calls us and what it calls: the innermost frames of a CUDA call, which say nothing of the program.
bool IsDriver(const link_map& map) {
  const char* const slash = map.l_name == nullptr ? nullptr : std::strrchr(map.l_name, '/');
  const char* const file = slash == nullptr ? "" : slash + 1;
  for (const char* start : {"libcuda.so", "libcudart.so", "libcupti.so"}) {
    if (std::strncmp(file, start, std::strlen(start)) == 0) return true;
  }
  return false;
}

// A module that no thread has told of. False: there is none at the address, or no room.
bool TellModule(uintptr_t address, ThreadLog* log, KnownModule* module) {
  LoadedObject object;
  if (!FindObject(address, &object)) return false;
  NativeModuleRow row{RowHeaderOf<NativeModuleRow>(RowType::kNativeModule),
                      NewStackNumber(),
                      Stamp(),
                      object.map->l_addr,
                      object.end - object.begin,
                      PathOf(*object.map),
                      {}};
  char digits[65];
  const int size = FindBuildId(*object.map, object.begin, digits);
  row.build_id = Names().Intern(digits, static_cast<std::size_t>(size));
  if (!Append(log, row)) return false;
  *module = {object.begin, object.end, object.map->l_addr, row.number, IsDriver(*object.map), row.path};
  return true;
}

// Null: it is in none, or there is no room.
const KnownModule* ModuleOf(ThreadStacks* stacks, uintptr_t address, ThreadLog* log) {
  KnownModule* at = stacks->modules;
  for (; at != stacks->modules + kModules && at->number != 0; ++at) {
    if (address >= at->begin && address < at->end) return at;
  }
  if (at == stacks->modules + kModules) return nullptr;
  if (FindSharedModule(address, stacks->generation, at)) return at;
  if (!TellModule(address, log, at)) return nullptr;
  ShareModule(*at, stacks->generation);
  return at;
}

// The node of this stack, or the place for it: a free one, or that of another, which is told again when it comes again.
Node* PlaceOf(const ThreadStacks& stacks, uintptr_t address, uint32_t parent) {
  const uint64_t hash = Mix(address ^ uint64_t{parent} << 40) >> (64 - stacks.node_bits);
  for (uint64_t at = hash; at < hash + kNodeTries; ++at) {
    Node* const node = &stacks.nodes[at & ((1u << stacks.node_bits) - 1)];
    if (node->stack == 0 || (node->address == address && node->parent == parent)) return node;
  }
  return &stacks.nodes[hash];
}

// False: there is no memory.
bool HasRoom(ThreadStacks* stacks) {
  const bool is_full = stacks->node_count >= (1u << kFewNodeBits) / 2;
  if (stacks->nodes != nullptr && (!is_full || stacks->node_bits == kManyNodeBits)) return true;
  Node* const old = stacks->nodes;
  const uint32_t old_bits = stacks->node_bits, bits = old == nullptr ? kFewNodeBits : kManyNodeBits;
  auto* const nodes = static_cast<Node*>(MapMemory(NodeBytes(bits)));
  if (nodes == nullptr) return old != nullptr;
  stacks->nodes = nodes;
  stacks->node_bits = bits;
  if (old == nullptr) return true;
  for (uint32_t i = 0; i < 1u << old_bits; ++i) {
    if (old[i].stack != 0) *PlaceOf(*stacks, old[i].address, old[i].parent) = old[i];
  }
  UnmapMemory(old, NodeBytes(old_bits));
  return true;
}

uint64_t HashOfFrame(const KnownModule* module, uint64_t offset) {
  const trace::Text path = module == nullptr ? trace::Text{} : Names().TextOf(module->path);
  return trace::delay_request::HashOfFrame(path.data, path.size, offset);
}

// The stack that ends with this address, of which the trace is told where it is new. 0: there is no room.
uint32_t NumberOf(ThreadStacks* stacks, uint32_t parent, uintptr_t address, ThreadLog* log) {
  if (!HasRoom(stacks)) return 0;
  Node* const place = PlaceOf(*stacks, address, parent);
  if (place->stack != 0 && place->address == address && place->parent == parent) return place->stack;
  const KnownModule* const module = ModuleOf(stacks, address, log);
  const bool is_cut = parent == kCutParent;
  const uint32_t in = module == nullptr ? 0 : module->number, number = NewStackNumber();
  const uint64_t offset = module == nullptr ? address : address - module->base;
  const uint32_t told = SharedFrame(in, offset);
  const NativeFrameRow row{RowHeaderOf<NativeFrameRow>(RowType::kNativeFrame),
                           number,
                           is_cut ? 0 : parent,
                           in,
                           offset,
                           is_cut ? 1u : 0u,
                           told == 0 ? number : told};
  if (!Append(log, row)) return 0;
  if (told == 0) ShareFrame(in, offset, number);
  if (has_delayed_lines) NoteStackForDelays(number, is_cut ? 0 : parent, HashOfFrame(module, offset));
  *place = {address, parent, row.number};
  ++stacks->node_count;
  return row.number;
}

bool IsInDriver(ThreadStacks* stacks, uintptr_t address, ThreadLog* log) {
  const KnownModule* const module = ModuleOf(stacks, address, log);
  return module != nullptr && module->is_driver;
}

uint32_t StackAt(ThreadStacks* stacks, const CallerFrame& frame, const StackLimits& limits, uint32_t python,
                 ThreadLog* log) {
  ForgetUnloaded(stacks);
  StackWindow stack(frame.stack_pointer, limits.bytes);
  uint32_t count = 0;
  const WalkEnd ends = {limits.frames < kMostFrames ? limits.frames : kMostFrames,
                        python != 0 && has_python.load(std::memory_order_acquire)};
  const Step end = Walk(stacks, frame, &stack, ends, &count);
  if (python == kPythonBehindWalk) python = end == Step::kCut ? 0 : CallerStack(log);
  uint32_t parent = end == Step::kCut ? kCutParent : 0;
  const bool ends_in_python = ends.at_python && count > 0 && python_runs.Has(stacks->addresses[count - 1]);
  if (ends_in_python || (python != 0 && end == Step::kCut)) {
    count = OutsideOfPython(stacks->addresses, count);
    parent = python;
  }
  uint32_t innermost = 0;
  while (innermost < count && IsInDriver(stacks, stacks->addresses[innermost], log)) ++innermost;
  for (; count > innermost; --count) {
    parent = NumberOf(stacks, parent, stacks->addresses[count - 1], log);
    if (parent == 0) return 0;
  }
  return parent == kCutParent ? 0 : parent;
}

uint32_t ReadNativeStack(ThreadLog* log, const CallerFrame& frame, const StackLimits& limits, uint32_t python) {
  ErrnoGuard errno_guard;
  ThreadStacks* const stacks = StacksOf(log);
  if (stacks == nullptr || stacks->is_busy) return PythonWithoutWalk(python);
  stacks->is_busy = true;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  const uint32_t stack = StackAt(stacks, frame, limits, python, log);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  stacks->is_busy = false;
  return stack;
}

void ForgetModules() { generation.fetch_add(1, std::memory_order_release); }

// From CPython 3.14 on some compilers make a function of each instruction (tail calls): the loop is small then and not
// on the stack, and what runs frames is somewhere in the interpreter.
int SeeInterpreter(dl_phdr_info* info, std::size_t, void*) {
  constexpr std::size_t kSmallestLoop = 8192;
  const LoadedModule module(*info);
  const ElfW(Sym)* const runs = module.FindExport("_PyEval_EvalFrameDefault");
  if (runs == nullptr) return 0;
  const uintptr_t begin = module.base() + runs->st_value;
  python_code = {module.Addresses().begin, module.Addresses().end};
  python_runs = runs->st_size < kSmallestLoop ? python_code : Addresses{begin, begin + runs->st_size};
  has_python.store(true, std::memory_order_release);
  return 1;
}

// Python may be loaded late.
void LookForInterpreter() {
  if (!has_python.load(std::memory_order_relaxed)) ForEachModule(SeeInterpreter, nullptr);
}

}  // namespace

void StartNativeStacks() {
  if (!Config().WantsNativeStacks()) return;
  if (!CanFindObjects()) {
    Message message;
    message << "call stacks of long calls are not recorded: they need glibc 2.35 or newer on x86-64";
    return Say(trace::NoticeLevel::kInfo, message);
  }
  LoadedObject own;
  if (FindObject(reinterpret_cast<uintptr_t>(&StartNativeStacks), &own)) own_code = {own.begin, own.end};
  WatchModules({.forget = ForgetModules});
  LookForInterpreter();
  native_stack_reader.store(ReadNativeStack, std::memory_order_release);
}

void DrainNativeStacks(DrainRound* round) {
  if (round->depth == Depth::kAll && native_stack_reader.load(std::memory_order_relaxed) != nullptr)
    LookForInterpreter();
}

void ConvertNativeRow(const RowHeader* header, const RowSource& source) {
  if (header->type == RowType::kNativeModule) {
    const auto& row = *reinterpret_cast<const NativeModuleRow*>(header);
    trace::ModuleRecord r;
    r.time_ns = source.clock.ToNs(row.stamp);
    r.id = row.number;
    r.module_kind = static_cast<uint8_t>(trace::ModuleKind::kFile);
    r.path = row.path;
    r.build_id = row.build_id;
    r.address = row.address;
    r.size_bytes = row.bytes;
    source.output->Add(r, source.cursor);
    return;
  }
  const auto& row = *reinterpret_cast<const NativeFrameRow*>(header);
  if (row.frame == row.number) source.output->Add(trace::FrameRecord{row.number, row.module, row.offset});
  source.output->Add(trace::StackRecord{row.number, row.parent, row.frame, static_cast<uint8_t>(row.is_cut), 0},
                     source.cursor);
}

}  // namespace gprof::tracer

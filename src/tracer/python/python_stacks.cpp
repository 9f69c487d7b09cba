// Stacks as numbers. A stack is its innermost frame and the stack that called it, so what stacks have in common is told
// once: a call whose stack was there before costs the trace a number. For each CUDA call:
//
//   ReadFrames   copies what tells frames apart, from the innermost out
//   NumberOf     takes the numbers of the outer frames from the call before, where they are the same; the rest is
//                looked up in `nodes`, from the outermost in
//   AddStack     a stack that is not there is numbered, and the trace is told of it, and of its function where that is
//                new
#include "tracer/python/python_stacks.h"

#include <atomic>
#include <cstring>

#include "gprof/trace/hash.h"
#include "tracer/core/config.h"
#include "tracer/core/notice.h"
#include "tracer/store/caller_stack.h"
#include "tracer/store/clock.h"
#include "tracer/system/system_calls.h"

namespace gprof::tracer {
namespace {

constexpr uint32_t kMaxLevels = 256;  // deeper stacks are cut
constexpr uint32_t kCutParent = ~0u;  // of the outermost level of a cut stack
constexpr uint32_t kHiddenFunction = ~0u;
constexpr uint32_t kFirstNodes = 1024, kMostNodes = 1u << 17;

// A frame. `key` tells code objects apart that had the same address one after the other.
struct Level {
  uint64_t code, place, key;
  uint32_t stack;  // that ends with it
  uint32_t unused;
  bool IsLike(const Level& other) const { return code == other.code && place == other.place && key == other.key; }
};

// A stack that has its number: found by its innermost frame and its caller.
struct Node {
  uint64_t code, place, key;
  uint32_t parent;
  uint32_t stack;  // 0: none yet
};

struct Function {
  uint64_t code, key;
  uint32_t number;  // 0: none yet
  uint32_t unused;
};

// An open hash table, zeroed at first. What it has forgotten is numbered anew.
template <class Entry>
struct Table {
  Entry* entries = nullptr;
  uint32_t mask = 0, count = 0;
};

// What a thread knows of its stacks. In private memory: its rows are all that salvage needs.
struct ThreadStacks {
  bool is_busy;      // a signal handler that calls CUDA gets no stack
  uint32_t current;  // which of `levels` is of the call before
  uint32_t count;    // its levels, 0 where it cannot be compared with
  Level levels[2][kMaxLevels];
  Table<Node> nodes;
  Table<Function> functions;
};

enum class State : uint32_t { kNotFound, kUnchecked, kGood, kRefused };
constinit std::atomic<State> state{State::kNotFound};
Interpreter python;

uint64_t HashOf(const Node& n) {
  return trace::MixBits(n.code ^ n.key ^ uint64_t{n.parent} << 40, trace::kHashFactor ^ n.place);
}
uint64_t HashOf(const Function& f) { return trace::MixBits(f.code, trace::kHashFactor ^ f.key); }
bool IsSame(const Node& a, const Node& b) {
  return a.code == b.code && a.place == b.place && a.key == b.key && a.parent == b.parent;
}
bool IsSame(const Function& a, const Function& b) { return a.code == b.code && a.key == b.key; }
bool IsFree(const Node& n) { return n.stack == 0; }
bool IsFree(const Function& f) { return f.number == 0; }

// The place of an entry like this one, or the free one where it belongs. A table that is full begins anew.
template <class Entry>
Entry* PlaceOf(Table<Entry>* table, const Entry& wanted) {
  if (table->entries == nullptr) return nullptr;
  for (uint64_t at = HashOf(wanted);; ++at) {
    Entry* const entry = table->entries + (at & table->mask);
    if (IsFree(*entry) || IsSame(*entry, wanted)) return entry;
  }
}

template <class Entry>
bool Grow(Table<Entry>* table) {
  const uint32_t slots = table->entries == nullptr ? kFirstNodes : (table->mask + 1) * 4;
  if (slots > kMostNodes) {
    std::memset(static_cast<void*>(table->entries), 0, (table->mask + 1) * sizeof(Entry));
    table->count = 0;
    return true;
  }
  auto* const entries = static_cast<Entry*>(MapMemory(slots * sizeof(Entry)));
  if (entries == nullptr) return false;
  const Table<Entry> old = *table;
  table->entries = entries;
  table->mask = slots - 1;
  for (uint32_t i = 0; old.entries != nullptr && i <= old.mask; ++i) {
    if (!IsFree(old.entries[i])) *PlaceOf(table, old.entries[i]) = old.entries[i];
  }
  UnmapMemory(old.entries, (old.mask + 1) * sizeof(Entry));
  return true;
}

template <class Entry>
Entry* PlaceForNew(Table<Entry>* table, const Entry& wanted) {
  const bool is_full = table->entries == nullptr || table->count * 2 > table->mask;
  if (is_full && !Grow(table)) return nullptr;
  ++table->count;
  return PlaceOf(table, wanted);
}

ThreadStacks* StacksOf(ThreadLog* log) {
  if (__builtin_expect(log->python_stacks == nullptr, 0)) {
    ErrnoGuard errno_guard;
    log->python_stacks = MapMemory(sizeof(ThreadStacks));
  }
  return static_cast<ThreadStacks*>(log->python_stacks);
}

// 0: it cannot be named.
uint32_t NumberOfFunction(ThreadStacks* stacks, const Level& level, ThreadLog* log) {
  Function wanted{level.code, level.key, 0, 0};
  const Function* known = PlaceOf(&stacks->functions, wanted);
  if (known != nullptr && known->number != 0) return known->number;
  const auto* code = reinterpret_cast<const char*>(level.code);
  wanted.number = IsHidden(python, code) ? kHiddenFunction : NewStackNumber();
  if (wanted.number != kHiddenFunction && !AppendFunction(python, code, wanted.number, log)) return 0;
  Function* const place = PlaceForNew(&stacks->functions, wanted);
  if (place != nullptr) *place = wanted;
  return wanted.number;
}

// Of the instruction that the frame is at, in bytes from the first.
uint32_t OffsetOf(const Level& level) {
  const trace::PythonLayout& l = python.layout;
  int64_t place = static_cast<int64_t>(level.place);
  if (l.place_kind == trace::PythonPlace::kWordNumber) place *= 2;
  return place < 0 ? 0 : static_cast<uint32_t>(place);  // a frame that has not begun
}

// The stack that ends with this level, of which the trace is told. 0: there is no room.
[[gnu::noinline]] uint32_t AddStack(ThreadStacks* stacks, Node wanted, const Level& level, ThreadLog* log) {
  ErrnoGuard errno_guard;
  const uint32_t function = NumberOfFunction(stacks, level, log);
  if (function == 0) return 0;
  const bool is_outermost = wanted.parent == 0 || wanted.parent == kCutParent;
  if (function == kHiddenFunction) {
    if (is_outermost) return 0;
    wanted.stack = wanted.parent;
  } else {
    wanted.stack = NewStackNumber();
    const PythonStackRow row{RowHeaderOf<PythonStackRow>(RowType::kPythonStack),
                             wanted.stack,
                             is_outermost ? 0 : wanted.parent,
                             function,
                             OffsetOf(level),
                             wanted.parent == kCutParent ? 1u : 0u};
    if (!Append(log, row)) return 0;
  }
  Node* const place = PlaceForNew(&stacks->nodes, wanted);
  if (place != nullptr) *place = wanted;
  return wanted.stack;
}

// The frames of a thread, the innermost first. False: there are more.
bool ReadFrames(const char* frame, Level* levels, uint32_t* count) {
  const trace::PythonLayout l = python.layout;
  const bool is_pointer = l.place_kind == trace::PythonPlace::kPointer;
  uint32_t n = 0;
  for (; frame != nullptr; frame = ReadAt<const char*>(frame, l.frame_back)) {
    if (IsShim(l, frame)) continue;
    if (n == kMaxLevels) break;
    const char* const code = CodeOf(l, frame);
    if (code == nullptr) continue;
    Level& level = levels[n++];
    level.code = reinterpret_cast<uint64_t>(code);
    level.place =
        is_pointer ? static_cast<uint64_t>(ReadAt<const char*>(frame, l.frame_place) - InstructionsOf(l, frame, code))
                   : static_cast<uint64_t>(int64_t{ReadAt<int32_t>(frame, l.frame_place)});
    level.key = ReadAt<uint64_t>(code, l.code_file) ^ ReadAt<uint64_t>(code, l.code_line_table) << 7 ^
                uint64_t { ReadAt<uint32_t>(code, l.code_first_line) } << 48;
  }
  *count = n;
  return frame == nullptr;
}

// Most of a stack is that of the call before: what begins alike has its numbers, the rest is looked up.
uint32_t NumberOf(ThreadStacks* stacks, const Level* last, uint32_t last_count, Level* now, uint32_t count,
                  bool is_whole, ThreadLog* log) {
  uint32_t parent = is_whole ? 0 : kCutParent;
  uint32_t left = count;
  for (uint32_t old = last_count; is_whole && left > 0 && old > 0 && now[left - 1].IsLike(last[old - 1]);
       --left, --old) {
    now[left - 1].stack = parent = last[old - 1].stack;
  }
  for (; left > 0; --left) {
    Level& level = now[left - 1];
    const Node wanted{level.code, level.place, level.key, parent, 0};
    const Node* const known = PlaceOf(&stacks->nodes, wanted);
    const bool is_known = known != nullptr && known->stack != 0;
    level.stack = parent = is_known ? known->stack : AddStack(stacks, wanted, level, log);
    if (parent == 0) break;
  }
  stacks->count = parent == 0 || !is_whole ? 0 : count;
  return parent;
}

// The first stack of the process is gone through with care; from then on its structures are known.
[[gnu::noinline]] bool PassesCheck(const char* thread) {
  if (state.load(std::memory_order_acquire) == State::kRefused) return false;
  const int result = CheckFrames(python, thread);
  if (result < 0) return false;
  state.store(result > 0 ? State::kGood : State::kRefused, std::memory_order_release);
  if (result > 0) return true;
  stack_reader.store(nullptr, std::memory_order_relaxed);
  Message message;
  message << "Python stacks are not recorded: the memory layout of this build of Python is not that of its version";
  Say(trace::NoticeLevel::kInfo, message);
  return false;
}

uint32_t ReadPythonStack(ThreadLog* log) {
  const char* const thread = python.this_thread();
  if (thread == nullptr || python.is_finalizing() != 0) return 0;
  if (__builtin_expect(state.load(std::memory_order_relaxed) != State::kGood, 0) && !PassesCheck(thread)) return 0;
  const char* const frame = InnermostFrame(python.layout, thread);
  if (frame == nullptr) return 0;
  ThreadStacks* const stacks = StacksOf(log);
  if (stacks == nullptr || stacks->is_busy) return 0;
  stacks->is_busy = true;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  Level* const now = stacks->levels[stacks->current ^ 1];
  const Level* const last = stacks->levels[stacks->current];
  uint32_t count = 0;
  const bool is_whole = ReadFrames(frame, now, &count);
  const uint32_t stack = NumberOf(stacks, last, stacks->count, now, count, is_whole, log);
  stacks->current ^= 1;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  stacks->is_busy = false;
  return stack;
}

void Look() {
  char version[32];
  const Found found = FindInterpreter(&python, version);
  if (found == Found::kNothing) return;
  state.store(found == Found::kGood ? State::kUnchecked : State::kRefused, std::memory_order_release);
  if (found == Found::kGood) return stack_reader.store(ReadPythonStack, std::memory_order_release);
  Message message;
  message << "Python stacks are not recorded: CPython " << version << " is not supported (only 3.8 to "
          << "3.14)";
  Say(trace::NoticeLevel::kInfo, message);
}

bool IsSought() { return Config().wants_python_stacks && state.load(std::memory_order_acquire) == State::kNotFound; }

}  // namespace

void StartPythonStacks() {
  if (IsSought()) Look();
}

void LookForPython(DrainRound* round) {
  if (round->depth == Depth::kAll && IsSought()) Look();
}

}  // namespace gprof::tracer

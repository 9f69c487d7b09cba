#include "collect/host/merged_stack.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <utility>

namespace gprof {
namespace {

// The part of the stack that a function has is taken to be this long where its end is not known.
constexpr uint64_t kLongestPart = 4096;

// Registers that a function finds again as they were when it calls another one. What the unwinder has of others is of
// the callee.
constexpr bool IsKept(uint32_t number) {
#ifdef __aarch64__
  return number >= 19 && number <= 29;
#else
  return number == 3 || number == kFramePointer || (number >= 12 && number <= 15);
#endif
}

// The loop has the address behind the instruction that it is at, whose line that of the next one need not be.
uint32_t OffsetOf(uint64_t place, const PythonFrame& frame) {
  constexpr uint64_t kUnit = 2;
  const uint64_t offset = place - frame.instructions;
  return static_cast<uint32_t>(offset < kUnit ? 0 : offset - kUnit);
}

class Merger {
 public:
  Merger(const NativeStack& native, const PythonMoment& python, KnownCode* codes)
      : native_(native), python_(python.frames), moment_(python), codes_(*codes) {
    merged_.end = native.end;
  }

  MergedStack Take() {
    for (std::size_t i = 0; i < native_.frames.size(); ++i) {
      const std::size_t first = FirstRunBy(i);
      if (first < python_.size()) next_ = EndOfRun(first);
      if (first < python_.size() && AddRun(i, first)) {
        behind_runs_ = merged_.frames.size();
      } else if (!AddKnownCode(i) && !(has_python_ && moment_.interpreter.Has(native_.frames[i].address))) {
        merged_.frames.push_back({false, i, {}, false});
      }
    }
    AddRest();
    return std::move(merged_);
  }

 private:
  // The frames that one call of the loop runs.
  std::size_t EndOfRun(std::size_t first) const {
    std::size_t end = first;
    while (end < python_.size() && python_[end].loop == python_[first].loop) ++end;
    return end;
  }

  CodeRange PartOfStack(std::size_t i) const {
    const Registers& registers = native_.frames[i].registers;
    if (!registers.Knows(kStackPointer)) return {};
    const uint64_t begin = registers.values[kStackPointer];
    const bool has_next = i + 1 < native_.frames.size() && native_.frames[i + 1].registers.Knows(kStackPointer);
    return {begin, has_next ? native_.frames[i + 1].registers.values[kStackPointer] : begin + kLongestPart};
  }

  // Values that the function has in registers and on the stack, each with a number of where: visit(where, value)
  // answers whether to go on.
  template <class F>
  void ForEachValue(std::size_t i, F&& visit) const {
    const Registers& registers = native_.frames[i].registers;
    for (uint32_t number = 0; number < kRegisters; ++number) {
      const bool is_own = i == 0 || IsKept(number);
      if (is_own && registers.Knows(number) && !visit(number, registers.values[number])) return;
    }
    const CodeRange part = PartOfStack(i);
    uint32_t where = kRegisters;
    for (uint64_t at = part.begin; at < part.end; at += sizeof(uint64_t), ++where) {
      const std::optional<uint64_t> word = native_.copy.Word(at);
      if (!word || !visit(where, *word)) return;
    }
  }
  bool Holds(std::size_t i, uint64_t value) const {
    bool is_held = false;
    ForEachValue(i, [&](uint32_t, uint64_t held) { return !(is_held = held == value); });
    return is_held;
  }

  // The instruction that the loop has come to, where that is one that is wanted. Instructions that it had before may be
  // on the stack as well.
  template <class F>
  std::optional<uint64_t> InstructionIn(std::size_t i, F&& is_wanted) const {
    const std::optional<uint32_t> where = codes_.WhereAt(native_.frames[i].address);
    std::optional<uint64_t> found;
    ForEachValue(i, [&](uint32_t at, uint64_t value) {
      if (where && at != *where) return true;
      if (is_wanted(value)) found = value;
      return !found && !where;
    });
    return found;
  }

  // Where it holds the frame, it has most likely come to an instruction of that one, if both were read at the same
  // time.
  void LearnWhere(std::size_t i, const PythonFrame& frame) const {
    if (i == 0 || !moment_.is_close || !Holds(i, frame.address)) return;
    const CodeRange code = {frame.instructions, frame.instructions_end};
    ForEachValue(i, [&](uint32_t where, uint64_t value) {
      if (code.Has(value)) codes_.CountWhere(native_.frames[i].address, where);
      return true;
    });
  }

  bool IsLoop(std::size_t i) const { return moment_.loop.Has(native_.frames[i].address); }

  // Among the frames of Python that have no place yet, the innermost one of those that this function runs; their number
  // where it runs none. Those that are passed over were called since.
  std::size_t FirstRunBy(std::size_t i) const {
    const CodeRange part = PartOfStack(i);
    for (std::size_t first = next_; first < python_.size(); first = EndOfRun(first)) {
      const uint64_t shim = python_[first].loop_address;
      if (shim != 0 ? part.Has(shim) : IsLoop(i) && Fits(i, first)) return first;
    }
    return python_.size();
  }

  // Whether the run may be that of the function, where no shim tells: memory of frames is used again and again.
  bool Fits(std::size_t i, std::size_t first) const {
    PythonFrame innermost = python_[first];
    const bool is_held = Holds(i, innermost.address);
    if (is_held && IsAt(i, &innermost)) return true;
    const Running running = RunningIn(i);
    return running.code == nullptr ? is_held : WayTo(*running.code, first).has_value();
  }

  void Add(PythonFrame frame, bool is_guessed) {
    merged_.frames.push_back({true, 0, frame, is_guessed});
    has_python_ = true;
  }
  void AddPython(std::size_t first, std::size_t end, bool is_guessed) {
    for (; first < end; ++first) Add(python_[first], is_guessed);
  }

  // The code that the function runs, at the instruction that it has come to.
  struct Running {
    const KnownCode::Code* code = nullptr;
    PythonFrame frame;
  };
  Running RunningIn(std::size_t i) const {
    const std::optional<uint64_t> place =
        InstructionIn(i, [this](uint64_t value) { return codes_.At(value) != nullptr; });
    if (!place) return {};
    Running running{codes_.At(*place), {}};
    running.frame = running.code->frame;
    running.frame.offset = OffsetOf(*place, running.frame);
    return running;
  }

  std::size_t FindCode(std::size_t first, std::size_t end, uint64_t code) const {
    while (first < end && python_[first].code != code) ++first;
    return first;
  }

  // Whether the function has come to an instruction of the frame, which is set to it.
  bool IsAt(std::size_t i, PythonFrame* frame) const {
    const CodeRange code = {frame->instructions, frame->instructions_end};
    const std::optional<uint64_t> place = InstructionIn(i, [code](uint64_t value) { return code.Has(value); });
    if (place) frame->offset = OffsetOf(*place, *frame);
    return place.has_value();
  }

  // Frames inside of the one that ran were called since. Where that one has ended, those that called it are the callers
  // that it was seen with before. False: it is not known what ran.
  bool AddRun(std::size_t i, std::size_t first) {
    const std::size_t end = EndOfRun(first);
    PythonFrame innermost = python_[first];
    LearnWhere(i, innermost);
    const bool is_same = Holds(i, innermost.address) && (innermost.instructions == 0 || IsAt(i, &innermost));
    const Running running = is_same ? Running{} : RunningIn(i);
    const std::optional<Way> way = running.code == nullptr ? std::nullopt : WayTo(*running.code, first);
    if (!way) {
      if (!is_same && !moment_.is_close) return false;
      Add(innermost, !is_same);
      AddPython(first + 1, end, false);
      return true;
    }
    Add(running.frame, false);
    for (const PythonFrame& caller : way->callers) Add(caller, false);
    AddPython(way->rest, end, false);
    return true;
  }

  // From code to the run that it belongs to: callers that it was seen with before, and where the run goes on. None:
  // they lead elsewhere.
  struct Way {
    std::vector<PythonFrame> callers;
    std::size_t rest = 0;
  };
  std::optional<Way> WayTo(const KnownCode::Code& code, std::size_t first) const {
    constexpr std::size_t kMostCallers = 64;
    const std::size_t end = EndOfRun(first), same = FindCode(first, end, code.frame.code);
    if (same < end) return Way{{}, same + 1};
    Way way;
    for (const KnownCode::Code* at = &code; way.callers.size() < kMostCallers;) {
      way.rest = FindCode(first, end, at->caller);
      if (way.rest < end) return way;
      at = codes_.At(at->caller_instructions);
      if (at == nullptr) break;
      way.callers.push_back(at->frame);
    }
    return std::nullopt;
  }

  // Of a call of the loop that has ended since.
  bool AddKnownCode(std::size_t i) {
    const Running running = IsLoop(i) ? RunningIn(i) : Running{};
    if (running.code != nullptr) Add(running.frame, false);
    return running.code != nullptr;
  }

  // What the native stack does not show: callers beyond the end of the copy. With a whole one, they have their place
  // behind the last that was found; without any that was found, Python did not run.
  void AddRest() {
    const bool is_cut = merged_.end != StackEnd::kWhole, is_found = behind_runs_ != 0;
    if (!is_found && (!is_cut || !moment_.is_close)) return;
    std::vector<MergedFrame> all;
    std::swap(all, merged_.frames);
    const auto at = all.begin() + static_cast<std::ptrdiff_t>(is_found ? behind_runs_ : all.size());
    merged_.frames.assign(all.begin(), at);
    AddPython(next_, python_.size(), !is_found);
    merged_.frames.insert(merged_.frames.end(), at, all.end());
    if (is_cut && moment_.is_whole && !python_.empty()) merged_.end = StackEnd::kWhole;
  }

  const NativeStack& native_;
  const std::vector<PythonFrame>& python_;
  const PythonMoment& moment_;
  KnownCode& codes_;
  std::size_t next_ = 0;         // the innermost frame of Python that has no place yet
  std::size_t behind_runs_ = 0;  // frames up to the outermost one that was found, 0: none was
  bool has_python_ = false;
  MergedStack merged_;
};

}  // namespace

void KnownCode::Learn(const std::vector<PythonFrame>& frames) {
  for (std::size_t i = 0; i < frames.size(); ++i) {
    if (frames[i].instructions == 0) continue;
    const bool has_caller = i + 1 < frames.size() && frames[i + 1].loop == frames[i].loop;
    Code& code = codes_[frames[i].instructions];
    code.frame = frames[i];
    code.caller = has_caller ? frames[i + 1].code : 0;
    code.caller_instructions = has_caller ? frames[i + 1].instructions : 0;
  }
}

const KnownCode::Code* KnownCode::At(uint64_t address) const {
  const auto behind = codes_.upper_bound(address);
  if (behind == codes_.begin()) return nullptr;
  const Code& code = std::prev(behind)->second;
  return address < code.frame.instructions_end ? &code : nullptr;
}

void KnownCode::CountWhere(uint64_t call, uint32_t where) {
  std::vector<Where>& places = where_[call];
  const auto known =
      std::find_if(places.begin(), places.end(), [where](const Where& place) { return place.where == where; });
  known == places.end() ? places.push_back({where, 1}) : void(++known->count);
}

std::optional<uint32_t> KnownCode::WhereAt(uint64_t call) const {
  constexpr uint32_t kFewest = 2;
  const auto places = where_.find(call);
  if (places == where_.end()) return std::nullopt;
  const auto best = std::max_element(places->second.begin(), places->second.end(),
                                     [](const Where& a, const Where& b) { return a.count < b.count; });
  return best->count < kFewest ? std::nullopt : std::optional(best->where);
}

MergedStack Merge(const NativeStack& native, const PythonMoment& python, KnownCode* codes) {
  return Merger(native, python, codes).Take();
}

}  // namespace gprof

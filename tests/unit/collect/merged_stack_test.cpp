#include "collect/host/merged_stack.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace gprof {
namespace {

constexpr uint64_t kStack = 0x7000, kPartBytes = 0x40;
constexpr uint64_t kLoop = 0x1000, kOther = 0x1800, kLibrary = 0x9000;  // code
#ifdef __aarch64__
constexpr uint32_t kKept = 19;
#else
constexpr uint32_t kKept = 3;
#endif

// A native stack, the innermost function first, each with a part of 64 bytes; and what Python runs on it.
struct Sampled {
  std::vector<uint64_t> words;
  std::vector<UnwoundFrame> native;
  PythonMoment python;

  Sampled() {
    python.interpreter = {0x1000, 0x2000};
    python.loop = {kLoop, kLoop + 0x100};
    python.is_whole = true;
  }
  uint64_t Call(uint64_t address, uint64_t kept = 0, uint64_t word = 0) {
    UnwoundFrame frame;
    frame.address = address;
    const uint64_t begin = kStack + native.size() * kPartBytes;
    frame.registers.Set(kStackPointer, begin);
    if (kept != 0) frame.registers.Set(kKept, kept);
    native.push_back(frame);
    words.insert(words.end(), kPartBytes / sizeof(uint64_t), 0);
    words[words.size() - 3] = word;
    return begin;
  }
  // A frame of the function with that letter. It lies at its address, 0xA000 for A.
  static PythonFrame Frame(char letter, bool has_instructions = true) {
    PythonFrame frame;
    const auto number = static_cast<uint64_t>(letter - 'A' + 0xA);
    frame.address = number << 12;
    frame.code = number << 20;
    frame.offset = 1;
    frame.instructions = has_instructions ? frame.code + 0x100 : 0;
    frame.instructions_end = has_instructions ? frame.instructions + 0x80 : 0;
    return frame;
  }
  static uint64_t Instruction(char letter, uint64_t offset) { return Frame(letter).instructions + offset; }
  void Run(uint32_t loop, char letter, uint64_t loop_address = 0) {
    python.frames.push_back(Frame(letter, loop_address != 0));
    python.frames.back().loop = loop;
    python.frames.back().loop_address = loop_address;
  }
  KnownCode known;
  StackEnd end = StackEnd::kWhole;
  MergedStack Merged() const {
    const auto* const bytes = reinterpret_cast<const unsigned char*>(words.data());
    KnownCode codes = known;
    codes.Learn(python.frames);
    const StackCopy copy = {kStack, Bytes(bytes, words.size() * sizeof(uint64_t))};
    return Merge({native, end, copy}, python, &codes);
  }
  // "n0 PA PB? n4": native functions by number, those of Python by letter, the innermost first; what is guessed with a
  // question mark.
  std::string Text() const {
    std::string text;
    for (const MergedFrame& frame : Merged().frames) {
      text += (text.empty() ? "" : " ") +
              (frame.is_python ? std::string("P") + static_cast<char>('A' + frame.python.code / 0x100000 - 0xA)
                               : "n" + std::to_string(frame.native)) +
              (frame.is_guessed ? "?" : "");
    }
    return text;
  }
};

TEST(MergedStack, OneCallOfTheLoopForEachFrameUpTo310) {
  Sampled s;
  s.Call(kLibrary);
  s.Call(kOther);
  s.Call(kLoop + 5, 0xA000);
  s.Call(kOther, 0xB000);  // calls the loop, and has its frame as well
  s.Call(kLoop + 9, 0, 0xB000);
  s.Call(kOther);
  s.Call(kLibrary);
  s.Run(0, 'A');
  s.Run(1, 'B');
  EXPECT_EQ(s.Text(), "n0 n1 PA PB n6");
  EXPECT_EQ(s.Merged().end, StackEnd::kWhole);
}

TEST(MergedStack, LoopRunsTheFramesThatPythonCalledWithinIt) {
  Sampled s;
  s.Call(kLibrary);
  const uint64_t inner = s.Call(kLoop, 0xA000, Sampled::Instruction('A', 8));
  s.Call(kLibrary + 8);
  const uint64_t outer = s.Call(kOther, 0xC000, Sampled::Instruction('C', 4));  // the loop, elsewhere in the file
  s.Run(0, 'A', inner + 16);
  s.Run(0, 'B', inner + 16);
  s.Run(1, 'C', outer + 8);
  EXPECT_EQ(s.Text(), "n0 PA PB n2 PC");
  EXPECT_EQ(s.Merged().frames[1].python.offset, 6u);
  EXPECT_EQ(s.Merged().frames[2].python.offset, 1u);
}

TEST(MergedStack, CallsThatCameAfterTheSampleAreLeftOut) {
  Sampled s;
  s.Call(kLibrary);
  const uint64_t loop = s.Call(kLoop, 0xC000, Sampled::Instruction('C', 6));
  s.Run(0, 'A', kStack - 0x100);
  s.Run(1, 'B', loop + 8);  // called by what runs at the time
  s.Run(1, 'C', loop + 8);
  EXPECT_EQ(s.Text(), "n0 PC");
}

TEST(MergedStack, CallsThatHaveEndedSinceAreKnownByTheirCode) {
  Sampled s;
  s.known.Learn({Sampled::Frame('X'), Sampled::Frame('C')});
  s.known.Learn({Sampled::Frame('Y'), Sampled::Frame('Z')});
  s.Call(kLibrary);
  s.Call(kLoop, 0, Sampled::Instruction('Y', 2));
  s.Call(kOther);
  const uint64_t loop = s.Call(kLoop, Sampled::Instruction('X', 6), 0xDEAD);
  s.Run(0, 'B', loop + 8);
  s.Run(0, 'C', loop + 8);
  EXPECT_EQ(s.Text(), "n0 PY PX PC");
  EXPECT_EQ(s.Merged().frames[2].python.offset, 4u);
  s.python.frames.pop_back();
  s.Run(0, 'D', loop + 8);
  EXPECT_EQ(s.Text(), "n0 PY PB? PD");  // C is not what called it
}

TEST(MergedStack, InstructionsThatTheLoopHadBeforeDoNotCount) {
  Sampled s;
  s.Call(kLibrary);
  const uint64_t loop = s.Call(kLoop, Sampled::Instruction('X', 6), 0xA000);
  s.words[s.words.size() - 2] = Sampled::Instruction('A', 2);
  s.Run(0, 'A', loop + 8);
  EXPECT_EQ(s.Text(), "n0 PA");
  for (int i = 0; i < 4; ++i) s.known.CountWhere(kLoop, kKept);  // which has code that is not known
  EXPECT_EQ(s.Text(), "n0 PA?");
}

TEST(MergedStack, WhatTheLoopDoesNotHoldIsGuessed) {
  Sampled s;
  s.Call(kLibrary);
  const uint64_t loop = s.Call(kLoop, 0xDEAD);
  s.Run(0, 'A', loop + 8);
  s.Run(0, 'B', loop + 8);
  EXPECT_EQ(s.Text(), "n0 PA? PB");
}

TEST(MergedStack, NothingIsGuessedFromAMomentFarFromTheSample) {
  Sampled s;
  s.Call(kLibrary);
  s.Call(kOther);
  const uint64_t loop = s.Call(kLoop, 0xDEAD);
  s.Call(kOther);
  s.Run(0, 'A', loop + 8);
  s.Run(0, 'B', loop + 8);
  s.python.is_close = false;
  EXPECT_EQ(s.Text(), "n0 n1 n2 n3");
  const uint64_t outer = s.Call(kLoop, 0xC000, Sampled::Instruction('C', 4));
  s.Run(1, 'C', outer + 8);
  EXPECT_EQ(s.Text(), "n0 n1 n2 n3 PC");
  s.native.resize(2);
  s.end = StackEnd::kCopyEnded;
  EXPECT_EQ(s.Text(), "n0 n1");
}

TEST(MergedStack, PythonGoesOnWhereTheCopyEnds) {
  Sampled s;
  s.Call(kLibrary);
  const uint64_t loop = s.Call(kLoop, 0xA000, Sampled::Instruction('A', 0));
  s.Call(kOther);
  s.Run(0, 'A', loop + 8);
  s.Run(1, 'B', loop + 0x4000);
  s.Run(2, 'C', loop + 0x5000);
  s.end = StackEnd::kCopyEnded;
  EXPECT_EQ(s.Text(), "n0 PA PB PC");
  EXPECT_EQ(s.Merged().end, StackEnd::kWhole);
  s.python.is_whole = false;
  EXPECT_EQ(s.Merged().end, StackEnd::kCopyEnded);
}

TEST(MergedStack, PythonIsAroundWhatIsTooDeepToSeeIt) {
  Sampled s;
  s.Call(kLibrary);
  s.Call(kLibrary);
  s.Run(0, 'A', kStack + 0x4000);
  s.Run(0, 'B', kStack + 0x4000);
  s.end = StackEnd::kCopyEnded;
  EXPECT_EQ(s.Text(), "n0 n1 PA? PB?");
  s.end = StackEnd::kWhole;  // a thread that did not run Python then
  EXPECT_EQ(s.Text(), "n0 n1");
}

TEST(MergedStack, WithoutPythonItIsTheNativeStack) {
  Sampled s;
  s.Call(kLoop);
  s.Call(kOther);
  EXPECT_EQ(s.Text(), "n0 n1");
}

}  // namespace
}  // namespace gprof

// Frames of interpreters that are not here: images of their structures, by the layout of each version.
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/mman.h>

#include <cstring>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "gprof/trace/python_layout.h"
#include "tracer/python/interpreter.h"

namespace gprof::tracer {
namespace {

class FakeInterpreter {
 public:
  explicit FakeInterpreter(const trace::PythonLayout& layout) {
    python.layout = layout;
    python.code_type = NewObject(64);
    python.text_type = NewObject(64);
    python.bytes_type = NewObject(64);
    thread = NewObject(400);
    Put(thread, layout.thread_id, pthread_self());
  }

  char* NewObject(std::size_t bytes) {
    objects_.emplace_back(bytes / 8 + 1);
    return reinterpret_cast<char*>(objects_.back().data());
  }
  template <class T>
  void Put(char* object, uint16_t offset, T value) {
    std::memcpy(object + offset, &value, sizeof value);
  }

  char* NewCode() {
    const trace::PythonLayout& l = python.layout;
    char* code = NewObject(400);
    Put(code, l.object_type, python.code_type);
    Put(code, l.object_size, int64_t{50});
    Put(code, l.code_file, Typed(python.text_type));
    Put(code, l.code_name, Typed(python.text_type));
    Put(code, l.code_line_table, Typed(python.bytes_type));
    return code;
  }

  // The instructions of the second thread.
  char* CopyOf(char* code) {
    char *const copies = NewObject(24), *const copy = NewObject(200);
    Put(copies, 0, int64_t{2});
    Put(copies, 8, code + python.layout.code_instructions);
    Put(copies, 16, copy);
    Put(code, python.layout.code_copies, copies);
    return copy;
  }

  // Around the one before.
  char* AddFrame(char* code, uint8_t owner = 0) {
    const trace::PythonLayout& l = python.layout;
    char* frame = NewObject(200);
    Put(frame, l.frame_code, code);
    if (l.code_copies != trace::kNoOffset) {
      Put(frame, l.frame_copy, int32_t{1});
      Put(frame, l.frame_place, CopyOf(code) + 10);
    } else if (l.place_kind == trace::PythonPlace::kPointer) {
      Put(frame, l.frame_place, code + l.code_instructions + 10);
    } else {
      Put(frame, l.frame_place, int32_t{10});
    }
    if (l.frame_owner != trace::kNoOffset) Put(frame, l.frame_owner, owner);
    if (outermost_ == nullptr) {
      SetInnermost(frame);
    } else {
      Put(outermost_, l.frame_back, frame);
    }
    outermost_ = frame;
    return frame;
  }

  Interpreter python;
  char* thread = nullptr;

 private:
  const char* Typed(const char* type) {
    char* object = NewObject(64);
    Put(object, python.layout.object_type, type);
    return object;
  }
  void SetInnermost(char* frame) {
    const trace::PythonLayout& l = python.layout;
    char* holder = l.frame_in_holder == trace::kNoOffset ? nullptr : NewObject(64);
    if (holder != nullptr) Put(holder, l.frame_in_holder, frame);
    Put(thread, l.thread_frame, holder != nullptr ? holder : frame);
  }

  std::deque<std::vector<uint64_t>> objects_;
  char* outermost_ = nullptr;
};

TEST(PythonFrames, AreFoundInEveryLayout) {
  for (const trace::PythonLayout& layout : trace::kPythonLayouts) {
    SCOPED_TRACE(layout.version);
    FakeInterpreter fake(layout);
    EXPECT_EQ(CheckFrames(fake.python, fake.thread), -1) << "no frames";
    char* innermost = fake.AddFrame(fake.NewCode());
    fake.AddFrame(fake.NewCode());
    EXPECT_EQ(CheckFrames(fake.python, fake.thread), 1);
    EXPECT_EQ(InnermostFrame(layout, fake.thread), innermost);
  }
}

TEST(PythonFrames, FramesOfNoCodeArePassedOver) {
  for (const trace::PythonLayout& layout : trace::kPythonLayouts) {
    if (layout.version < 0x030c) continue;
    FakeInterpreter fake(layout);
    fake.AddFrame(fake.NewCode());
    fake.AddFrame(fake.NewObject(64), trace::kPythonShim);
    fake.AddFrame(fake.NewCode());
    EXPECT_EQ(CheckFrames(fake.python, fake.thread), 1);
  }
}

TEST(PythonFrames, WhatIsNotAsItShouldBeIsFoundOut) {
  void* const nowhere = mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const auto* const unreadable = static_cast<char*>(nowhere);
  for (const trace::PythonLayout& layout : trace::kPythonLayouts) {
    SCOPED_TRACE(layout.version);
    const auto check = [&](auto&& spoil) {
      FakeInterpreter fake(layout);
      char* const code = fake.NewCode();
      char* const frame = fake.AddFrame(code);
      fake.AddFrame(fake.NewCode());
      spoil(fake, code, frame);
      return CheckFrames(fake.python, fake.thread);
    };
    EXPECT_EQ(check([](auto&, char*, char*) {}), 1);
    EXPECT_EQ(check([&](auto& f, char*, char*) { f.Put(f.thread, layout.thread_id, uint64_t{1}); }), 0);
    EXPECT_EQ(check([&](auto& f, char*, char*) { f.Put(f.thread, layout.thread_frame, unreadable); }), 0);
    EXPECT_EQ(check([&](auto& f, char*, char* frame) { f.Put(frame, layout.frame_back, unreadable); }), 0);
    EXPECT_EQ(check([&](auto& f, char*, char* frame) { f.Put(frame, layout.frame_back, uint64_t{12345}); }), 0);
    EXPECT_EQ(check([&](auto& f, char*, char* frame) { f.Put(frame, layout.frame_code, unreadable); }), 0);
    EXPECT_EQ(check([&](auto& f, char* code, char*) { f.Put(code, layout.object_type, f.python.text_type); }), 0);
    EXPECT_EQ(check([&](auto& f, char* code, char*) { f.Put(code, layout.code_file, unreadable); }), 0);
    EXPECT_EQ(check([&](auto& f, char* code, char*) { f.Put(code, layout.code_line_table, uint64_t{0}); }), 0);
    EXPECT_EQ(check([&](auto& f, char* code, char* frame) {
                if (layout.place_kind == trace::PythonPlace::kPointer) f.Put(frame, layout.frame_place, code);
                if (layout.place_kind != trace::PythonPlace::kPointer) f.Put(frame, layout.frame_place, int32_t{-2});
              }),
              0);
  }
  munmap(nowhere, 4096);
}

// Offsets of released versions, as their own headers give them: words of the table that _PyRuntime begins with.
struct ToldBuild {
  const char* name;
  uint32_t version;
  uint64_t free_threaded;
  std::vector<std::pair<std::size_t, uint64_t>> words;
};
const std::vector<ToldBuild>& ToldBuilds() {
  static const std::vector<ToldBuild> kBuilds = {
      {"3.14", 0x030e0af0, 0, {{5, 808}, {8, 7280}, {9, 7272}, {24, 8},  {26, 72}, {27, 152}, {28, 160}, {29, 232},
                               {32, 8},  {33, 0},   {34, 56},  {36, 74}, {38, 0},  {40, 112}, {42, 128}, {43, 136},
                               {44, 68}, {48, 208}, {49, 0},   {51, 8},  {75, 16}, {76, 32},  {78, 32},  {80, 40}}},
      {"3.14t", 0x030e0af0, 1, {{5, 808}, {8, 7280}, {9, 7272}, {24, 8},  {26, 72}, {27, 152}, {28, 160}, {29, 232},
                                {32, 8},  {33, 0},   {34, 56},  {36, 78}, {38, 72}, {40, 128}, {42, 144}, {43, 152},
                                {44, 84}, {48, 232}, {49, 224}, {51, 24}, {75, 32}, {76, 48},  {78, 48},  {80, 56}}}};
  return kBuilds;
}

trace::PythonTable TableOf(const ToldBuild& build) {
  trace::PythonTable table{};
  std::memcpy(table.words, "xdebugpy", sizeof table.words[0]);
  table.words[1] = build.version, table.words[2] = build.free_threaded;
  for (const auto& [word, offset] : build.words) table.words[word] = offset;
  return table;
}

TEST(PythonLayout, OfNewVersionsIsToldByTheInterpreter) {
  for (const ToldBuild& build : ToldBuilds()) {
    SCOPED_TRACE(build.name);
    trace::PythonTable table = TableOf(build);
    const trace::PythonLayout layout = trace::LayoutOfPython(build.version, &table);
    ASSERT_TRUE(layout.IsKnown());
    EXPECT_EQ(layout.runtime_interpreters, 808);
    EXPECT_EQ(layout.interpreter_threads, 7272);
    EXPECT_EQ(layout.thread_frame, 72);
    EXPECT_EQ(layout.thread_chunk, 232);
    EXPECT_EQ(layout.frame_back, 8);
    EXPECT_EQ(layout.frame_place, 56);
    const bool has_gil = build.free_threaded == 0;
    EXPECT_EQ(layout.object_type, has_gil ? 8 : 24);
    EXPECT_EQ(layout.code_file, has_gil ? 112 : 128);
    EXPECT_EQ(layout.code_instructions, has_gil ? 208 : 232);
    EXPECT_EQ(layout.text_ascii, has_gil ? 40 : 56);
    EXPECT_EQ(layout.text_other, has_gil ? 56 : 72);
    EXPECT_EQ(layout.text_state_at, has_gil ? 2 : 8);
    EXPECT_EQ(layout.code_copies, has_gil ? trace::kNoOffset : 224);
    EXPECT_EQ(layout.CodeBytes(), has_gil ? 144u : 232u);
    table.words[1] = 0x030e00a3;  // an alpha, whose table may be another one
    EXPECT_FALSE(trace::LayoutOfPython(0x030e00a3, &table).IsKnown());
  }
}

TEST(PythonFrames, AreFoundInWhatNewVersionsTell) {
  for (const ToldBuild& build : ToldBuilds()) {
    SCOPED_TRACE(build.name);
    const trace::PythonTable table = TableOf(build);
    const trace::PythonLayout layout = trace::LayoutOfPython(build.version, &table);
    FakeInterpreter fake(layout);
    char* const code = fake.NewCode();
    char* const frame = fake.AddFrame(code);
    fake.Put(frame, layout.frame_code, code + 1);  // with a flag
    fake.AddFrame(fake.NewObject(200), trace::kPythonShim);
    fake.AddFrame(fake.NewCode());
    EXPECT_EQ(CodeOf(layout, frame), code);
    EXPECT_EQ(CheckFrames(fake.python, fake.thread), 1);
    if (layout.code_copies == trace::kNoOffset) continue;
    EXPECT_EQ(ReadAt<const char*>(frame, layout.frame_place) - InstructionsOf(layout, frame, code), 10);
    fake.Put(frame, layout.frame_copy, int32_t{7});
    EXPECT_EQ(CheckFrames(fake.python, fake.thread), 0) << "no such copy";
  }
}

TEST(PythonLayout, IsThatOfTheVersion) {
  const trace::PythonTable none{};
  for (const trace::PythonLayout& layout : trace::kPythonLayouts) {
    EXPECT_EQ(trace::LayoutOfPython(uint32_t{layout.version} << 16 | 0x07f0, &none).frame_code, layout.frame_code);
  }
  for (const uint32_t unknown : {0x02071200u, 0x03071000u, 0x030d01f0u, 0x030e00f0u, 0x030f00a1u, 0u}) {
    EXPECT_FALSE(trace::LayoutOfPython(unknown, &none).IsKnown());
  }
}

}  // namespace
}  // namespace gprof::tracer

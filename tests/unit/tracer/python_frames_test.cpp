// Frames of interpreters that are not here: images of their structures, by the layout of each version.
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/mman.h>

#include <cstring>
#include <deque>
#include <string>
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
    Put(code, trace::kPythonType, python.code_type);
    Put(code, trace::kPythonSize, int64_t{50});
    Put(code, l.code_file, Typed(python.text_type));
    Put(code, l.code_name, Typed(python.text_type));
    Put(code, l.code_line_table, Typed(python.bytes_type));
    return code;
  }

  // Around the one before.
  char* AddFrame(char* code, uint8_t owner = 0) {
    const trace::PythonLayout& l = python.layout;
    char* frame = NewObject(200);
    Put(frame, l.frame_code, code);
    if (l.place_kind == trace::PythonPlace::kPointer) {
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
    Put(object, trace::kPythonType, type);
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
    EXPECT_EQ(check([&](auto& f, char* code, char*) { f.Put(code, trace::kPythonType, f.python.text_type); }), 0);
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

TEST(PythonLayout, IsThatOfTheVersion) {
  trace::PythonDebugOffsets none{};
  for (const trace::PythonLayout& layout : trace::kPythonLayouts) {
    if (layout.version == 0x030d) continue;
    EXPECT_EQ(trace::LayoutOfPython(uint32_t{layout.version} << 16 | 0x07f0, &none).frame_code, layout.frame_code);
  }
  for (const uint32_t unknown : {0x02071200u, 0x03071000u, 0x030e00f0u, 0x030f00a1u, 0u}) {
    EXPECT_FALSE(trace::LayoutOfPython(unknown, &none).IsKnown());
  }
}

TEST(PythonLayout, IsToldByTheInterpreterFrom313On) {
  trace::PythonDebugOffsets told{};
  constexpr uint32_t kVersion = 0x030d01f0;
  EXPECT_FALSE(trace::LayoutOfPython(kVersion, &told).IsKnown()) << "without a table";
  std::memcpy(told.cookie, "xdebugpy", sizeof told.cookie);
  told.version = kVersion;
  told.thread[4] = 80;
  told.frame[1] = 16;
  told.code[9] = 208;
  const trace::PythonLayout layout = trace::LayoutOfPython(kVersion, &told);
  ASSERT_TRUE(layout.IsKnown());
  EXPECT_EQ(layout.thread_frame, 80);
  EXPECT_EQ(layout.frame_back, 16);
  EXPECT_EQ(layout.code_instructions, 208);
  told.free_threaded = 1;
  EXPECT_FALSE(trace::LayoutOfPython(kVersion, &told).IsKnown());
}

}  // namespace
}  // namespace gprof::tracer

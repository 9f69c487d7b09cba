// Stacks as text: what a frame without a symbol is called, and functions that were inlined.
#include "analysis/facts/places/stack_names.h"

#include <gtest/gtest.h>

#include "trace_maker.h"

namespace gprof::test {
namespace {

class Stacks : public testing::Test {
 protected:
  uint32_t AddModule(std::string_view path, std::string_view name = "") {
    Module module;
    module.path = maker_.Name(path);
    module.name = maker_.Name(name);
    maker_.trace().modules.push_back(module);
    return static_cast<uint32_t>(maker_.trace().modules.size() - 1);
  }
  uint32_t AddFrame(uint32_t module, uint64_t offset) {
    maker_.trace().frames.push_back({offset, module});
    return static_cast<uint32_t>(maker_.trace().frames.size() - 1);
  }
  void AddSymbol(uint32_t frame, uint32_t depth, std::string_view name) {
    Symbol symbol;
    symbol.frame = frame;
    symbol.depth = depth;
    symbol.name = maker_.Name(name);
    maker_.trace().symbols.push_back(symbol);
  }
  uint32_t AddStack(uint32_t parent, uint32_t frame, bool is_cut = false) {
    StackNode node;
    node.parent = parent;
    node.frame = frame;
    node.is_cut = is_cut;
    maker_.trace().stacks.push_back(node);
    return static_cast<uint32_t>(maker_.trace().stacks.size() - 1);
  }

  TraceMaker maker_;
};

TEST_F(Stacks, FramesHaveTheNameOfTheirFunctionOrOfTheirPlace) {
  const uint32_t library = AddModule("/usr/lib/libc.so.6"), function = AddModule("train.py", "Net.forward");
  const uint32_t named = AddFrame(library, 16), inlined = AddFrame(library, 32), bare = AddFrame(library, 0x29d90);
  const uint32_t python = AddFrame(function, 6), lost = AddFrame(kNone, 0xabc);
  AddSymbol(named, 0, "_Z4workv");
  AddSymbol(inlined, 0, "inner");
  AddSymbol(inlined, 1, "outer");
  const Trace trace = maker_.Finish();
  EXPECT_EQ(FrameName(trace, named), "work()");
  EXPECT_EQ(FrameName(trace, inlined), "outer;inner");
  EXPECT_EQ(FrameName(trace, bare), "libc.so.6+0x29d90");
  EXPECT_EQ(FrameName(trace, python), "Net.forward");
  EXPECT_EQ(FrameName(trace, lost), "0xabc");
}

TEST_F(Stacks, BeginWithTheOutermostFrame) {
  const uint32_t main = AddFrame(AddModule("a.py", "main"), 0), step = AddFrame(AddModule("a.py", "step"), 0);
  const uint32_t root = AddStack(kNone, main), leaf = AddStack(root, step), deeper = AddStack(leaf, kNone);
  const uint32_t cut = AddStack(kNone, step, true);
  const Trace trace = maker_.Finish();
  StackNames names(trace);
  EXPECT_EQ(names(deeper), "main;step;?");
  EXPECT_EQ(names(root), "main");
  EXPECT_EQ(names(leaf), "main;step");
  EXPECT_EQ(names(cut), "…;step");
  EXPECT_EQ(names(kNone), "");
}

}  // namespace
}  // namespace gprof::test

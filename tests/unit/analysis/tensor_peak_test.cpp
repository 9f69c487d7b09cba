// What stood in the memory of a GPU when tensors held most of it: by operator, module and line.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <variant>

#include "analysis/topics/analyses.h"
#include "trace_maker.h"

namespace gprof::test {
namespace {

// A forward and a backward pass, in nanoseconds.
class Model {
 public:
  uint32_t AddLine(std::string_view file, uint32_t line) {
    Trace& t = maker.trace();
    Module code;
    code.module_kind = trace::ModuleKind::kPythonCode;
    code.path = maker.Name(file), code.name = maker.Name("forward");
    code.first_line = line;
    t.modules.push_back(code);
    Frame frame;
    frame.module = static_cast<uint32_t>(t.modules.size() - 1);
    t.frames.push_back(frame);
    StackNode node;
    node.frame = static_cast<uint32_t>(t.frames.size() - 1);
    t.stacks.push_back(node);
    return static_cast<uint32_t>(t.stacks.size() - 1);
  }
  void Block(int64_t time_ns, uint64_t address, int64_t bytes, uint32_t stack = kNone, bool is_host = false) {
    maker.trace().tensor_blocks.push_back({time_ns, bytes, address, 0, 0, is_host ? kNone : 0, stack, is_host});
  }
  void TellAllocated(int64_t time_ns, int64_t bytes) {
    Trace& t = maker.trace();
    if (t.metric_sources.empty()) {
      MetricSource source;
      source.process = 0, source.device = 0;
      source.name = maker.Name("PyTorch memory allocated");
      t.metric_sources.push_back(source);
    }
    t.metric_samples.push_back({time_ns, time_ns, bytes, 0});
  }
  // name → bytes, and blocks behind it where `column` says so.
  std::map<std::string, int64_t> Rows(std::string_view table_id, std::string_view column = "bytes") {
    if (trace.processes.empty()) trace = maker.Finish();
    const AnalysisResult result = RunMemory(trace, kAllRows);
    const auto table =
        std::find_if(result.tables.begin(), result.tables.end(), [&](const Table& t) { return t.id == table_id; });
    std::map<std::string, int64_t> rows;
    const auto at =
        std::find_if(table->columns.begin(), table->columns.end(), [&](const Column& c) { return c.key == column; });
    for (const auto& row : table->rows) {
      const Cell& cell = row[static_cast<std::size_t>(at - table->columns.begin())];
      rows[std::get<std::string>(row.back())] = std::holds_alternative<int64_t>(cell) ? std::get<int64_t>(cell) : -1;
    }
    return rows;
  }

  TraceMaker maker;
  Trace trace;
};

using Rows = std::map<std::string, int64_t>;

TEST(TensorPeak, IsOfWhatIsHeldThen) {
  Model m;
  m.maker.AddRange(0, 100, "aten::mm");
  m.maker.AddRange(100, 200, "aten::relu");
  m.Block(10, 0x1000, 500);
  m.Block(20, 0x2000, 300);
  m.Block(30, 0x2000, -300);
  m.Block(110, 0x3000, 400);
  m.Block(120, 0x2000, 50);  // the same address again
  m.Block(130, 0x1000, -500);
  m.Block(140, 0x4000, 80);
  m.Block(150, 0x5000, 9'000, kNone, true);  // of the host
  EXPECT_EQ(m.Rows("tensors_by_operator"), (Rows{{"aten::mm", 500}, {"aten::relu", 450}}));
  EXPECT_EQ(m.Rows("tensors_by_operator", "blocks"), (Rows{{"aten::mm", 1}, {"aten::relu", 2}}));
}

TEST(TensorPeak, OperatorsThatOnlyAllocateAreNotWhoNeedsIt) {
  Model m;
  m.maker.AddRange(0, 100, "aten::zeros");
  m.maker.AddRange(10, 50, "aten::zeros/aten::empty");
  m.maker.AddRange(200, 300, "aten::empty_strided");
  m.Block(20, 0x1000, 500);
  m.Block(210, 0x2000, 60);
  m.Block(400, 0x3000, 7);
  EXPECT_EQ(m.Rows("tensors_by_operator"),
            (Rows{{"aten::zeros", 500}, {"aten::empty_strided", 60}, {"(no operator)", 7}}));
}

TEST(TensorPeak, WhatCameBeforeTheRecordingIsToldByTheAllocator) {
  Model m;
  m.maker.AddRange(0, 100, "aten::mm");
  m.Block(10, 0x1000, 500);
  m.TellAllocated(10, 2'500);
  m.Block(20, 0x9000, -700);  // a block from before
  m.TellAllocated(20, 1'800);
  EXPECT_EQ(m.Rows("tensors_by_operator"), (Rows{{"aten::mm", 500}, {"(before the recording)", 2'000}}));
}

TEST(TensorPeak, ModulesHaveWhatThoseWithinThemHave) {
  Model m;
  m.maker.AddRange(0, 1000, "nn.Module: net (Net)");
  m.maker.AddRange(10, 200, "nn.Module: net (Net)/nn.Module: net.0 (Linear)");
  m.maker.AddRange(20, 100, "nn.Module: net (Net)/nn.Module: net.0 (Linear)/aten::mm");
  m.maker.AddRange(300, 400, "nn.Module: net (Net)/aten::relu");
  m.Block(30, 0x1000, 500);
  m.Block(310, 0x2000, 300);
  m.Block(2000, 0x3000, 20);
  EXPECT_EQ(m.Rows("tensors_by_module"), (Rows{{"net", 800}, {"net.*", 500}, {"(no module)", 20}}));
  EXPECT_EQ(m.Rows("tensors_by_module", "self_bytes"), (Rows{{"net", 300}, {"net.*", 500}, {"(no module)", 20}}));
}

TEST(TensorPeak, LinesAreThoseOfTheProgram) {
  Model m;
  const uint32_t line = m.AddLine("/home/me/train.py", 12);
  m.Block(30, 0x1000, 500, line);
  m.Block(40, 0x2000, 300, line);
  m.Block(50, 0x3000, 20);
  EXPECT_EQ(m.Rows("tensors_by_line"), (Rows{{"train.py:12 (forward)", 800}, {"(no Python line)", 20}}));
}

// with_stack of torch.profiler has functions as ranges: the innermost one of the program counts.
TEST(TensorPeak, LinesAreThoseOfFunctionsAround) {
  Model m;
  m.maker.AddRange(0, 1000, "train.py(7): <module>");
  m.maker.AddRange(5, 900, "train.py(7): <module>/train.py(30): step");
  NvtxRange& framework = m.maker.AddRange(10, 800, "train.py(7): <module>/train.py(30): step/module");
  framework.name = m.maker.Name("torch/nn/modules/module.py(1773): _call_impl");
  m.Block(30, 0x1000, 500);
  m.Block(950, 0x2000, 40);
  EXPECT_EQ(m.Rows("tensors_by_line"), (Rows{{"train.py:30 (step)", 500}, {"train.py:7", 40}}));
}

TEST(TensorPeak, WithoutBlocksThereAreNoRows) {
  Model m;
  m.maker.AddRange(0, 100, "aten::mm");
  EXPECT_TRUE(m.Rows("tensors_by_operator").empty());
  EXPECT_TRUE(m.Rows("tensors_by_module").empty());
  EXPECT_TRUE(m.Rows("tensors_by_line").empty());
}

}  // namespace
}  // namespace gprof::test

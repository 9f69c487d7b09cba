// What tensors of PyTorch are in training: parameters, gradients, state of optimizers, activations, inputs, or unknown.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/topics/analyses.h"
#include "trace_maker.h"

namespace gprof::test {
namespace {

using Rows = std::map<std::string, int64_t>;
constexpr int64_t kKb = 1024;

// Steps of training, a microsecond each. What is held stands at the peak, as nothing is taken back without being told.
class TrainedModel {
 public:
  static constexpr std::string_view kEngine = "autograd::engine::evaluate_function: ";

  void Block(int64_t start_ns, int64_t end_ns, int64_t bytes, uint32_t stack = kNone, uint32_t thread = 0) {
    const uint64_t address = 0x1000 + 0x1000 * blocks_.size();
    blocks_.push_back({start_ns, bytes, address, 0, thread, 0, stack, false});
    if (end_ns != kNever) blocks_.push_back({end_ns, -bytes, address, 0, thread, 0, kNone, false});
  }
  // A forward pass of one operator, its backward pass, which gives a parameter a gradient of 256 times 128 floats, and
  // a step of the optimizer.
  void Step(int64_t at_ns) {
    const auto number = static_cast<uint64_t>(++steps_);
    Numbered(at_ns + 100, at_ns + 200, "aten::addmm", number);
    Inside(at_ns + 500, at_ns + 600, "AddmmBackward0", number);
    Inside(at_ns + 600, at_ns + 650, "torch::autograd::AccumulateGrad", 0, ", sizes = [[256, 128]], types = [float]");
    maker.AddRange(at_ns + 800, at_ns + 900, "Optimizer.step#Adam.step");
  }
  void Numbered(int64_t start_ns, int64_t end_ns, std::string name, uint64_t number) {
    maker.AddRange(start_ns, end_ns, "op").name = maker.Name(name + ", seq = " + std::to_string(number));
  }
  // In the thread of autograd.
  void Inside(int64_t start_ns, int64_t end_ns, std::string name, uint64_t number, std::string_view facts = "") {
    if (autograd_ == kNone) autograd_ = maker.AddThread(0, 77);
    maker.AddRange(start_ns, end_ns, "engine", autograd_).name = maker.Name(std::string(kEngine) + name);
    if (number != 0) name += ", seq = " + std::to_string(number);
    maker.AddRange(start_ns + 5, end_ns - 5, "function", autograd_).name = maker.Name(name + std::string(facts));
  }
  uint32_t StackOf(std::string_view file, std::string_view function) {
    Trace& t = maker.trace();
    Module code;
    code.module_kind = trace::ModuleKind::kPythonCode;
    code.path = maker.Name(file), code.name = maker.Name(function);
    t.modules.push_back(code);
    Frame frame;
    frame.module = static_cast<uint32_t>(t.modules.size() - 1);
    t.frames.push_back(frame);
    StackNode node;
    node.frame = static_cast<uint32_t>(t.frames.size() - 1);
    t.stacks.push_back(node);
    return static_cast<uint32_t>(t.stacks.size() - 1);
  }
  uint32_t autograd() const { return autograd_; }

  const AnalysisResult& Result() {
    if (trace.processes.empty()) {
      std::stable_sort(blocks_.begin(), blocks_.end(),
                       [](const TensorBlock& a, const TensorBlock& b) { return a.time_ns < b.time_ns; });
      maker.trace().tensor_blocks = blocks_;
      trace = maker.Finish();
      result_ = RunMemory(trace, kAllRows);
    }
    return result_;
  }
  // category → bytes, those of 0 left out.
  Rows Of(std::string_view column) {
    const Table& table = TableOf(Result(), "tensors_by_category");
    Rows rows;
    for (std::size_t i = 0; i < table.rows.size(); ++i) {
      const int64_t bytes = IntOf(table, i, column);
      if (bytes != 0) rows[TextOf(table, i, "category")] = bytes;
    }
    return rows;
  }
  Rows AtPeak() { return Of("bytes"); }

  static constexpr int64_t kNever = -1;
  TraceMaker maker;
  Trace trace;

 private:
  std::vector<TensorBlock> blocks_;
  AnalysisResult result_;
  int steps_ = 0;
  uint32_t autograd_ = kNone;
};

constexpr int64_t kNever = TrainedModel::kNever;

// The peak of each is where the second pass begins.
TEST(TensorCategories, OfATrainingStep) {
  TrainedModel t;
  t.Step(1'000);
  t.Step(2'000);
  t.Block(10, kNever, 128 * kKb);                         // the parameter
  t.Block(1'150, 1'520, 40 * kKb);                        // saved for the backward pass
  t.Block(1'530, 1'590, 7 * kKb, kNone, t.autograd());    // within it
  t.Block(1'540, 2'050, 128 * kKb, kNone, t.autograd());  // its gradient, until the next zero_grad()
  t.Block(1'820, 1'830, 3 * kKb);                         // within the step of the optimizer
  t.Block(1'840, kNever, 256 * kKb);                      // its state
  t.Block(2'110, 2'120, 5 * kKb);                         // freed before the backward pass
  t.Block(2'150, 2'520, 40 * kKb);
  t.Block(2'160, kNever, 64 * kKb);  // a workspace: nobody takes it back
  t.Block(2'540, kNever, 128 * kKb, kNone, t.autograd());
  t.Block(2'550, kNever, 96 * kKb, kNone, t.autograd());  // of no size that a gradient has
  EXPECT_EQ(t.AtPeak(), (Rows{{"parameters", 128 * kKb},
                              {"gradients", 128 * kKb},
                              {"optimizer state", 256 * kKb},
                              {"unknown", (64 + 96) * kKb}}));
  EXPECT_EQ(t.Of("after_step_bytes"), t.AtPeak());
  EXPECT_EQ(MetricOf(t.Result(), "memory.parameters_bytes"), 128 * kKb);
  EXPECT_EQ(MetricOf(t.Result(), "memory.activations_bytes"), 0);
}

TEST(TensorCategories, ActivationsAreWhatTheBackwardPassGetsAndFrees) {
  TrainedModel t;
  for (int i = 1; i <= 3; ++i) t.Step(i * 1'000);
  t.Block(1'150, 1'520, 400 * kKb);  // of an operator whose gradient is computed
  t.Block(1'160, 2'050, 100 * kKb);  // the same, which the program holds to the next step: the loss
  t.Block(1'250, 1'530, 20 * kKb);   // a mask
  t.Block(1'110, 1'300, 50 * kKb);   // freed before the backward pass began, but at the peak
  t.Block(1'170, 2'600, 9 * kKb);    // held beyond the next pass: what it is for is not known
  EXPECT_EQ(t.AtPeak(), (Rows{{"activations", 520 * kKb}, {"temporary", 50 * kKb}, {"unknown", 9 * kKb}}));
}

TEST(TensorCategories, ParametersAreAsManyAsThereAreGradients) {
  TrainedModel t;
  t.Step(1'000);
  t.Step(2'000);
  t.Block(10, kNever, 128 * kKb);
  t.Block(20, kNever, 128 * kKb);  // one more of the size
  t.Block(30, kNever, 127 * kKb);  // too small
  EXPECT_EQ(t.AtPeak(), (Rows{{"parameters", 128 * kKb}, {"unknown", (128 + 127) * kKb}}));
}

TEST(TensorCategories, WhatModulesAreMadeOfIsKnownByItsStack) {
  TrainedModel t;
  const uint32_t moved = t.StackOf("/venv/site-packages/torch/nn/modules/module.py", "Module._apply");
  const uint32_t made = t.StackOf("/venv/site-packages/torch/nn/modules/linear.py", "Linear.__init__");
  const uint32_t other = t.StackOf("/venv/site-packages/torch/nn/modules/linear.py", "Linear.forward");
  t.Step(1'000);
  t.Block(10, 40, 11 * kKb, moved);       // a copy on the way
  t.Block(20, kNever, 128 * kKb, moved);  // the one with a gradient
  t.Block(30, kNever, 128 * kKb);         // which is no other one
  t.Block(50, kNever, 77 * kKb, made);    // frozen
  t.Block(60, kNever, 5 * kKb, other);
  EXPECT_EQ(t.AtPeak(), (Rows{{"parameters", (128 + 77) * kKb}, {"unknown", (128 + 5) * kKb}}));
}

// Blocks of more than 1 MiB may be larger than what was asked for.
TEST(TensorCategories, LargeBlocksAreNotSplit) {
  TrainedModel t;
  t.Numbered(100, 200, "aten::addmm", 1);
  t.Inside(500, 600, "AddmmBackward0", 1);
  t.Inside(600, 650, "torch::autograd::AccumulateGrad", 0, ", sizes = [[1024, 1024]], types = [c10::BFloat16]");
  t.Block(10, kNever, 3072 * kKb);
  t.Block(20, kNever, 3073 * kKb);
  EXPECT_EQ(t.AtPeak(), (Rows{{"parameters", 3072 * kKb}, {"unknown", 3073 * kKb}}));
}

TEST(TensorCategories, InputsAreCopiedFromTheHostForAStepOrTwo) {
  TrainedModel t;
  for (int i = 1; i <= 4; ++i) t.Step(i * 1'000);
  t.maker.AddRange(1'010, 1'040, "aten::to");
  t.maker.AddCopy(1'030, 1'035, 9, trace::CopyKind::kHostToDevice, t.maker.AddCall(1'020, 1'025, "cudaMemcpyAsync"));
  t.maker.AddRange(1'050, 1'060, "aten::to");
  t.Block(1'015, 2'030, 64 * kKb);
  t.Block(1'016, kNever, 32 * kKb);  // held by all steps that follow
  t.Block(1'055, 2'030, 16 * kKb);   // without a copy
  EXPECT_EQ(t.AtPeak(), (Rows{{"inputs", 64 * kKb}, {"unknown", 48 * kKb}}));
}

// Between the first and the second forward pass no gradient was freed: both add to them.
TEST(TensorCategories, GradientsMayBeAddedUp) {
  TrainedModel t;
  for (int i = 0; i < 2; ++i) {
    t.Numbered(1'000 * i + 100, 1'000 * i + 200, "aten::addmm", 1 + static_cast<uint64_t>(i));
    t.Inside(1'000 * i + 500, 1'000 * i + 600, "AddmmBackward0", 1 + static_cast<uint64_t>(i));
    t.Inside(1'000 * i + 600, 1'000 * i + 650, "torch::autograd::AccumulateGrad", 0,
             ", sizes = [[256, 128]], types = [float]");
  }
  t.Block(540, kNever, 128 * kKb, kNone, t.autograd());
  t.Block(1'540, 1'645, 128 * kKb, kNone, t.autograd());  // added to it
  t.Block(1'560, kNever, 8 * kKb);
  EXPECT_EQ(t.AtPeak(), (Rows{{"gradients", 128 * kKb}, {"temporary", 128 * kKb}, {"unknown", 8 * kKb}}));
}

TEST(TensorCategories, WithoutTrainingThereAreNone) {
  TrainedModel t;
  t.maker.AddRange(0, 100, "aten::mm");
  t.Block(10, kNever, kKb);
  EXPECT_TRUE(TableOf(t.Result(), "tensors_by_category").rows.empty());
  EXPECT_FALSE(HasMetric(t.Result(), "memory.gradients_bytes"));
}

}  // namespace
}  // namespace gprof::test

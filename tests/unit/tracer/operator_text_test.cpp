// Inputs of operators become bytes in the target and text in the writer thread.
#include "tracer/pytorch/operator_text.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

namespace gprof::tracer {
namespace {

constexpr TorchLayout kLayout = {
    .list = 0, .dims = 8, .type = 56, .tensor_tag = 1, .list_tag = 2, .int_tag = 3, .bool_tag = 4};

struct Tensor {
  uint64_t head = 0, count = 0;
  std::array<int64_t, 5> sizes = {};
  uint16_t type = 6;
  explicit Tensor(std::vector<int64_t> all) : count(all.size()) { std::copy(all.begin(), all.end(), sizes.begin()); }
};

struct List {
  const TorchValue* first;
  const TorchValue* last;
};

TorchValue Value(const void* object, uint32_t tag) { return {reinterpret_cast<uint64_t>(object), tag, 0}; }

std::string TextOf(const std::vector<TorchValue>& inputs, bool has_values, std::size_t capacity = 4096) {
  std::array<unsigned char, kMostInputBytes> bytes = {};
  const uint32_t size = PutInputs(kLayout, nullptr, inputs.data(), inputs.size(), has_values, bytes.data());
  std::vector<char> text(capacity);
  const Bytes name{"op", 2};
  text.resize(WriteOperatorText(name, {reinterpret_cast<const char*>(bytes.data()), size}, text.data(), capacity));
  return {text.begin(), text.end()};
}

TEST(OperatorText, SaysSizesAndTypes) {
  const Tensor a({2, 300}), b({});
  const std::vector<TorchValue> inputs = {Value(&a, 1), {7, 3, 0}, Value(nullptr, 1), Value(&b, 1), {0, 99, 0}};
  EXPECT_EQ(TextOf(inputs, false), "op, sizes = [[2, 300], [], [], [], []], types = [float, Scalar, , float, ]");
}

TEST(OperatorText, SaysValuesWhereTheyAreNeeded) {
  const Tensor a({1});
  const std::vector<TorchValue> numbers = {{static_cast<uint64_t>(-130), 3, 0}, {0, 3, 0}};
  const List list{numbers.data(), numbers.data() + 2};
  const std::vector<TorchValue> inputs = {Value(&a, 1), Value(&list, 2), {0xFF00, 4, 0}, {0xFF01, 4, 0}};
  EXPECT_EQ(TextOf(inputs, true),
            "op, sizes = [[1], [], [], []], types = [float, ScalarList, Scalar, Scalar], "
            "inputs = [, [-130, 0], False, True]");
  EXPECT_EQ(TextOf(inputs, false), "op, sizes = [[1], [], [], []], types = [float, ScalarList, Scalar, Scalar]");
}

TEST(OperatorText, IsTheNameAloneWithoutTensors) {
  EXPECT_EQ(TextOf({}, true), "op");
  EXPECT_EQ(TextOf({{1, 3, 0}}, true), "op");
}

TEST(OperatorText, CutsWhatIsTooLong) {
  const Tensor a({1 << 30, 1 << 30, 1 << 30, 1 << 30, 1 << 30});
  const std::vector<TorchValue> many(1000, Value(&a, 1));
  const std::string text = TextOf(many, false, 1 << 20);
  EXPECT_NE(text.find(", …], types"), std::string::npos);
  EXPECT_EQ(TextOf(many, false, 100), text.substr(0, 100));
  const List list{many.data(), many.data() + many.size()};
  const std::string of_list = TextOf({Value(&list, 2)}, false, 1 << 20);
  EXPECT_TRUE(of_list.ends_with("1073741824]]], types = [TensorList]")) << of_list;
}

// In salvage the bytes are whatever was there.
TEST(OperatorText, ReadsAnyBytes) {
  std::array<char, 64> bytes = {}, text = {};
  uint64_t random = 1;
  for (int round = 0; round < 20000; ++round) {
    for (char& byte : bytes) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      byte = static_cast<char>(random >> 56 & (round % 2 == 0 ? 0xFF : 0x0B));
    }
    EXPECT_LE(WriteOperatorText({"op", 2}, {bytes.data(), random >> 40 & 63}, text.data(), text.size()), text.size());
  }
}

}  // namespace
}  // namespace gprof::tracer

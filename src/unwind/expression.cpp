#include "unwind/expression.h"

#include <cstddef>

namespace gprof {
namespace {

// The stack machine. What is asked of an empty stack, or beyond a full one, makes the result none.
class Evaluation {
 public:
  Evaluation(Bytes expression, const Registers& registers, const StackCopy& stack)
      : reader_(expression), registers_(registers), stack_(stack) {}

  std::optional<uint64_t> Run(std::optional<uint64_t> first) {
    if (first) Push(*first);
    while (!reader_.AtEnd() && !is_bad_) Step(reader_.Take<uint8_t>());
    const uint64_t result = Pop();
    return is_bad_ || reader_.is_bad() ? std::nullopt : std::optional<uint64_t>(result);
  }

 private:
  void Push(uint64_t value) {
    is_bad_ |= depth_ == kMost;
    if (!is_bad_) values_[depth_++] = value;
  }
  uint64_t Pop() {
    is_bad_ |= depth_ == 0;
    return is_bad_ ? 0 : values_[--depth_];
  }
  uint64_t Register(uint64_t number) {
    is_bad_ |= number >= kRegisters || !registers_.Knows(static_cast<uint32_t>(number));
    return is_bad_ ? 0 : registers_.values[number];
  }
  uint64_t Word(uint64_t address) {
    const std::optional<uint64_t> word = stack_.Word(address);
    is_bad_ |= !word;
    return word.value_or(0);
  }

  void Step(uint8_t op) {
    if (op >= 0x30 && op <= 0x4f) return Push(op - 0x30u);            // lit0 to lit31
    if (op >= 0x50 && op <= 0x6f) return Push(Register(op - 0x50u));  // reg0 to reg31
    if (op >= 0x70 && op <= 0x8f) return Push(Register(op - 0x70u) + static_cast<uint64_t>(reader_.Sleb()));  // breg
    if (op >= 0x08 && op <= 0x11) return Push(Constant(op));
    switch (op) {
      case 0x06:  // deref
        return Push(Word(Pop()));
      case 0x12:  // dup
        return Pick(0);
      case 0x13:  // drop
        Pop();
        return;
      case 0x14:  // over
        return Pick(1);
      case 0x15:
        return Pick(reader_.Take<uint8_t>());
      case 0x23:  // plus_uconst
        return Push(Pop() + reader_.Uleb());
      case 0x92: {  // bregx
        const uint64_t number = reader_.Uleb();
        return Push(Register(number) + static_cast<uint64_t>(reader_.Sleb()));
      }
      case 0x96:  // nop
        return;
      default:
        return Operate(op);
    }
  }

  uint64_t Constant(uint8_t op) {
    switch (op) {
      case 0x08:
        return reader_.Take<uint8_t>();
      case 0x09:
        return static_cast<uint64_t>(int64_t{reader_.Take<int8_t>()});
      case 0x0a:
        return reader_.Take<uint16_t>();
      case 0x0b:
        return static_cast<uint64_t>(int64_t{reader_.Take<int16_t>()});
      case 0x0c:
        return reader_.Take<uint32_t>();
      case 0x0d:
        return static_cast<uint64_t>(int64_t{reader_.Take<int32_t>()});
      case 0x10:
        return reader_.Uleb();
      case 0x11:
        return static_cast<uint64_t>(reader_.Sleb());
      default:
        return reader_.Take<uint64_t>();
    }
  }

  void Pick(std::size_t below) {
    is_bad_ |= below >= depth_;
    if (!is_bad_) Push(values_[depth_ - 1 - below]);
  }

  void Operate(uint8_t op) {
    const uint64_t right = Pop(), left = Pop();
    const auto signed_left = static_cast<int64_t>(left), signed_right = static_cast<int64_t>(right);
    switch (op) {
      case 0x16:  // swap
        Push(right);
        return Push(left);
      case 0x1a:
        return Push(left & right);
      case 0x1c:
        return Push(left - right);
      case 0x1e:
        return Push(left * right);
      case 0x21:
        return Push(left | right);
      case 0x22:
        return Push(left + right);
      case 0x24:
        return Push(right < 64 ? left << right : 0);
      case 0x25:
        return Push(right < 64 ? left >> right : 0);
      case 0x27:
        return Push(left ^ right);
      case 0x29:
        return Push(left == right);
      case 0x2a:
        return Push(signed_left >= signed_right);
      case 0x2b:
        return Push(signed_left > signed_right);
      case 0x2c:
        return Push(signed_left <= signed_right);
      case 0x2d:
        return Push(signed_left < signed_right);
      case 0x2e:
        return Push(left != right);
      default:
        is_bad_ = true;
    }
  }

  static constexpr std::size_t kMost = 16;
  ByteReader reader_;
  const Registers& registers_;
  const StackCopy& stack_;
  uint64_t values_[kMost] = {};
  std::size_t depth_ = 0;
  bool is_bad_ = false;
};

}  // namespace

std::optional<uint64_t> Evaluate(Bytes expression, const Registers& registers, const StackCopy& stack,
                                 std::optional<uint64_t> first) {
  return Evaluation(expression, registers, stack).Run(first);
}

}  // namespace gprof

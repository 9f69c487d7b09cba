#include "tracer/pytorch/operator_inputs.h"

namespace gprof::tracer {
namespace {

constexpr uint64_t kMostSizes = 16;              // of a tensor; more are left out
constexpr std::ptrdiff_t kMostValueBytes = 200;  // that a tensor of so many sizes takes

class InputWriter {
 public:
  InputWriter(const TorchLayout& layout, const char* undefined_tensor, bool has_values, unsigned char* out)
      : layout_(layout),
        undefined_tensor_(undefined_tensor),
        has_values_(has_values),
        begin_(out),
        at_(out),
        end_(out + kMostInputBytes) {}

  void PutAll(const TorchValue* inputs, uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) {
      if (!HasRoom()) return Put(OperatorInput::kCut);
      if (inputs[i].tag == layout_.list_tag) {
        PutList(inputs[i]);
      } else {
        PutOne(inputs[i]);
      }
    }
  }
  uint32_t bytes() const { return static_cast<uint32_t>(at_ - begin_); }

 private:
  bool HasRoom() const { return end_ - at_ > kMostValueBytes; }
  void Put(OperatorInput kind) { *at_++ = static_cast<unsigned char>(kind); }
  void PutNumber(uint64_t number) {
    for (; number >= 0x80; number >>= 7) *at_++ = static_cast<unsigned char>(number | 0x80);
    *at_++ = static_cast<unsigned char>(number);
  }

  void PutOne(const TorchValue& value) {
    if (value.tag == layout_.tensor_tag) return PutTensor(reinterpret_cast<const char*>(value.payload));
    const bool is_int = value.tag == layout_.int_tag;
    if (!is_int && value.tag != layout_.bool_tag) return Put(OperatorInput::kOther);
    if (!has_values_) return Put(OperatorInput::kScalar);
    if (!is_int) return Put((value.payload & 0xFF) != 0 ? OperatorInput::kTrue : OperatorInput::kFalse);
    Put(OperatorInput::kInt);
    PutNumber(value.payload << 1 ^ (value.payload >> 63 != 0 ? ~uint64_t{0} : 0));
  }

  void PutTensor(const char* tensor) {
    if (tensor == nullptr || tensor == undefined_tensor_) return Put(OperatorInput::kNoTensor);
    Put(OperatorInput::kTensor);
    const auto type = ReadTorch<uint16_t>(tensor, layout_.type);
    *at_++ = static_cast<unsigned char>(type < 0xFF ? type : 0xFF);
    const TorchDims dims = DimsOf(layout_, tensor);
    const uint64_t count = dims.count < kMostSizes ? dims.count : kMostSizes;
    PutNumber(count);
    for (uint64_t i = 0; i < count; ++i) PutNumber(static_cast<uint64_t>(dims.sizes[i]));
  }

  void PutList(const TorchValue& value) {
    const auto* const list = reinterpret_cast<const char*>(value.payload);
    if (list == nullptr || list == undefined_tensor_) return Put(OperatorInput::kOther);  // libtorch's null, too
    const auto* const first = ReadTorch<const TorchValue*>(list, layout_.list);
    const auto* const last = ReadTorch<const TorchValue*>(list, layout_.list + 8);
    const auto count = static_cast<uint64_t>(last - first);
    if (count != 0 && first->tag != layout_.tensor_tag && !has_values_) return Put(OperatorInput::kScalarList);
    Put(OperatorInput::kList);
    unsigned char* const number = at_;  // a byte, as it is 32 at most
    *at_++ = 0;
    for (uint64_t i = 0; i < count && i < kMostListed && HasRoom(); ++i) {
      PutOne(first[i]);
      ++*number;
    }
  }

  const TorchLayout& layout_;
  const char* undefined_tensor_;
  bool has_values_;
  unsigned char* begin_;
  unsigned char* at_;
  unsigned char* end_;
};

}  // namespace

uint32_t PutInputs(const TorchLayout& layout, const char* undefined_tensor, const TorchValue* inputs, uint64_t count,
                   bool has_values, unsigned char* out) {
  InputWriter writer(layout, undefined_tensor, has_values, out);
  writer.PutAll(inputs, count);
  return writer.bytes();
}

}  // namespace gprof::tracer

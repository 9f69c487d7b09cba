#include "tracer/pytorch/operator_text.h"

#include <cstdint>
#include <cstring>
#include <iterator>

namespace gprof::tracer {
namespace {

// As torch.profiler calls them, by number (c10::ScalarType).
constexpr const char* kTypeNames[] = {"unsigned char",
                                      "signed char",
                                      "short int",
                                      "int",
                                      "long int",
                                      "c10::Half",
                                      "float",
                                      "double",
                                      "c10::complex<c10::Half>",
                                      "c10::complex<float>",
                                      "c10::complex<double>",
                                      "bool",
                                      "c10::qint8",
                                      "c10::quint8",
                                      "c10::qint32",
                                      "c10::BFloat16",
                                      "c10::quint4x2",
                                      "c10::quint2x4",
                                      "c10::bits1x8",
                                      "c10::bits2x4",
                                      "c10::bits4x2",
                                      "c10::bits8",
                                      "c10::bits16",
                                      "c10::Float8_e5m2",
                                      "c10::Float8_e4m3fn",
                                      "c10::Float8_e5m2fnuz",
                                      "c10::Float8_e4m3fnuz",
                                      "short unsigned int",
                                      "unsigned int",
                                      "long unsigned int"};

class TextWriter {
 public:
  TextWriter(char* out, std::size_t capacity) : begin_(out), at_(out), end_(out + capacity) {}
  void Put(const char* text) { Put({text, std::strlen(text)}); }
  void Put(Bytes text) {
    const std::size_t room = static_cast<std::size_t>(end_ - at_);
    const std::size_t size = text.size < room ? text.size : room;
    std::memcpy(at_, text.data, size);
    at_ += size;
  }
  void PutNumber(uint64_t number) {
    char digits[20];
    std::size_t n = sizeof digits;
    do digits[--n] = static_cast<char>('0' + number % 10);
    while ((number /= 10) != 0);
    Put({digits + n, sizeof digits - n});
  }
  std::size_t size() const { return static_cast<std::size_t>(at_ - begin_); }

 private:
  char* begin_;
  char* at_;
  char* end_;
};

// What of each input is written.
enum class Part : uint8_t { kSizes, kTypes, kValues };

class InputReader {
 public:
  InputReader(Bytes inputs, Part part, TextWriter* out)
      : at_(inputs.data), end_(inputs.data + inputs.size), part_(part), out_(out) {}

  void WriteAll() {
    out_->Put("[");
    for (bool is_first = true; at_ != end_; is_first = false) {
      if (!is_first) out_->Put(", ");
      WriteOne(false);
    }
    out_->Put("]");
  }
  bool has_tensor() const { return has_tensor_; }
  bool has_values() const { return has_values_; }

 private:
  uint8_t Byte() { return at_ == end_ ? 0 : static_cast<uint8_t>(*at_++); }
  uint64_t Number() {
    uint64_t number = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const uint8_t byte = Byte();
      number |= uint64_t{byte & 0x7Fu} << shift;
      if (byte < 0x80) break;
    }
    return number;
  }

  void PutOf(Part part, const char* text) {
    if (part_ == part) out_->Put(text);
  }

  void WriteOne(bool is_listed) {
    const auto kind = static_cast<OperatorInput>(Byte());
    if (kind == OperatorInput::kTensor) return WriteTensor(is_listed);
    if (kind == OperatorInput::kList) return WriteList();
    if (kind == OperatorInput::kCut) return out_->Put("…");
    if (kind == OperatorInput::kInt) WriteInt();
    const bool is_value = kind == OperatorInput::kFalse || kind == OperatorInput::kTrue;
    if (is_value) PutOf(Part::kValues, kind == OperatorInput::kTrue ? "True" : "False");
    if (kind == OperatorInput::kScalarList) PutOf(Part::kTypes, "ScalarList");
    const bool is_scalar = is_value || kind == OperatorInput::kScalar || kind == OperatorInput::kInt;
    if (is_scalar && !is_listed) PutOf(Part::kTypes, "Scalar");
    if (!is_listed || kind == OperatorInput::kNoTensor) PutOf(Part::kSizes, "[]");
    has_values_ = has_values_ || is_value || kind == OperatorInput::kInt;
  }

  void WriteInt() {
    const uint64_t folded = Number();
    if (part_ != Part::kValues) return;
    if ((folded & 1) != 0) out_->Put("-");
    out_->PutNumber((folded >> 1) + (folded & 1));
  }

  void WriteTensor(bool is_listed) {
    has_tensor_ = true;
    const uint8_t type = Byte();
    const uint64_t count = Number();
    if (!is_listed) PutOf(Part::kTypes, type < std::size(kTypeNames) ? kTypeNames[type] : "?");
    PutOf(Part::kSizes, "[");
    for (uint64_t i = 0; i < count && at_ != end_; ++i) {
      const uint64_t size = Number();
      if (part_ != Part::kSizes) continue;
      if (i != 0) out_->Put(", ");
      out_->PutNumber(size);
    }
    PutOf(Part::kSizes, "]");
  }

  void WriteList() {
    const uint8_t count = Byte();
    const bool is_of_tensors = at_ != end_ && count != 0 && *at_ <= static_cast<char>(OperatorInput::kNoTensor);
    PutOf(Part::kTypes, is_of_tensors ? "TensorList" : "ScalarList");
    const bool has_brackets = part_ == (is_of_tensors ? Part::kSizes : Part::kValues);
    if (part_ == Part::kSizes && !is_of_tensors) out_->Put("[]");
    if (has_brackets) out_->Put("[");
    for (uint8_t i = 0; i < count && at_ != end_; ++i) {
      if (i != 0 && has_brackets) out_->Put(", ");
      WriteOne(true);
    }
    if (has_brackets) out_->Put("]");
  }

  const char* at_;
  const char* end_;
  Part part_;
  TextWriter* out_;
  bool has_tensor_ = false, has_values_ = false;
};

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

std::size_t WriteOperatorText(Bytes name, Bytes inputs, char* out, std::size_t capacity) {
  TextWriter text(out, capacity);
  text.Put(name);
  const std::size_t name_alone = text.size();
  text.Put(", sizes = ");
  InputReader sizes(inputs, Part::kSizes, &text);
  sizes.WriteAll();
  if (!sizes.has_tensor()) return name_alone;
  text.Put(", types = ");
  InputReader(inputs, Part::kTypes, &text).WriteAll();
  if (!sizes.has_values()) return text.size();
  text.Put(", inputs = ");
  InputReader(inputs, Part::kValues, &text).WriteAll();
  return text.size();
}

uint32_t PutInputs(const TorchLayout& layout, const char* undefined_tensor, const TorchValue* inputs, uint64_t count,
                   bool has_values, unsigned char* out) {
  InputWriter writer(layout, undefined_tensor, has_values, out);
  writer.PutAll(inputs, count);
  return writer.bytes();
}

}  // namespace gprof::tracer

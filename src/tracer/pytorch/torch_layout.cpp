#include "tracer/pytorch/torch_layout.h"

#include "tracer/system/system_calls.h"

namespace gprof::tracer {
namespace {

constexpr uint16_t kMostTensorBytes = 160, kMostFunctionBytes = 384, kMostListBytes = 64;
constexpr uint64_t kSumInputs = 4;

bool CanRead(const char* at, uint64_t bytes) {
  if (reinterpret_cast<uintptr_t>(at) % 8 != 0) return false;
  for (uint64_t i = 0; i < bytes; i += 8) {
    if (!CanReadWord(at + i)) return false;
  }
  return true;
}

bool HasSizes(const TorchLayout& layout, const char* tensor, const int64_t* sizes, uint64_t count) {
  if (ReadTorch<uint64_t>(tensor, layout.dims) != count) return false;
  const TorchDims dims = DimsOf(layout, tensor);
  const auto bytes = count * sizeof *sizes;
  return CanRead(reinterpret_cast<const char*>(dims.sizes), bytes) && std::memcmp(dims.sizes, sizes, bytes) == 0;
}

bool FindDims(const KnownTensors& known, TorchLayout* layout) {
  constexpr int64_t kSmall[] = {3, 5}, kDeep[] = {2, 1, 3, 1, 1, 7};
  TorchLayout tried;
  for (tried.dims = 8; tried.dims < kMostTensorBytes - 48; tried.dims += 8) {
    if (!HasSizes(tried, known.small, kSmall, 2) || !HasSizes(tried, known.deep, kDeep, 6)) continue;
    if (layout->dims != 0) return false;
    layout->dims = tried.dims;
  }
  return layout->dims != 0;
}

// It follows the sizes, after which come where the tensor begins and how many elements it has.
bool FindType(const KnownTensors& known, TorchLayout* layout) {
  constexpr uint16_t kFloat = 6, kInt64 = 4;
  for (uint16_t at = layout->dims + 88; at < layout->dims + 120; at += 2) {
    if (ReadTorch<uint16_t>(known.small, at) != kFloat || ReadTorch<uint16_t>(known.deep, at) != kInt64) continue;
    if (layout->type != 0) return false;
    layout->type = at;
  }
  return layout->type != 0;
}

bool IsTensor(const TorchValue& value, const char* tensor) {
  return value.payload == reinterpret_cast<uint64_t>(tensor);
}

const TorchValue* InputsAt(const char* function, uint16_t offset, uint64_t count) {
  const auto* const inputs = ReadTorch<const char*>(function, offset);
  const bool is_it = ReadTorch<uint64_t>(function, offset + 8) == count && CanRead(inputs, count * sizeof(TorchValue));
  return is_it ? reinterpret_cast<const TorchValue*>(inputs) : nullptr;
}

// Of the numbers 1 and 0.
bool FindList(const TorchValue& value, TorchLayout* layout) {
  const auto* const list = reinterpret_cast<const char*>(value.payload);
  if (!CanRead(list, kMostListBytes)) return false;
  for (uint16_t at = 8; at + 16 <= kMostListBytes; at += 8) {
    const auto* const first = ReadTorch<const char*>(list, at);
    if (ReadTorch<const char*>(list, at + 8) != first + 2 * sizeof(TorchValue)) continue;
    if (!CanRead(first, 2 * sizeof(TorchValue))) continue;
    const auto* const values = reinterpret_cast<const TorchValue*>(first);
    if (values[0].payload != 1 || values[1].payload != 0 || values[0].tag != values[1].tag) continue;
    layout->list = at;
    layout->int_tag = values[0].tag;
    return true;
  }
  return false;
}

bool AreTagsApart(const TorchLayout& l) {
  return l.tensor_tag != l.list_tag && l.tensor_tag != l.int_tag && l.tensor_tag != l.bool_tag &&
         l.list_tag != l.int_tag && l.list_tag != l.bool_tag && l.int_tag != l.bool_tag;
}

}  // namespace

bool FindTensorLayout(const KnownTensors& known, TorchLayout* layout) {
  if (!CanRead(known.small, kMostTensorBytes) || !CanRead(known.deep, kMostTensorBytes)) return false;
  return FindDims(known, layout) && FindType(known, layout);
}

bool FindFunctionLayout(const char* function, const KnownTensors& known, int64_t sequence, TorchLayout* layout) {
  if (!CanRead(function, kMostFunctionBytes)) return false;
  for (uint16_t at = 16; at + 16 <= kMostFunctionBytes; at += 8) {
    const TorchValue* const inputs = InputsAt(function, at, kSumInputs);
    if (inputs == nullptr || !IsTensor(inputs[0], known.small) || !FindList(inputs[1], layout)) continue;
    // Only the first byte of a bool is its own.
    if ((inputs[2].payload & 0xFF) != 1 || ReadTorch<int64_t>(function, at - 8) != sequence) continue;
    layout->inputs = at;
    layout->sequence = at - 8;
    layout->tensor_tag = inputs[0].tag;
    layout->list_tag = inputs[1].tag;
    layout->bool_tag = inputs[2].tag;
    return AreTagsApart(*layout);
  }
  return false;
}

bool ReadsFunction(const char* function, const KnownTensors& known, int64_t sequence, const TorchLayout& layout) {
  if (!CanRead(function, kMostFunctionBytes)) return false;
  const TorchValue* const inputs = InputsAt(function, layout.inputs, 2);
  if (inputs == nullptr || inputs[0].tag != layout.list_tag || inputs[1].tag != layout.int_tag) return false;
  if (ReadTorch<int64_t>(function, layout.sequence) != sequence || inputs[1].payload != 0) return false;
  const auto* const list = reinterpret_cast<const char*>(inputs[0].payload);
  if (!CanRead(list, kMostListBytes)) return false;
  const auto* const first = ReadTorch<const char*>(list, layout.list);
  if (ReadTorch<const char*>(list, layout.list + 8) != first + 2 * sizeof(TorchValue)) return false;
  if (!CanRead(first, 2 * sizeof(TorchValue))) return false;
  const auto* const values = reinterpret_cast<const TorchValue*>(first);
  return values[0].tag == layout.tensor_tag && IsTensor(values[0], known.small) && IsTensor(values[1], known.small);
}

}  // namespace gprof::tracer

#include "tracer/gemm/gemm_functions.h"

#include "tracer/gemm/gemm_libraries.h"

namespace gprof::tracer {
namespace {

constexpr uint32_t kMostAlignment = 16;

// cublasComputeType_t, cublasMath_t.
constexpr uint8_t kCompute16 = 64, kCompute32 = 68, kCompute64 = 70, kComputeFastTf32 = 77;
constexpr int kTf32Math = 3;

bool Narrow(uintptr_t word, bool is_large, uint32_t* size) {
  const int64_t value = is_large ? static_cast<int64_t>(word) : static_cast<int32_t>(word);
  *size = static_cast<uint32_t>(value);
  return value >= 0 && value <= UINT32_MAX;
}

uint8_t AlignmentOf(uintptr_t a, uintptr_t b, uintptr_t c) {
  const uintptr_t all = a | b | c | kMostAlignment;
  return static_cast<uint8_t>(all & -all);
}

uint8_t ComputeTypeOf(uint8_t type) {
  switch (static_cast<GemmType>(type)) {
    case GemmType::kFp64:
    case GemmType::kComplex128:
      return kCompute64;
    case GemmType::kFp16:
      return kCompute16;
    default:
      return kCompute32;
  }
}

bool IsFp32(uint8_t type) {
  return type == static_cast<uint8_t>(GemmType::kFp32) || type == static_cast<uint8_t>(GemmType::kComplex64);
}

// Whether FP32 goes through tensor cores is a setting of the handle.
void ApplyMathMode(uintptr_t handle, GemmShape* shape) {
  if (shape->compute_type != kCompute32 || !IsFp32(shape->a_type) || Cublas().get_math_mode == nullptr) return;
  int mode = 0;
  if (Cublas().get_math_mode(handle, &mode) == 0 && (mode & 0xf) == kTf32Math) shape->compute_type = kComputeFastTf32;
}

bool ShapeOfCall(std::size_t number, const GemmWords& words, GemmShape* shape) {
  const GemmFunction& function = GemmFunctionAt(number);
  const GemmPlaces at = PlacesOf(function.form);
  const bool is_large = HasLargeSizes(number) || function.form == GemmForm::kXt;
  shape->batch = 1;
  if (!Narrow(words[3], is_large, &shape->m) || !Narrow(words[4], is_large, &shape->n) ||
      !Narrow(words[5], is_large, &shape->k) || !Narrow(words[at.lda], is_large, &shape->lda) ||
      !Narrow(words[at.ldb], is_large, &shape->ldb) || !Narrow(words[at.ldc], is_large, &shape->ldc) ||
      (at.batch != 0 && !Narrow(words[at.batch], is_large, &shape->batch)))
    return false;
  const auto own = static_cast<uint8_t>(function.type);
  shape->a_type = at.a_type != 0 ? static_cast<uint8_t>(words[at.a_type]) : own;
  shape->b_type = at.b_type != 0 ? static_cast<uint8_t>(words[at.b_type]) : own;
  shape->c_type = at.c_type != 0 ? static_cast<uint8_t>(words[at.c_type]) : own;
  shape->compute_type = at.compute_type != 0 ? static_cast<uint8_t>(words[at.compute_type]) : ComputeTypeOf(own);
  shape->transposes = static_cast<uint8_t>((words[1] & 3) | (words[2] & 3) << 2);
  if (at.a != 0) shape->alignment = AlignmentOf(words[at.a], words[at.b], words[at.c]);
  if (function.form != GemmForm::kXt) ApplyMathMode(words[0], shape);
  return true;
}

uintptr_t ElementOf(uintptr_t array, uint32_t place, bool is_large) {
  if (is_large) return reinterpret_cast<const uint64_t*>(array)[place];
  return reinterpret_cast<const uint32_t*>(array)[place];
}

// Attributes of cuBLASLt's descriptors.
enum LayoutAttribute { kLayoutType = 0, kLayoutRows = 2, kLayoutColumns = 3, kLayoutLd = 4, kLayoutBatch = 5 };
enum MatmulAttribute { kComputeType = 0, kTransposeA = 3, kTransposeB = 4 };

template <class T>
bool Ask(CublasLtGet get, uintptr_t descriptor, int attribute, T* value) {
  std::size_t size = 0;
  return get(descriptor, attribute, value, sizeof(T), &size) == 0;
}

struct Layout {
  uint32_t type = 0;
  uint64_t rows = 0, columns = 0;
  int64_t ld = 0;
};
bool Read(uintptr_t descriptor, Layout* layout) {
  const CublasLtGet get = Cublas().layout_attribute;
  return Ask(get, descriptor, kLayoutType, &layout->type) && Ask(get, descriptor, kLayoutRows, &layout->rows) &&
         Ask(get, descriptor, kLayoutColumns, &layout->columns) && Ask(get, descriptor, kLayoutLd, &layout->ld);
}

// cublasLtMatmul(handle, operation, alpha, A, layout, B, layout, beta, C, layout, D, layout, ...)
bool ShapeOfLtCall(const GemmWords& words, GemmShape* shape) {
  if (Cublas().layout_attribute == nullptr || Cublas().matmul_attribute == nullptr) return false;
  Layout a, b, d;
  uint32_t compute = 0, transpose_a = 0, transpose_b = 0;
  int32_t batch = 1;
  const CublasLtGet get = Cublas().matmul_attribute;
  if (!Read(words[4], &a) || !Read(words[6], &b) || !Read(words[11], &d) ||
      !Ask(get, words[1], kComputeType, &compute) || !Ask(get, words[1], kTransposeA, &transpose_a) ||
      !Ask(get, words[1], kTransposeB, &transpose_b) ||
      !Ask(Cublas().layout_attribute, words[11], kLayoutBatch, &batch))
    return false;
  const uint64_t k = transpose_a == 0 ? a.columns : a.rows;
  if (!Narrow(d.rows, true, &shape->m) || !Narrow(d.columns, true, &shape->n) || !Narrow(k, true, &shape->k) ||
      !Narrow(static_cast<uintptr_t>(a.ld), true, &shape->lda) ||
      !Narrow(static_cast<uintptr_t>(b.ld), true, &shape->ldb) ||
      !Narrow(static_cast<uintptr_t>(d.ld), true, &shape->ldc) ||
      !Narrow(static_cast<uintptr_t>(batch), false, &shape->batch))
    return false;
  shape->a_type = static_cast<uint8_t>(a.type);
  shape->b_type = static_cast<uint8_t>(b.type);
  shape->c_type = static_cast<uint8_t>(d.type);
  shape->compute_type = static_cast<uint8_t>(compute);
  shape->transposes = static_cast<uint8_t>((transpose_a & 3) | (transpose_b & 3) << 2);
  shape->alignment = AlignmentOf(words[3], words[5], words[10]);
  return true;
}

}  // namespace

bool ShapeOf(std::size_t number, const GemmWords& words, GemmShape* shape) {
  return GemmFunctionAt(number).form == GemmForm::kLt ? ShapeOfLtCall(words, shape) : ShapeOfCall(number, words, shape);
}

uint32_t GroupsOf(std::size_t number, const GemmWords& words) {
  const uint8_t sizes = PlacesOf(GemmFunctionAt(number).form).batch;  // the number stands before them
  uint32_t groups = 0;
  if (!Narrow(words[sizes - 1u], HasLargeSizes(number), &groups)) return 0;
  return groups < kMostGroups ? groups : kMostGroups;
}

bool ShapeOfGroup(std::size_t number, const GemmWords& words, uint32_t group, GemmShape* shape) {
  const GemmPlaces at = PlacesOf(GemmFunctionAt(number).form);
  GemmWords one = words;
  for (const std::size_t place : {1, 2}) one[place] = ElementOf(words[place], group, false);
  for (const std::size_t place : {std::size_t{3}, std::size_t{4}, std::size_t{5}, std::size_t{at.lda},
                                  std::size_t{at.ldb}, std::size_t{at.ldc}, std::size_t{at.batch}}) {
    one[place] = ElementOf(words[place], group, HasLargeSizes(number));
  }
  return ShapeOfCall(number, one, shape);
}

}  // namespace gprof::tracer

// The functions of cuBLAS that multiply matrices, and what their arguments say. All arguments are words: scalars are
// handed over by address.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace gprof::tracer {

enum class GemmForm : uint8_t {
  kPlain,      // handle, transa, transb, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc
  kArrays,     // the same with arrays of matrices, and their number at the end
  kStrided,    // a stride behind each lda, and the number at the end
  kEx,         // a type behind each matrix; then the type to compute in, and the algorithm
  kExTyped,    // the same without these two
  kExArrays,   // as kEx, with arrays of matrices, and their number before the type to compute in
  kExStrided,  // the same with strides
  kXt,         // as kPlain, with sizes of 64 bits and a handle of another kind
  kGrouped,    // as kArrays; all but the handle are arrays with an element a group; the number of groups, their sizes
  kExGrouped,  // as kExArrays, in the same way
  kLt,         // cublasLtMatmul: what it does is in descriptors
};

// As cudaDataType_t numbers them.
enum class GemmType : uint8_t { kFp32 = 0, kFp64 = 1, kFp16 = 2, kComplex64 = 4, kComplex128 = 5 };

struct GemmFunction {
  const char* name;
  GemmForm form;
  GemmType type = GemmType::kFp32;  // of those that have it in their name
};

inline constexpr GemmFunction kGemmFunctions[] = {
    {"cublasSgemm_v2", GemmForm::kPlain, GemmType::kFp32},
    {"cublasDgemm_v2", GemmForm::kPlain, GemmType::kFp64},
    {"cublasHgemm", GemmForm::kPlain, GemmType::kFp16},
    {"cublasCgemm_v2", GemmForm::kPlain, GemmType::kComplex64},
    {"cublasZgemm_v2", GemmForm::kPlain, GemmType::kComplex128},
    {"cublasCgemm3m", GemmForm::kPlain, GemmType::kComplex64},
    {"cublasZgemm3m", GemmForm::kPlain, GemmType::kComplex128},
    {"cublasSgemmBatched", GemmForm::kArrays, GemmType::kFp32},
    {"cublasDgemmBatched", GemmForm::kArrays, GemmType::kFp64},
    {"cublasHgemmBatched", GemmForm::kArrays, GemmType::kFp16},
    {"cublasCgemmBatched", GemmForm::kArrays, GemmType::kComplex64},
    {"cublasZgemmBatched", GemmForm::kArrays, GemmType::kComplex128},
    {"cublasCgemm3mBatched", GemmForm::kArrays, GemmType::kComplex64},
    {"cublasSgemmStridedBatched", GemmForm::kStrided, GemmType::kFp32},
    {"cublasDgemmStridedBatched", GemmForm::kStrided, GemmType::kFp64},
    {"cublasHgemmStridedBatched", GemmForm::kStrided, GemmType::kFp16},
    {"cublasCgemmStridedBatched", GemmForm::kStrided, GemmType::kComplex64},
    {"cublasZgemmStridedBatched", GemmForm::kStrided, GemmType::kComplex128},
    {"cublasCgemm3mStridedBatched", GemmForm::kStrided, GemmType::kComplex64},
    {"cublasSgemmEx", GemmForm::kExTyped, GemmType::kFp32},
    {"cublasCgemmEx", GemmForm::kExTyped, GemmType::kComplex64},
    {"cublasCgemm3mEx", GemmForm::kExTyped, GemmType::kComplex64},
    {"cublasGemmEx", GemmForm::kEx},
    {"cublasGemmBatchedEx", GemmForm::kExArrays},
    {"cublasGemmStridedBatchedEx", GemmForm::kExStrided},
    {"cublasXtSgemm", GemmForm::kXt, GemmType::kFp32},
    {"cublasXtDgemm", GemmForm::kXt, GemmType::kFp64},
    {"cublasXtCgemm", GemmForm::kXt, GemmType::kComplex64},
    {"cublasXtZgemm", GemmForm::kXt, GemmType::kComplex128},
    {"cublasSgemmGroupedBatched", GemmForm::kGrouped, GemmType::kFp32},
    {"cublasDgemmGroupedBatched", GemmForm::kGrouped, GemmType::kFp64},
    {"cublasGemmGroupedBatchedEx", GemmForm::kExGrouped},
    {"cublasLtMatmul", GemmForm::kLt},
};
inline constexpr std::size_t kGemmFunctionCount = std::size(kGemmFunctions);

// Each of them with its number; those of libcublas exist a second time, with sizes of 64 bits.
inline constexpr std::size_t kGemmNumbers = 2 * kGemmFunctionCount;
static_assert(kGemmNumbers <= 256, "rows have eight bits for it");
constexpr bool HasLargeSizes(std::size_t number) { return number >= kGemmFunctionCount; }
constexpr const GemmFunction& GemmFunctionAt(std::size_t number) { return kGemmFunctions[number % kGemmFunctionCount]; }
constexpr bool IsGemm(std::size_t number) {
  const GemmForm form = GemmFunctionAt(number).form;
  return !HasLargeSizes(number) || (form != GemmForm::kLt && form != GemmForm::kXt);
}
constexpr bool IsGrouped(GemmForm form) { return form == GemmForm::kGrouped || form == GemmForm::kExGrouped; }

struct GemmSymbol {
  char text[40];
};
constexpr GemmSymbol GemmSymbolOf(std::size_t number) {
  GemmSymbol symbol{};
  std::size_t size = 0;
  for (const char* c = GemmFunctionAt(number).name; *c != 0; ++c) symbol.text[size++] = *c;
  if (HasLargeSizes(number)) {
    for (const char* c = "_64"; *c != 0; ++c) symbol.text[size++] = *c;
  }
  return symbol;
}

// Where the arguments of a form are. 0: it has none.
struct GemmPlaces {
  uint8_t count, a, b, c, lda, ldb, ldc, a_type, b_type, c_type, batch, compute_type;
};
constexpr GemmPlaces PlacesOf(GemmForm form) {
  switch (form) {
    case GemmForm::kPlain:
    case GemmForm::kXt:
      return {14, 7, 9, 12, 8, 10, 13, 0, 0, 0, 0, 0};
    case GemmForm::kArrays:
      return {15, 0, 0, 0, 8, 10, 13, 0, 0, 0, 14, 0};
    case GemmForm::kStrided:
      return {18, 7, 10, 14, 8, 11, 15, 0, 0, 0, 17, 0};
    case GemmForm::kEx:
      return {19, 7, 10, 14, 9, 12, 16, 8, 11, 15, 0, 17};
    case GemmForm::kExTyped:
      return {17, 7, 10, 14, 9, 12, 16, 8, 11, 15, 0, 0};
    case GemmForm::kExArrays:
      return {20, 0, 0, 0, 9, 12, 16, 8, 11, 15, 17, 18};
    case GemmForm::kExStrided:
      return {23, 7, 11, 16, 9, 13, 18, 8, 12, 17, 20, 21};
    case GemmForm::kGrouped:
      return {16, 0, 0, 0, 8, 10, 13, 0, 0, 0, 15, 0};
    case GemmForm::kExGrouped:
      return {20, 0, 0, 0, 9, 12, 16, 8, 11, 15, 18, 19};
    case GemmForm::kLt:
      return {16, 3, 5, 10, 0, 0, 0, 0, 0, 0, 0, 0};
  }
  return {};
}
inline constexpr std::size_t kMostGemmArguments = 23;

// What a call multiplied.
struct GemmShape {
  uint32_t m = 0, n = 0, k = 0, batch = 0;
  uint32_t lda = 0, ldb = 0, ldc = 0;
  uint8_t a_type = 0, b_type = 0, c_type = 0;  // as cudaDataType_t numbers them
  uint8_t compute_type = 0;                    // as cublasComputeType_t numbers them
  uint8_t transposes = 0;                      // of A, and four times that of B: 0 not, 1 transposed, 2 conjugate too
  uint8_t alignment = 0;                       // bytes that the addresses of all matrices are multiples of, up to 16
};

using GemmWords = std::array<uintptr_t, kMostGemmArguments>;

// False where sizes do not fit, or the library does not say. [the thread that called it]
bool ShapeOf(std::size_t number, const GemmWords& words, GemmShape* shape);

// Of a call with groups, each of which is a batch of its own shape: how many are recorded, and the shape of one.
inline constexpr uint32_t kMostGroups = 256;
uint32_t GroupsOf(std::size_t number, const GemmWords& words);
bool ShapeOfGroup(std::size_t number, const GemmWords& words, uint32_t group, GemmShape* shape);

}  // namespace gprof::tracer

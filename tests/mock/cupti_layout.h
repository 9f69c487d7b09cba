// What one version of libcupti looks like: record sizes and the last callback ids. The numbers were read from the real
// libraries 11.8.87, 12.0.146, 12.8.90 and 13.0.1 (cuptiActivityGetNextRecord on synthetic buffers,
// cuptiGetCallbackName).
#pragma once

#include <cstdint>

#ifndef MOCK_CUDA_VERSION
#error "MOCK_CUDA_VERSION is 11080, 12000, 12080 or 13000"
#endif

namespace mock {

enum VersionIndex { k11_8, k12_0, k12_8, k13_0 };

inline constexpr int kVersion = MOCK_CUDA_VERSION == 11080   ? k11_8
                                : MOCK_CUDA_VERSION == 12000 ? k12_0
                                : MOCK_CUDA_VERSION == 12080 ? k12_8
                                                             : k13_0;

// The wheel of 12.0 answers 18 as well, though its kernel records are longer than those of 11.8.
inline constexpr uint32_t kCuptiVersions[] = {18, 18, 26, 130001};
inline constexpr uint32_t kCuptiVersion = kCuptiVersions[kVersion];
inline constexpr uint32_t kLastDriverIds[] = {676, 700, 781, 806};
inline constexpr uint32_t kLastRuntimeIds[] = {433, 444, 486, 522};
inline constexpr uint32_t kLastDriverId = kLastDriverIds[kVersion];
inline constexpr uint32_t kLastRuntimeId = kLastRuntimeIds[kVersion];

struct Stride {
  uint32_t kind;
  uint16_t bytes[4];  // 0: the library does not know the kind
};

inline constexpr Stride kStrides[] = {
    {1, {88, 88, 96, 96}},      {2, {88, 88, 88, 88}},      {3, {200, 208, 208, 216}},  {4, {40, 40, 40, 40}},
    {5, {40, 40, 40, 40}},      {6, {24, 24, 24, 0}},       {7, {24, 24, 24, 0}},       {8, {176, 176, 184, 184}},
    {9, {16, 16, 32, 32}},      {10, {200, 208, 208, 216}}, {11, {32, 32, 32, 32}},     {12, {56, 56, 56, 56}},
    {13, {32, 32, 32, 40}},     {14, {24, 24, 24, 0}},      {15, {56, 56, 56, 0}},      {16, {40, 40, 40, 0}},
    {17, {40, 40, 56, 56}},     {18, {144, 144, 144, 144}}, {19, {40, 40, 40, 40}},     {20, {40, 40, 40, 40}},
    {21, {32, 32, 32, 0}},      {22, {96, 96, 96, 96}},     {23, {32, 32, 32, 0}},      {24, {48, 48, 48, 0}},
    {25, {64, 64, 104, 104}},   {26, {32, 32, 32, 32}},     {27, {24, 24, 24, 24}},     {28, {24, 24, 24, 24}},
    {29, {56, 56, 56, 0}},      {30, {40, 40, 40, 0}},      {31, {32, 32, 32, 0}},      {32, {24, 24, 24, 0}},
    {33, {152, 152, 152, 152}}, {34, {152, 152, 152, 152}}, {35, {120, 120, 120, 120}}, {36, {24, 24, 56, 56}},
    {37, {24, 24, 24, 24}},     {38, {40, 40, 56, 56}},     {39, {24, 24, 24, 24}},     {40, {136, 136, 136, 136}},
    {41, {32, 32, 32, 0}},      {42, {32, 32, 32, 0}},      {43, {32, 32, 32, 0}},      {44, {32, 32, 32, 0}},
    {45, {80, 80, 80, 80}},     {46, {168, 168, 168, 168}}, {47, {40, 40, 40, 40}},     {48, {40, 40, 40, 40}},
    {49, {120, 120, 128, 128}}, {50, {72, 72, 72, 80}},     {51, {48, 48, 56, 56}},     {52, {64, 64, 72, 72}},
    {53, {0, 0, 56, 56}},       {54, {0, 0, 64, 64}},       {55, {0, 0, 0, 32}},
};

inline constexpr uint32_t kLastKind = 55;

constexpr uint32_t StrideOf(uint32_t kind) {
  for (const Stride& s : kStrides) {
    if (s.kind == kind) return s.bytes[kVersion];
  }
  return 0;
}

}  // namespace mock

// Advice in the words of what the program was written in: `pin_memory=True` to users of PyTorch, `cuda.pinned_array` to
// those of numba, `hipHostMalloc` on GPUs of AMD.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gprof/analysis.h"

namespace gprof {

// program_language.cpp: what the reader wrote the program in, as far as the trace tells: advice names the functions
// that they know.

enum class Framework : uint8_t { kCuda, kNumba, kPyTorch, kCuPy, kJax };

struct ProgramLanguage {
  Framework framework = Framework::kCuda;  // the CUDA runtime or driver itself
  bool is_amd = false;                     // HIP in place of CUDA
};

// Where several frameworks call CUDA, that with most of the calls.
ProgramLanguage LanguageOf(const AnalysisInput& input);

// What some advice says, and what it says instead; empty: the same.
struct AdviceWords {
  std::string_view words, cuda, numba, pytorch, cupy, jax;
};
std::span<const AdviceWords> AllAdviceWords();  // for a test

std::string InWordsOf(const ProgramLanguage& language, std::string advice);

// Of all findings.
void AdviseInItsWords(const AnalysisInput& input, std::vector<AnalysisResult>* results);

}  // namespace gprof

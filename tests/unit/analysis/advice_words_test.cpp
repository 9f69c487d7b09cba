#include "analysis/registry/advice_words.h"

#include <gtest/gtest.h>

#include <string>

#include "analysis/findings/finding_catalogue.h"
#include "analysis/result/idle_causes.h"
#include "trace_maker.h"

namespace gprof::test {
namespace {

bool IsSaid(std::string_view words) {
  // Said where more is known than the catalogue knows.
  for (const std::string_view elsewhere : {"<<<grid, block, shared, stream>>>", "capture many launches as one"}) {
    if (words.find(elsewhere) != std::string_view::npos) return true;
  }
  for (const FindingInfo& info : FindingCatalogue()) {
    if (info.advice.find(words) != std::string_view::npos) return true;
  }
  bool is_said = false;
  ForEachCause([&](Cause cause) { is_said |= InfoOf(cause).advice.find(words) != std::string_view::npos; });
  return is_said;
}

// Whoever words advice anew has to look here, too.
TEST(AdviceWords, AreOfTheCatalogue) {
  for (const AdviceWords& words : AllAdviceWords()) EXPECT_TRUE(IsSaid(words.words)) << words.words;
}

TEST(AdviceWords, OfEachLanguage) {
  const std::string advice(FindFinding("memcpy.pageable")->advice);
  EXPECT_EQ(InWordsOf({}, advice), advice);
  EXPECT_NE(InWordsOf({Framework::kNumba}, advice).find("cuda.pinned_array"), std::string::npos);
  EXPECT_NE(InWordsOf({Framework::kPyTorch}, advice).find("pin_memory=True"), std::string::npos);
  EXPECT_NE(InWordsOf({Framework::kCuPy}, advice).find("cupyx.empty_pinned"), std::string::npos);
  EXPECT_NE(InWordsOf({Framework::kJax}, advice).find("jax.device_put"), std::string::npos);
  // What is said behind it stays.
  EXPECT_TRUE(InWordsOf({Framework::kNumba}, advice + " And more.").ends_with(" And more."));
  EXPECT_EQ(InWordsOf({Framework::kNumba}, "Something else."), "Something else.");
}

TEST(AdviceWords, NoCommandsOfCudaOnAmd) {
  const ProgramLanguage hip{Framework::kCuda, true};
  EXPECT_EQ(InWordsOf(hip, std::string(FindFinding("memcpy.pageable")->advice)),
            "Allocate the host side with hipHostMalloc or pin it with hipHostRegister, and copy with hipMemcpyAsync.");
  for (const FindingInfo& info : FindingCatalogue()) {
    if (info.id.starts_with("health.")) continue;
    const std::string advice = InWordsOf(hip, std::string(info.advice));
    for (const char* cuda : {"cudaM", "cudaS", "cudaE", "cudaG", "CUDA ", "cuBLAS", "nvidia-", "gprof-cli counters"}) {
      EXPECT_EQ(advice.find(cuda), std::string::npos) << advice;
    }
  }
}

TEST(ProgramLanguage, ByKernels) {
  TraceMaker maker;
  maker.AddKernel(0, 10, kNone, "void at::native::vectorized_elementwise_kernel<4>");
  EXPECT_EQ(LanguageOf(maker.Finish()).framework, Framework::kPyTorch);
  maker.trace().processes[0].command_line = maker.Name("./app");
  maker.trace().processes[0].name = maker.Name("app");
  EXPECT_EQ(LanguageOf(maker.Finish()).framework, Framework::kCuda);  // libtorch in C++
}

TEST(ProgramLanguage, HipByItsCalls) {
  TraceMaker maker;
  EXPECT_FALSE(LanguageOf(maker.Finish()).is_amd);
  maker.AddCall(0, 10, "hipLaunchKernel");
  EXPECT_TRUE(LanguageOf(maker.Finish()).is_amd);
}

}  // namespace
}  // namespace gprof::test

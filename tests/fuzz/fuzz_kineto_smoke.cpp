// A short run that is the same every time: bytes of a capture changed, cut, and doubled.
//   fuzz_kineto_smoke          the test
//   fuzz_kineto_smoke FOLDER   writes seeds for fuzz_kineto
#include <cstdio>
#include <fstream>
#include <string>

#include "kineto_capture.h"
#include "random_trace.h"
#include "reader_targets.h"

namespace gprof {
namespace {

constexpr int kRounds = 3000;
constexpr std::string_view kPieces[] = {"{",
                                        "}",
                                        "[",
                                        "]",
                                        ",",
                                        ":",
                                        "\"",
                                        "\\",
                                        "null",
                                        "1e400",
                                        "-1",
                                        "NaN",
                                        "\\ud800",
                                        "\"ph\": \"E\",",
                                        "\"ph\": \"b\",",
                                        "\"ts\": 1e18,",
                                        "\"dur\": -5,",
                                        "[[[[[[",
                                        "\"cat\": \"kernel\","};

void Mutate(Random& random, std::string* input) {
  if (input->empty()) return;
  const std::size_t at = random.Below(input->size());
  switch (random.Below(5)) {
    case 0:
      (*input)[at] = static_cast<char>(random.Next());
      return;
    case 1:
      input->erase(at, 1 + random.Below(60));
      return;
    case 2:
      input->resize(at);
      return;
    case 3:
      input->insert(random.Below(input->size()), input->substr(at, 1 + random.Below(300)));
      return;
    default:
      input->insert(at, kPieces[random.Below(std::size(kPieces))]);
      return;
  }
}

void Run() {
  Random random(2026);
  const std::string seed = Document(kCapture, kMembers);
  for (int round = 0; round < kRounds; ++round) {
    std::string mutated = seed;
    for (uint64_t n = 1 + random.Below(8); n > 0; --n) Mutate(random, &mutated);
    FuzzKineto(mutated);
  }
}

}  // namespace
}  // namespace gprof

int main(int argc, char** argv) {
  if (argc > 1) {
    std::ofstream(std::string(argv[1]) + "/seed", std::ios::binary)
        << gprof::Document(gprof::kCapture, gprof::kMembers);
    return 0;
  }
  gprof::Run();
  std::puts("fuzz_kineto_smoke: done");
  return 0;
}

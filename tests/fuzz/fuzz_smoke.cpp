// A short fuzz run that is the same every time, for the ordinary tests: seeds from the record kinds, fixed mutations.
#include <cstdio>
#include <cstring>
#include <string>

#include "linked_trace.h"
#include "random_trace.h"
#include "targets.h"
#include "trace/text/assemble.h"
#include "trace/text/dump.h"

namespace gprof {
namespace {

constexpr int kRounds = 450;

// One random change: bytes, a cut, a piece twice, a piece of another input.
void Mutate(Random& random, const std::string& other, std::string* input) {
  if (input->empty()) *input = other;
  const std::size_t at = random.Below(input->size());
  switch (random.Below(6)) {
    case 0:
      (*input)[at] = static_cast<char>((*input)[at] ^ (1 << random.Below(8)));
      return;
    case 1:
      (*input)[at] = static_cast<char>(random.Next());
      return;
    case 2:
      (*input)[at] = random.Below(2) == 0 ? '\xFF' : '\0';
      return;
    case 3:
      input->erase(at, 1 + random.Below(40));
      return;
    case 4:
      input->insert(random.Below(input->size()), input->substr(at, 1 + random.Below(200)));
      return;
    default:
      input->insert(at, other.substr(random.Below(other.size()), 1 + random.Below(300)));
      return;
  }
}

std::string DumpOf(const std::string& bytes) {
  std::string text;
  DumpRecords(bytes, {}, [&](std::string_view line) { text.append(line).append("\n"); });
  return text;
}

void Run() {
  Random random(2026);
  for (int round = 0; round < kRounds; ++round) {
    const uint64_t seed = random.Below(40);
    const bool is_linked = random.Below(4) == 0;
    std::string trace = is_linked ? AssembleTrace(kLinkedTrace) : RandomTrace(seed), text = DumpOf(trace);
    const std::string other_trace = RandomTrace(seed + 1), other_text = DumpOf(other_trace);
    for (uint64_t n = 1 + random.Below(6); n > 0; --n) {
      Mutate(random, other_trace, &trace);
      Mutate(random, other_text, &text);
    }
    FuzzTrace(trace);
    FuzzText(text);
  }
}

}  // namespace
}  // namespace gprof

int main() {
  gprof::Run();
  std::puts("fuzz_smoke: done");
  return 0;
}

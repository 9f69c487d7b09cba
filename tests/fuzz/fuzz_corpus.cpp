// Replays the inputs that the fuzzers of these names have found and that are kept: fuzz_corpus FOLDER. keep_corpus.py
// makes the files: each input is its length in four bytes, little-endian, and then its bytes.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "reader_targets.h"
#include "sqlite_target.h"
#include "targets.h"
#include "unwind_target.h"

namespace gprof {
namespace {

struct Target {
  const char* name;
  void (*run)(std::string_view);
};

constexpr Target kTargets[] = {{"fuzz_trace", FuzzTrace},      {"fuzz_assemble", FuzzText}, {"fuzz_unwind", FuzzUnwind},
                               {"fuzz_sqlite", FuzzSqlite},    {"fuzz_kineto", FuzzKineto}, {"fuzz_ncu", FuzzNcu},
                               {"fuzz_snapshot", FuzzSnapshot}};

std::string ReadAll(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::vector<std::string_view> InputsOf(std::string_view bytes) {
  constexpr std::size_t kLengthBytes = 4;
  std::vector<std::string_view> inputs;
  while (bytes.size() >= kLengthBytes) {
    std::size_t length = 0;
    for (std::size_t i = 0; i < kLengthBytes; ++i) length |= std::size_t{static_cast<unsigned char>(bytes[i])} << 8 * i;
    bytes.remove_prefix(kLengthBytes);
    if (length > bytes.size()) throw std::runtime_error("an input is cut off");
    inputs.push_back(bytes.substr(0, length));
    bytes.remove_prefix(length);
  }
  if (!bytes.empty() || inputs.empty()) throw std::runtime_error("not a kept corpus");
  return inputs;
}

void Replay(const Target& target, const std::string& folder) {
  const std::string file = ReadAll(folder + "/" + target.name + ".inputs");
  const auto start = std::chrono::steady_clock::now();
  const std::vector<std::string_view> inputs = InputsOf(file);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    // Said before, so that a crash has a number.
    std::printf("\r%s %zu", target.name, i);
    std::fflush(stdout);
    target.run(inputs[i]);
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  std::printf("\r%s: %zu inputs in %.1f s\n", target.name, inputs.size(), seconds.count());
}

}  // namespace
}  // namespace gprof

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  for (const gprof::Target& target : gprof::kTargets) gprof::Replay(target, argv[1]);
  return 0;
}

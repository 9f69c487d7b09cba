#include "samples.h"

#include <chrono>
#include <cstdio>
#include <utility>

namespace gprof::bench {

Samples::Samples(std::size_t repetitions, std::string only) : repetitions_(repetitions), only_(std::move(only)) {}

bool Samples::IsWanted(const std::string& name) const {
  return only_.empty() || ("," + only_ + ",").find("," + name + ",") != std::string::npos;
}

void Samples::Measure(const std::string& name, std::size_t count, const std::function<void(std::size_t)>& work,
                      const std::function<void()>& settle) {
  if (!IsWanted(name)) return;
  work(count / 10 + 1);
  Row row{name, count, {}};
  for (std::size_t i = 0; i < repetitions_; ++i) {
    settle();
    const auto start = std::chrono::steady_clock::now();
    work(count);
    settle();
    const std::chrono::duration<double, std::nano> elapsed = std::chrono::steady_clock::now() - start;
    row.ns.push_back(elapsed.count() / static_cast<double>(count));
  }
  rows_.push_back(std::move(row));
}

void Samples::Print() const {
  std::printf("{\"operations\": {");
  const char* comma = "";
  for (const Row& row : rows_) {
    std::printf("%s\n  \"%s\": {\"count\": %zu, \"ns\": [", comma, row.name.c_str(), row.count);
    for (std::size_t i = 0; i < row.ns.size(); ++i) std::printf("%s%.2f", i == 0 ? "" : ", ", row.ns[i]);
    std::printf("]}");
    comma = ",";
  }
  std::printf("\n}}\n");
}

}  // namespace gprof::bench

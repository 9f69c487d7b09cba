#include "samples.h"

#include <time.h>

#include <cstdio>
#include <utility>

namespace gprof::bench {

Samples::Samples(std::size_t repetitions, std::string only, bool counts_processor)
    : repetitions_(repetitions), only_(std::move(only)), counts_processor_(counts_processor) {}

double Samples::Now() const {
  timespec now{};
  clock_gettime(counts_processor_ ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

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
    const double start = Now();
    work(count);
    settle();
    row.ns.push_back((Now() - start) / static_cast<double>(count));
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
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  std::printf("\n}, \"end_ns\": %lld}\n", now.tv_sec * 1'000'000'000LL + now.tv_nsec);
}

}  // namespace gprof::bench

// Times of repeated operations, printed as JSON for run_recording.py.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace gprof::bench {

// How the operations of one program are timed.
class Samples {
 public:
  // `only`: names separated by commas, empty for all. `counts_processor`: the time that the calling thread had a core,
  // on machines where others compete for them; work in other threads is not in it.
  Samples(std::size_t repetitions, std::string only, bool counts_processor = false);

  // Runs work(count) once to warm up, with a tenth of the count, and then `repetitions` times on the clock. `settle` is
  // called before each of them and within the timed part at its end: it waits until nothing is left to do.
  void Measure(
      const std::string& name, std::size_t count, const std::function<void(std::size_t)>& work,
      const std::function<void()>& settle = [] {});

  // One JSON object on stdout: {"operations": {NAME: {"count": N, "ns": [per operation, one for each repetition]}},
  // "end_ns": this moment by the monotonic clock, the last thing that the program does by itself}.
  void Print() const;

 private:
  bool IsWanted(const std::string& name) const;
  double Now() const;  // ns

  struct Row {
    std::string name;
    std::size_t count;
    std::vector<double> ns;
  };
  std::size_t repetitions_;
  std::string only_;
  bool counts_processor_;
  std::vector<Row> rows_;
};

}  // namespace gprof::bench

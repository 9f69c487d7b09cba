// How far a long piece of work is: a line on stderr where that is a terminal, which goes away at the end.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace gprof::cli {

// Thrown by Show(): nothing that is under way is to be finished.
struct Interrupted {};

// While one lives, Ctrl-C, SIGTERM and SIGHUP end the work at the next Show(), so that nothing half done stays behind;
// the program then dies of the signal, as its parent expects.
class ProgressLine {
 public:
  explicit ProgressLine(std::string what);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // Throws Interrupted when a signal has come.
  void Show(uint64_t done, uint64_t total);
  void Clear();

 private:
  std::string what_;
  bool is_terminal_ = false, is_shown_ = false;
  std::chrono::steady_clock::time_point next_;
};

}  // namespace gprof::cli

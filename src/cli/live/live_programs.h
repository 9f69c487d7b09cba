// Follows all programs of this user that are being recorded, and adds up what they do.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cli/live/live_reader.h"
#include "report/live/live_totals.h"

namespace gprof::cli {

class LivePrograms {
 public:
  // How much is read at a time.
  explicit LivePrograms(int64_t interval_ns) : interval_ns_(interval_ns) {}

  // Looks for new programs and reads what is due. Returns when it wants to be called again (CLOCK_MONOTONIC).
  int64_t Attend(int64_t now_ns);

  std::vector<const LiveProgram*> All() const;
  // By the name of its recorder; without a name the only one. Throws Error where it is not clear.
  LiveReader& ReaderOf(const std::string& recorder);

 private:
  struct Followed {
    explicit Followed(const FoundRun& recorder) : reader(recorder) {}
    LiveReader reader;
    LiveProgram program;
    int64_t read_until_ns = 0;
  };
  void Find(int64_t now_ns);
  void Read(Followed* followed) const;

  int64_t interval_ns_, due_ns_ = 0;
  std::map<std::string, std::unique_ptr<Followed>> programs_;  // by the folder of the run
};

}  // namespace gprof::cli

// Reads what a recorder of another process keeps, as traces of some seconds.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "cli/recording/session_protocol.h"
#include "gprof/trace.h"
#include "launch/salvage/run_folder_files.h"
#include "recorder/ring.h"

namespace gprof::cli {

class LiveReader {
 public:
  // Throws Error where the recorder is gone.
  explicit LiveReader(const FoundRun& recorder);

  // Has the program write what it has, and takes it. Returns what the recorder says of itself, or throws Error.
  Json Refresh();
  // What ended after the one and not after the other; nothing where nothing is known of the program yet.
  std::optional<Trace> Between(int64_t from_ns, int64_t until_ns) const;
  // What ended before is not read any more.
  void Forget(int64_t before_ns) { ring_->Overlook(before_ns); }
  const FoundRun& recorder() const { return recorder_; }

 private:
  FoundRun recorder_;
  std::unique_ptr<Ring> ring_;
};

}  // namespace gprof::cli

// Looks at what is recorded, while it is, for what is worth a snapshot: a step that takes too long, a call of CUDA that
// fails, a GPU that has nothing to do, a program that does nothing any more.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "recorder/ring.h"
#include "recorder/seen_windows.h"
#include "recorder/work_rates.h"
#include "trace/file/reader.h"

namespace gprof {

class RowDecoder;

struct WatchOptions {
  std::string step;                                      // NVTX range that is a step; empty: none is looked at
  double slow_factor = 3;                                // of the median of the last steps
  uint64_t keep_ns = 0;                                  // a step that is longer has lost its beginning; 0: none has
  int64_t idle_ns = 0;                                   // of a GPU that has worked before; 0: not looked at
  int64_t hang_ns = 0;                                   // without any record of the program; 0: not looked at
  bool on_out_of_memory = true, on_lost_context = true;  // as a CUDA call says
  bool on_any_error = false;
  bool on_xid = false;  // the driver logs an error of a GPU
};

class Watch {
 public:
  explicit Watch(WatchOptions options);
  ~Watch();

  // A chunk that was appended.
  void Take(const Ring& ring, const RingChunk& chunk);
  // After all that there are: what happened that was not told before, empty for nothing.
  std::string Look(int64_t now_ns);
  // Since the program made progress; 0 as long as it has made none.
  int64_t QuietNs(int64_t now_ns) const;
  // Of a program that is recorded in windows; of several processes the one that is slowed down most, or has most.
  MeasuredSlowDown SlowDown(int64_t now_ns) const;
  SeenWindows::Sums Windows(int64_t now_ns) const;
  bool IsInPause(const trace::ProcessKey& process) const;

 private:
  struct Push {
    uint64_t time_ns;
    bool is_step;
  };
  struct Thread {
    trace::ProcessKey process;
    uint32_t tid;
    friend bool operator==(const Thread& a, const Thread& b) { return a.process == b.process && a.tid == b.tid; }
  };
  struct ThreadHash {
    std::size_t operator()(const Thread& t) const {
      return ProcessKeyHash()(t.process) ^ (t.tid * 0x9E3779B97F4A7C15u);
    }
  };
  struct Device {
    std::vector<std::pair<uint64_t, uint64_t>> work;  // since the last look: when it began and ended
    uint64_t busy_until_ns = 0;
    bool is_told = false;  // that it is idle
  };

  struct EndedStep {
    trace::ProcessKey process;
    uint64_t from_ns, until_ns;
  };

  friend class WatchSink;
  void LookAtSteps(int64_t now_ns);
  void NoteBaseProgress(trace::RecordKind kind, const trace::ChunkHeader& header);
  void TakeStep(uint64_t duration_ns);
  void TakeProgress(uint64_t time_ns) { last_progress_ns_ = std::max(last_progress_ns_, time_ns); }
  void Tell(std::string what);
  void LookAtDevices(int64_t now_ns);
  bool TellIdle(uint32_t device, uint64_t ns, const char* verb);
  void LookForHang(int64_t now_ns);
  void TakeMetrics(const Ring& ring, const RingChunk& chunk);
  void LearnSources(const Ring& ring, const trace::ProcessKey& process);

  WatchOptions options_;
  std::unique_ptr<RowDecoder> decoder_;
  WorkRates rates_;
  std::unordered_map<Thread, std::vector<Push>, ThreadHash> pushes_;
  std::vector<EndedStep> ended_steps_;  // that were not looked at yet
  std::deque<uint64_t> steps_;          // the last ones, in ns
  std::unordered_map<trace::ProcessKey, SeenWindows, ProcessKeyHash> windows_;
  std::unordered_set<trace::ProcessKey, ProcessKeyHash> tells_in_pauses_;  // calls or ranges at the base level
  std::map<uint32_t, Device> devices_;
  struct Source {
    bool is_known = false, is_xid = false;
    uint32_t device = 0;
  };
  std::unordered_map<trace::ProcessKey, std::vector<Source>, ProcessKeyHash> sources_;  // of metrics, by their number
  bool has_new_source_ = false;
  uint64_t last_progress_ns_ = 0;
  bool is_hang_told_ = false;
  std::string told_;  // the first thing since the last look
  std::vector<unsigned char> body_;
};

}  // namespace gprof

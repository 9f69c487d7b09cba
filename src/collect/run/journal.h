// The records of a collector that are not in the trace yet. They lie in an arena of the run folder
// (gprof/trace/run_folder.h), so that they outlive their process, and the launcher has them written when it was killed.
//
//   head     trace::ArenaHeader, and behind it what is known of the rows
//   names    texts that records name, in the order of their ids: kept to the end, as every chunk repeats those it names
//   rows     records as they are in memory, each behind its kind and size
//
// Rows count when they are told to, which is one store. So whatever instruction the process dies at, what is there is
// whole.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>

#include "gprof/trace/file.h"
#include "gprof/trace/record.h"
#include "gprof/trace/run_folder.h"
#include "trace/write/append.h"

namespace gprof {

class ChunkWriter;

class Journal {
 public:
  // In the calling process, which keeps it locked as long as it lives. Null with a reason when there is no room.
  static std::unique_ptr<Journal> Create(const std::string& folder, std::string_view collector, std::string* why);
  // Of a dead process. Null with an errno value.
  static std::unique_ptr<Journal> Adopt(const std::string& path, int* error);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  // A record that has no room is counted as lost.
  template <class R>
  void Add(const R& record) {
    static_assert(std::is_trivially_copyable_v<R> && !trace::IsDictionary(R::kKind));
    AddRow(static_cast<uint16_t>(R::kKind), &record, sizeof record);
  }
  // No samples from `start_ns` to `end_ns`, of `source` (0: of all that this collector has); `count` of them, 0: not
  // known.
  void AddLoss(trace::MetricLossReason reason, int64_t start_ns, int64_t end_ns, uint32_t source, uint64_t count);
  // At one time.
  void AddLoss(trace::MetricLossReason reason, int64_t time_ns) { AddLoss(reason, time_ns, time_ns, 0, 0); }
  // The same text has the same id always. 0 (the empty text) when there is no room for more.
  trace::StringId Name(std::string_view text);

  bool IsEmpty() const;
  // Rows should be written, or there will be no room for more.
  bool IsFilling() const;
  void Discard();

  // Where the waiting rows belong. Those there are must be written, or discarded, before another is set.
  void SetOutput(const TraceFile& output);
  TraceFile output() const;
  // Whether its rows are worth a trace that has nothing else.
  void SetMayBeAlone(bool may_be);
  bool may_be_alone() const;

  // Adds the waiting rows to their trace. 0, or the errno value of what failed: then records are lost, and the next
  // chunks count them.
  int Write();
  // Everything is in the trace: the file is deleted.
  void Finish();

  trace::ArenaHeader& header() { return *header_; }
  std::string collector() const;
  uint64_t chunks_written() const;
  uint64_t lost_records() const;
  const std::string& path() const { return path_; }

 private:
  struct State;
  Journal(std::string path, int descriptor, unsigned char* base);

  bool MakeRoom(uint64_t offset, uint64_t end, uint64_t most, uint64_t* backed) const;
  void AddRow(uint16_t kind, const void* bytes, uint32_t size);
  void ForEachName(const std::function<void(std::string_view)>& visit) const;
  // False: they are damaged.
  bool AddRowsTo(ChunkWriter* writer, uint32_t begin, uint32_t end) const;
  int WriteRows(uint32_t end, uint64_t sequence);
  bool Encode(uint32_t begin, uint32_t end, uint64_t sequence, uint64_t lost, std::string* chunks) const;
  trace::ProcessKey Key() const;
  unsigned char* Rows() const;

  std::string path_;
  int descriptor_;
  unsigned char* base_;
  trace::ArenaHeader* header_;
  State* state_;
  uint64_t backed_ = 0, backed_names_ = 0;  // bytes of rows and names that there is memory for
  std::unordered_map<std::string, uint32_t> names_;
};

}  // namespace gprof

// Makes a Trace of what another tool recorded, through the builder that our own traces go through, so that everything
// is joined and checked alike.
//
// The importers think in processes and texts of their own; here those become chunks and strings of TraceBuilder. All
// records are added to the process that Enter() named last.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "gprof/trace.h"
#include "gprof/trace/file.h"
#include "trace/builder/builder.h"
#include "trace/builder/flat_index.h"
#include "trace/file/memory_budget.h"
#include "trace/load/bulk.h"

namespace gprof {

class ForeignBuilder {
 public:
  // `recorder`: tool and version, "Nsight Systems 2026.2.1". What is added counts against `budget`.
  ForeignBuilder(const std::string& path, std::string recorder, MemoryBudget* budget);

  void Reserve(const RecordCounts& counts) { builder_.Reserve(counts); }

  // A process with this pid; `space` keeps pids of different machines or pid namespaces apart.
  uint32_t AddProcess(uint64_t space, uint32_t pid);
  void Enter(uint32_t process);
  uint32_t process() const { return process_; }
  std::size_t process_count() const { return headers_.size(); }

  // A text that records can be given, the same number for the same text. 0 is the empty text.
  uint32_t Text(std::string_view text);
  std::string_view TextOf(uint32_t text) const { return texts_[text]; }
  // The text as a string of the process, which it becomes when it is first used there.
  trace::StringId Name(uint32_t text);
  trace::StringId Name(std::string_view text) { return Name(Text(text)); }
  // The id within `shape` is not looked at.
  trace::ShapeId Shape(trace::KernelShapeRecord shape);

  template <class R>
  void Add(const R& record) {
    static_assert(std::is_class_v<R>);
    ++record_count_;
    budget_.Take(kMemoryBytes<R>);
    builder_.Add(record);
  }

  // Sources know a stream by its number, programs by its handle.
  void NameStream(uint32_t context, uint32_t stream, trace::StringId name) {
    builder_.NameStream(context, stream, name);
  }

  // What the source does not tell.
  void SetLacks(FactSet facts) { lacks_ |= facts; }
  // Said with the results, of the process that was entered last.
  void AddNotice(trace::NoticeLevel level, std::string_view message);
  // Records that were there and could not be used.
  void AddLoss(trace::LossReason reason, uint64_t count);

  const std::string& recorder() const { return recorder_; }

  // `file_bytes`: size of the source. The builder is used up.
  Trace Finish(uint64_t file_bytes);

 private:
  MemoryBudget& budget_;
  TraceBuilder builder_;
  std::string recorder_;
  std::vector<trace::ChunkHeader> headers_;  // by process
  uint32_t process_ = kNone;
  std::deque<std::string> texts_;  // never moves: the map's keys point in here
  std::unordered_map<std::string_view, uint32_t> text_ids_;
  std::map<std::vector<uint64_t>, uint32_t> shape_ids_;         // by their fields
  FlatIndex known_texts_, known_shapes_;                        // (process, id): it was told of them
  FactSet lacks_ = Fact::kProcessTimes | Fact::kRecordingCost;  // no other tool tells
  uint64_t record_count_ = 0;
};

}  // namespace gprof

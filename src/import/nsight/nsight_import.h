// One pass over an export of Nsight Systems. The parts are in the files that their comments name.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "import/nsight/sqlite_reader.h"
#include "import/shared/foreign_builder.h"
#include "import/shared/json_payload.h"
#include "import/shared/nested_ranges.h"
#include "trace/builder/flat_index.h"

namespace gprof {

// "Nsight Systems 2026.2.1", as the export says.
std::string NsightVersion(const SqliteReader& file);

class NsightImport {
 public:
  // Nsight's times begin at 0 when the session does, and may be below: `shift_ns` is added to all of them.
  NsightImport(const SqliteReader& file, int64_t shift_ns);

  Trace Run();
  // After Run: the least shift that puts everything after 0, at most the one that was given where that did.
  int64_t needed_shift_ns() const { return needed_shift_ns_; }

 private:
  // A call that records of other tables are linked to, which lack its thread and its time.
  struct LinkedCall {
    uint64_t start_ns = 0;
    uint32_t tid = 0;
    bool is_async = false;
    trace::SyncKind sync_kind = trace::SyncKind::kUnknown;  // by the function's name
  };
  struct Span {
    uint64_t start_ns = 0, duration_ns = 0;
  };
  struct Target {
    uint32_t process = 0, id = 0;
  };
  // Of TARGET_INFO_GPU.
  struct Gpu {
    int64_t id = 0, cuda_id = -1;
    uint32_t name = 0, uuid = 0;
    trace::DeviceRecord properties;
  };

  // A counter of a GPU.
  struct MetricTrack {
    int64_t type = 0, metric = 0;
    uint64_t last_ns = 0, period_ns = 0;  // 0: none yet
    int64_t largest = 0;
  };

  // nsight_import.cpp
  void Reserve();
  void Enter(SqliteRows& rows, std::size_t global_id_column);
  uint32_t ProcessOf(int64_t global_id);
  uint32_t TextOf(int64_t string_id);
  uint32_t FunctionOf(int64_t string_id);
  trace::StringId NameOf(SqliteRows& rows, std::size_t column);
  void ReadStrings();
  // Start and end, the first two columns of the table, as those of the record. False: they cannot be used, which is
  // counted. `is_op`: the builder counts those of GPU work itself.
  template <class R>
  bool TakeSpan(SqliteRows& rows, R* record, bool is_op = false) {
    const std::optional<Span> span = SpanOf(rows, is_op);
    if (span) record->start_ns = span->start_ns, record->duration_ns = span->duration_ns;
    return span.has_value();
  }
  std::optional<Span> SpanOf(SqliteRows& rows, bool is_op);
  bool TakeTime(SqliteRows& rows, std::size_t column, uint64_t* time_ns);
  bool TakeStart(int64_t start_ns, uint64_t* time_ns);
  bool IsGood(SqliteRows& rows);
  const LinkedCall* FindCall(uint32_t correlation) const;
  void NoteTime(uint64_t start_ns, uint64_t end_ns);
  // Remembers what records were about, once each.
  void NoteThread(uint32_t tid);
  void NoteDevice(uint32_t device);
  void Finish();
  void AddLacks();
  void AddLacksOfOptions();
  bool WasRecorded(std::string_view table, std::string_view event_type) const;

  // nsight_host.cpp
  void ReadCalls(std::string_view table);
  void NoteCall(const trace::ApiRecord& call, std::string_view function, ApiClass api_class);
  void ReadSyncs();
  void ReadEvents();
  void ReadMemory();
  void ReadMemoryPools();
  void ReadFaults();
  void ReadOverheads(std::string_view table);
  void ReadJits();

  // nsight_gpu.cpp
  void ReadKernels();
  void ReadCopies();
  void ReadMigration(SqliteRows& rows, int64_t copy_kind);
  void ReadMemsets();
  void ReadGraphs();
  void ReadGraphNodes();
  uint32_t GraphOf(uint32_t correlation) const;
  bool IsAsync(uint32_t correlation) const;
  template <class R>
  bool StartOp(SqliteRows& rows, R* record);
  template <class R>
  bool StartCopy(SqliteRows& rows, R* record);

  // nsight_nvtx.cpp
  void ReadNvtx();
  void ReadRange(SqliteRows& rows, bool is_push_pop);
  void ReadMark(SqliteRows& rows);
  void ReadNvtxName(SqliteRows& rows, int64_t type);
  void ReadStreamName(SqliteRows& rows, trace::StringId name);
  uint32_t NvtxText(SqliteRows& rows);
  std::optional<JsonPayloads::Payload> NvtxJson(SqliteRows& rows);

  // nsight_metrics.cpp
  void ReadOsCalls();
  void ReadGpuMetrics();
  void AddMetricSample(uint32_t at, uint64_t time_ns, int64_t value);
  void AddMetricSources();

  // nsight_mpi.cpp
  bool HasMpi() const;
  void ReadMpi();
  void ReadMpiCalls(std::string_view table);

  // nsight_targets.cpp
  void ReadTargets();
  void ReadProcessNames();
  void ReadThreadNames();
  void ReadRanks(std::vector<trace::ProcessRecord>* processes);
  std::vector<Gpu> ReadGpus();
  void ReadDevices();
  void ReadContexts(std::string_view table, std::string_view null_stream);
  void ReadStreams();
  void ReadClock();
  void ReadDiagnostics();
  void AddNotRead();
  std::string ValueOf(std::string_view table, std::string_view name) const;
  uint32_t ProcessOfPid(int64_t pid) const;  // kNone for one that recorded nothing

  const SqliteReader& file_;
  MemoryBudget budget_;
  ForeignBuilder builder_;
  JsonPayloads payloads_{&builder_};
  NestedRanges ranges_;
  int64_t shift_ns_, needed_shift_ns_ = 0;

  std::unordered_map<int64_t, uint32_t> processes_;  // by global id without the thread
  std::vector<int64_t> global_ids_;                  // by process
  std::unordered_map<int64_t, uint32_t> pids_;       // processes by pid
  int64_t last_global_id_ = std::numeric_limits<int64_t>::min();
  uint32_t last_process_ = 0;

  std::unordered_map<int64_t, uint32_t> texts_;      // by id of StringIds
  std::unordered_map<int64_t, uint32_t> functions_;  // texts without the version of CUDA, likewise
  std::vector<uint32_t> near_texts_;                 // those of small ids, kNone when not looked up
  std::unique_ptr<SqliteRows> strings_;              // looks up one by its id

  FlatIndex calls_;  // (process, correlation) to linked_calls_
  std::vector<LinkedCall> linked_calls_;
  FlatIndex graphs_;             // (process, correlation of a graph's launch) to the graph
  FlatIndex threads_, devices_;  // that records were about: (process, id)
  FlatIndex streams_;            // that operations ran on: (process and context, stream)
  FlatIndex metrics_;            // (type, metric) to metric_tracks_
  std::vector<MetricTrack> metric_tracks_;
  std::vector<Target> seen_devices_;
  std::vector<uint64_t> last_ns_;  // of anything, by process
  uint64_t first_ns_ = std::numeric_limits<uint64_t>::max();
  uint32_t noted_tid_ = 0, noted_process_ = kNone;
  uint64_t bad_rows_ = 0, bad_times_ = 0, syncs_without_call_ = 0, skipped_nvtx_ = 0;
  uint64_t call_count_ = 0, op_count_ = 0, copy_count_ = 0, sync_count_ = 0, graph_count_ = 0, migration_count_ = 0;
  uint64_t sync_call_count_ = 0, event_call_count_ = 0, memory_call_count_ = 0;
};

}  // namespace gprof

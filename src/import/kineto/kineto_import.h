// One pass over a capture of torch.profiler (Kineto), or other Trace Event JSON. The parts are in the files that their
// comments name.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "import/kineto/chrome_reader.h"
#include "import/kineto/kineto_events.h"
#include "import/shared/foreign_builder.h"
#include "import/shared/json_payload.h"
#include "import/shared/nested_ranges.h"
#include "trace/builder/flat_index.h"

namespace gprof {

class KinetoImport : public ChromeReader::Sink {
 public:
  KinetoImport(const std::string& path, MemoryBudget* budget);

  void OnEvent(const ChromeEvent& event) override;
  void OnMember(std::string_view key, const JsonPiece& value) override;

  // After everything was read. `file_bytes`: size of the file.
  Trace Finish(const ChromeReader& reader, const std::string& damage, uint64_t file_bytes);

 private:
  // Where an event is drawn: a thread, or a stream of a GPU.
  struct Track {
    uint32_t pid = 0, tid = 0;  // their texts
    uint32_t process = kNone;   // once it is known to be a thread
    uint32_t thread = 0;        // its number in the process
  };
  // An event with both its ends.
  struct Slice {
    JsonPiece args;
    int64_t start_ns = 0, duration_ns = 0;
    uint32_t track = 0, category_text = 0, name = 0;
    KinetoCategory category = KinetoCategory::kOther;
  };
  // Begun, and not ended yet.
  struct OpenSlice {
    std::string args;
    Slice slice;
  };
  // GPU work waits for the end of the file: the calls that say whose it is may come later.
  struct GpuWork {
    uint64_t start_ns = 0, duration_ns = 0;
    uint64_t bytes = 0, graph_node = 0;
    uint32_t device = 0, context = 0, stream = 0, correlation = 0;
    uint32_t track = 0, name = 0, shape = kNone, graph = 0;
    uint32_t from_device = kNone, to_device = kNone;
    uint32_t process = kNone;  // where the file says it
    CopyEnds ends;
    KinetoCategory category = KinetoCategory::kKernel;
    int8_t is_async = -1;  // not known
  };
  struct SyncWork {
    trace::SyncRecord record;
    uint32_t waited_stream = 0, record_correlation = 0;
  };
  struct KnownCall {
    uint64_t start_ns = 0, end_ns = 0;
    uint32_t tid = 0;
    bool is_async = false;
  };
  // A call that does not say its correlation waits for the arrows.
  struct LooseCall {
    trace::ApiRecord record;
    uint32_t track = 0, name = 0;
  };
  // One end of an arrow between events.
  struct FlowEnd {
    uint64_t time_ns = 0;
    uint32_t track = 0, id = 0;
    bool is_start = false;
  };
  struct TrackName {
    uint32_t process_name = 0, thread_name = 0;
  };
  struct Properties {
    uint32_t name = 0;
    trace::DeviceRecord properties;
  };

  // kineto_import.cpp
  uint32_t TextOf(const JsonPiece& value);
  uint32_t TrackOf(const ChromeEvent& event);
  bool TakeTime(const JsonPiece& value, int64_t* source_ns);
  bool ToTrace(int64_t source_ns, uint64_t* time_ns);
  Slice SliceOf(const ChromeEvent& event, int64_t start_ns);
  void ReadComplete(const ChromeEvent& event);
  void ReadBegin(const ChromeEvent& event);
  void ReadEnd(const ChromeEvent& event);
  void ReadAsync(const ChromeEvent& event);
  void EndSlice(std::vector<OpenSlice>* open, const ChromeEvent& event, bool is_push_pop);
  uint32_t FlowIdOf(const ChromeEvent& event);
  void ReadFlow(const ChromeEvent& event);
  void ReadMetadata(const ChromeEvent& event);
  void Take(const Slice& slice, bool is_push_pop);
  void Skip(std::string_view what) { ++skipped_[std::string(what)]; }

  // kineto_host.cpp
  uint32_t EnterThread(uint32_t track);
  uint32_t ProcessOf(uint32_t pid);
  void TakeRange(const Slice& slice, uint64_t start_ns, bool is_push_pop, bool is_open);
  void TakeOperatorArgs(const Slice& slice, ClosedRange* range);
  void TakeCollective(const Slice& slice, const ClosedRange& range);
  void ReadAllocation(const ChromeEvent& event);
  void AddAllocatorSample(std::string_view name, const trace::TensorBlockRecord& block, int64_t bytes);
  void ReadMark(const ChromeEvent& event);
  void ReadNvtxArgs(const JsonPiece& args, ClosedRange* range);
  void TakeCall(const Slice& slice, const KinetoArgs& args, uint64_t start_ns);
  void AddCall(trace::ApiRecord record, uint32_t name);
  void AddSyncs();
  void AddEventRecord(const SyncWork& work, uint32_t process);
  void AddOverheads();
  void DomainOf(uint32_t text, ClosedRange* range);

  // kineto_gpu.cpp
  void TakeGpuWork(const Slice& slice, const KinetoArgs& args, uint64_t start_ns);
  void TakeSync(const Slice& slice, uint64_t start_ns);
  void TakeKernel(const KinetoArgs& args, GpuWork* work);
  void TakeCopy(const Slice& slice, const KinetoArgs& args, GpuWork* work);
  uint32_t NumberIn(uint32_t text) const;
  void FollowFlows();
  void LinkLooseCalls(std::vector<FlowEnd>* starts);
  void AddGpuWork();
  uint32_t ProcessOfWork(const GpuWork& work);
  void AddWork(const GpuWork& work);
  void AddCopy(const GpuWork& work);
  template <class R>
  R RecordOf(const GpuWork& work) const;
  bool IsAsync(const GpuWork& work) const;
  void NoteDevice(uint32_t device);
  void NoteDefaultStream(const GpuWork& work);

  // kineto_xla.cpp
  void NoteXlaProcess(std::string_view name);
  bool TakeXla(Slice slice, uint64_t start_ns);
  bool TakeXlaCall(Slice slice, uint64_t start_ns);

  // kineto_targets.cpp
  void ReadDeviceProperties(const JsonPiece& value);
  void ReadRank(const JsonPiece& value);
  void ReadDiagnostics(const JsonPiece& lines, trace::NoticeLevel level);
  void AddProcesses();
  void AddThreads();
  void AddDevices();
  void AddClock();
  void AddLacks();
  void AddLosses(const ChromeReader& reader, const std::string& damage);
  void AddDiagnostics();
  void AddSkipped();
  std::string Recorder() const;

  MemoryBudget& budget_;
  ForeignBuilder builder_;
  JsonPayloads payloads_{&builder_};
  NestedRanges ranges_;
  std::string buffer_, key_;

  std::unordered_map<std::string, uint32_t> track_ids_;
  std::vector<Track> tracks_;
  std::string last_track_key_;
  uint32_t last_track_ = kNone;
  std::map<uint32_t, uint32_t> processes_;      // by the text of their pid
  std::vector<uint32_t> pids_;                  // the reverse
  std::map<uint32_t, uint32_t> process_names_;  // by the text of their pid
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> thread_names_;
  std::map<uint32_t, std::vector<OpenSlice>> open_;  // by track
  std::map<std::string, std::vector<OpenSlice>> open_async_;
  std::map<uint32_t, KinetoCategory> categories_;  // by their text
  // Counter tracks of PyTorch's allocators: process, device, name.
  std::map<std::tuple<uint32_t, int32_t, std::string_view>, uint32_t> allocator_tracks_;
  FlatIndex domains_;  // told: (process, domain)

  std::vector<GpuWork> work_;
  std::vector<trace::KernelShapeRecord> shapes_;
  std::vector<SyncWork> syncs_;
  std::vector<trace::OverheadRecord> overheads_;
  std::vector<LooseCall> loose_calls_;
  std::vector<FlowEnd> flows_;
  std::unordered_map<std::string, uint32_t> flow_ids_;
  FlatIndex calls_;  // (process, correlation) to known_calls_
  std::vector<KnownCall> known_calls_;
  std::vector<uint8_t> call_classes_;  // ApiClass + 1, by text
  FlatIndex event_records_, devices_;
  std::vector<std::pair<uint32_t, uint32_t>> seen_devices_;  // process, device
  std::set<std::pair<uint32_t, uint32_t>> default_streams_;  // process, context

  std::map<uint32_t, Properties> properties_;  // by device
  std::vector<std::pair<trace::NoticeLevel, uint32_t>> diagnostics_;
  std::map<std::string, uint64_t> skipped_;  // what was left out, and how often
  int32_t rank_ = -1;
  std::map<std::tuple<uint32_t, uint64_t, std::string_view>, uint64_t> collectives_;  // so many came before
  uint32_t world_size_ = 0, driver_version_ = 0, runtime_version_ = 0, cupti_version_ = 0, host_name_ = 0;
  uint64_t base_ns_ = 0;
  std::string generator_;  // not empty: what wrote the file, if not torch.profiler
  bool is_kineto_ = false;
  bool is_xla_ = false;  // a process has the name of one of XLA's devices

  static constexpr int64_t kNoOrigin = std::numeric_limits<int64_t>::min();
  int64_t origin_ns_ = kNoOrigin;  // is subtracted from the times of the source
  uint64_t first_ns_ = std::numeric_limits<uint64_t>::max();
  std::vector<uint64_t> last_ns_;  // of anything, by process
  uint64_t last_of_all_ns_ = 0;
  uint64_t bad_times_ = 0, bad_ends_ = 0, syncs_without_call_ = 0, truncated_correlations_ = 0;
  uint64_t call_count_ = 0, launch_count_ = 0, sync_call_count_ = 0, range_count_ = 0, kernel_count_ = 0,
           shape_count_ = 0;
  uint64_t host_copy_count_ = 0, host_copies_of_known_memory_ = 0, copies_without_size_ = 0, graph_count_ = 0,
           event_wait_count_ = 0;
  uint64_t result_count_ = 0;  // calls that say what they returned
};

}  // namespace gprof

// Builds small traces by hand: times in nanoseconds, everything that is not said has a sensible default.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "gprof/analysis.h"
#include "gprof/trace.h"

namespace gprof::test {

inline constexpr int64_t kUs = 1000, kMs = 1'000'000;
inline constexpr uint64_t kMegabyte = 1'000'000;
inline constexpr AnalysisOptions kAllRows{.max_rows = 0};

// Indices that the Add functions return are those of the order of adding; Finish() sorts and renumbers.
class TraceMaker {
 public:
  // One process, one thread, one device gpu0; thread 0 and device 0 are the defaults everywhere.
  TraceMaker();

  uint32_t AddProcess(uint32_t pid, int64_t start_ns = 0);
  uint32_t AddThread(uint32_t process, uint32_t tid, std::string_view name = "");
  uint32_t AddDevice(uint32_t ordinal);
  uint32_t AddStream(uint32_t id, bool is_created = true, uint32_t names_given = 0, uint32_t process = 0);

  uint32_t AddCall(int64_t start_ns, int64_t end_ns, std::string_view function, uint32_t thread = 0);
  uint32_t AddInnerCall(int64_t start_ns, int64_t end_ns, std::string_view function, uint32_t parent);
  GpuOp& AddKernel(int64_t start_ns, int64_t end_ns, uint32_t call = kNone, std::string_view name = "work");
  GpuOp& AddCopy(int64_t start_ns, int64_t end_ns, uint64_t bytes, trace::CopyKind kind, uint32_t call = kNone);
  GpuOp& AddPageable(int64_t start_ns, int64_t end_ns, uint64_t bytes, uint32_t call = kNone);  // host to device
  GpuOp& AddFill(int64_t start_ns, int64_t end_ns, uint64_t bytes, uint32_t call = kNone);
  // A launch call and its kernel.
  GpuOp& Launch(int64_t call_start_ns, int64_t call_end_ns, int64_t start_ns, int64_t end_ns, uint32_t thread = 0);

  // Those of a process in order.
  void AddCapture(int64_t start_ns, int64_t end_ns, uint32_t process = 0);

  // The path names the range; its last part is the name.
  NvtxRange& AddRange(int64_t start_ns, int64_t end_ns, std::string_view path, uint32_t thread = 0);
  Sync& AddSync(int64_t start_ns, int64_t end_ns, trace::SyncKind kind, uint32_t call = kNone, uint32_t stream = kNone);
  void AddOverhead(int64_t start_ns, int64_t end_ns, uint32_t kind, uint32_t thread = 0);
  void AddJit(int64_t start_ns, int64_t end_ns, uint32_t thread = 0);

  NameId Name(std::string_view text);
  // For what the functions above do not cover, without operations, calls and ranges until Finish.
  Trace& trace() { return trace_; }
  ApiCall& Call(uint32_t call) { return calls_[call]; }
  std::deque<GpuOp>& ops() { return ops_; }
  std::vector<ApiCall>& calls() { return calls_; }
  std::deque<NvtxRange>& ranges() { return ranges_; }
  Trace Finish();

 private:
  GpuOp& AddOp(OpKind kind, int64_t start_ns, int64_t end_ns, uint32_t call);
  std::vector<uint32_t> SortCalls();
  std::vector<uint32_t> SortRanges();
  void NestRanges();
  void SortOps();
  void SetSpan();

  Trace trace_;
  std::deque<GpuOp> ops_;  // references to them stay good
  std::deque<NvtxRange> ranges_;
  std::vector<ApiCall> calls_;
  std::unordered_map<std::string, uint32_t> names_;
};

ApiClass ClassOf(std::string_view function);

// What tests ask results for; they fail the test where the thing is missing.
double MetricOf(const AnalysisResult& result, std::string_view id, std::string_view scope = "");
bool HasMetric(const AnalysisResult& result, std::string_view id, std::string_view scope = "");
const Table& TableOf(const AnalysisResult& result, std::string_view id);
const Cell& CellOf(const Table& table, size_t row, std::string_view key);
int64_t IntOf(const Table& table, size_t row, std::string_view key);
double RealOf(const Table& table, size_t row, std::string_view key);
std::string TextOf(const Table& table, size_t row, std::string_view key);
int64_t SumOf(const Table& table, std::string_view key);
const Finding* FindingOf(const AnalysisResult& result, std::string_view id);
// "message | evidence | more evidence"
std::string WordsOf(const Finding* finding);

}  // namespace gprof::test

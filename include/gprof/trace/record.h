// Every record kind of a trace, each described once: a struct and its field list.
//
// Columns, encoder, decoder, text dump, the table in docs/trace-format.md, the round-trip tests and the fuzz seeds all
// derive from the `Fields()` lists here. Rules that keep old traces readable:
//   * a kind number is never reused, a field is only ever appended at the end of its list;
//   * a field that an older writer did not have keeps the default given here.
// Times are nanoseconds on CLOCK_MONOTONIC of the host that wrote the chunk; ClockRecord ties them to other clocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace gprof::trace {

enum class RecordKind : uint16_t {
  kString = 1,
  kKernelShape = 2,
  kProcess = 3,
  kThread = 4,
  kDevice = 5,
  kContext = 6,
  kStream = 7,
  kClock = 8,
  kApi = 9,
  kKernel = 10,
  kMemcpy = 11,
  kPeerCopy = 12,
  kMemset = 13,
  kSync = 14,
  kOverhead = 15,
  kJit = 16,
  kMemory = 17,
  kGraphLaunch = 18,
  kNvtx = 19,
  kNvtxDomain = 20,
  kNvtxCategory = 21,
  kNvtxName = 22,
  kLoss = 23,
  kNotice = 24,
  kEnd = 25,
  kCapture = 26,
  kEventRecord = 27,
  kGraphNode = 28,
  kManagedMemory = 29,
  kMemoryPool = 30,
  kNvtxSchema = 31,
  kNvtxSchemaEntry = 32,
  kNvtxEnum = 33,
  kNvtxPayload = 34,
  kModule = 35,
  kFrame = 36,
  kStack = 37,
  kSymbol = 38,
  kCpuSample = 39,
  kSwitch = 40,
  kOsCall = 41,
  kMetricSource = 42,
  kMetricBlock = 43,
  kMetricLoss = 44,
  kCounterPlan = 45,
  kCounterRange = 46,
  kCounterValues = 47,
  kMpiCall = 48,
  kGemm = 49,
  kWorkRate = 50,
  kPcSample = 51,
  kInstruction = 52,
  kCollective = 53,
  kDirective = 54,
  kCalibration = 55,
  kTensorBlock = 56,
  kNcclTransfer = 57,
  kGpuPause = 58,
  kInProgress = 59,
  kDelayWindow = 60,
  kRequestEvent = 61,
  kEngineStep = 62,
  kStepRequest = 63,
  kBaseTime = 64,
  kBaseCall = 65,
  kBaseGraph = 66,
  kGeneratedLines = 67,
};

// Names a StringRecord of the same process; 0 is the empty string.
struct StringId {
  uint32_t value = 0;
  friend constexpr bool operator==(StringId a, StringId b) { return a.value == b.value; }
  friend constexpr bool operator!=(StringId a, StringId b) { return a.value != b.value; }
};

// Names a KernelShapeRecord of the same process; 0 is "not known".
struct ShapeId {
  uint32_t value = 0;
  friend constexpr bool operator==(ShapeId a, ShapeId b) { return a.value == b.value; }
  friend constexpr bool operator!=(ShapeId a, ShapeId b) { return a.value != b.value; }
};

// Bytes of a StringRecord; never owned by the record.
struct Text {
  const char* data = nullptr;
  uint32_t size = 0;
  constexpr std::string_view View() const { return {data, size}; }
};

// How a column's values usually run; the encoder takes something shorter where the values allow it.
enum class Shape : uint8_t { kPlain, kDelta };

struct FieldInfo {
  const char* name;
  Shape shape;
  const char* meaning;
};

// ---- enumerations: the numbers are part of the format ----

enum class ApiDomain : uint8_t { kRuntime = 1, kDriver = 2 };

enum class CopyKind : uint8_t {
  kUnknown = 0,
  kHostToDevice = 1,
  kDeviceToHost = 2,
  kHostToArray = 3,
  kArrayToHost = 4,
  kArrayToArray = 5,
  kArrayToDevice = 6,
  kDeviceToArray = 7,
  kDeviceToDevice = 8,
  kHostToHost = 9,
  kPeerToPeer = 10,
};

enum class MemoryKind : uint8_t {
  kUnknown = 0,
  kPageable = 1,
  kPinned = 2,
  kDevice = 3,
  kArray = 4,
  kManaged = 5,
  kDeviceStatic = 6,
  kManagedStatic = 7,
};

enum class SyncKind : uint8_t {
  kUnknown = 0,
  kEvent = 1,
  kStreamWaitEvent = 2,
  kStream = 3,
  kContext = 4,
};

enum class MemoryOp : uint8_t { kAllocate = 1, kFree = 2 };

enum class NvtxEvent : uint8_t { kMark = 1, kPush = 2, kPop = 3, kStart = 4, kEnd = 5 };

enum class PayloadType : uint8_t {
  kNone = 0,
  kUnsigned64 = 1,
  kSigned64 = 2,
  kDouble = 3,
  kUnsigned32 = 4,
  kSigned32 = 5,
  kFloat = 6,
  kExtended = 7,
};

enum class NvtxNameKind : uint8_t { kThread = 1, kDevice = 2, kContext = 3, kStream = 4, kEvent = 5, kResource = 6 };

// OverheadRecord: ours, beside CUPTI's. Kernels were measured within a run that is recorded.
inline constexpr uint32_t kOverheadCounters = 100u << 16;

enum class LossReason : uint8_t {
  kNoMemory = 1,
  kWriteFailed = 2,
  kCuptiDropped = 3,
  kNoTime = 4,
  kUnknownRecord = 5,
  kFork = 6,
  kSignalHandler = 7,
  kNoAccess = 8,
};

// kReason: why the trace was written, of one that nobody asked for beforehand.
enum class NoticeLevel : uint8_t { kInfo = 1, kWarning = 2, kError = 3, kReason = 4 };

enum class EndReason : uint8_t { kExit = 1, kExec = 2, kStopped = 3, kSalvaged = 4 };

enum class CaptureEvent : uint8_t { kStart = 1, kStop = 2 };

// What a process records at a time.
enum class RecordLevel : uint8_t { kNothing = 0, kAll = 1, kBase = 2 };

enum class CaptureTrigger : uint8_t {
  kBegin = 1,
  kDelay = 2,
  kProfilerApi = 3,
  kNvtx = 4,
  kSteps = 5,
  kCommand = 6,
  kSignal = 7,
  kEnd = 8,
  kWindow = 9,
  kProfiler = 10,
};

enum class ManagedKind : uint8_t {
  kUnknown = 0,
  kHostToDevice = 1,
  kDeviceToHost = 2,
  kCpuPageFaults = 3,
  kGpuPageFault = 4,
  kThrashing = 5,
  kThrottling = 6,
  kRemoteMap = 7,
  kDeviceToDevice = 8,
};

enum class PoolOp : uint8_t { kCreate = 1, kDestroy = 2, kTrim = 3 };

enum class ModuleKind : uint8_t { kUnknown = 0, kFile = 1, kPythonCode = 2, kVdso = 3, kKernel = 4, kGenerated = 5 };

enum class SampleKind : uint8_t { kUnknown = 0, kPerf = 1, kSignal = 2, kPython = 3, kPythonWaiting = 4 };

enum class OsObject : uint8_t {
  kNone = 0,
  kMutex = 1,
  kRwLock = 2,
  kCondition = 3,
  kSemaphore = 4,
  kBarrier = 5,
  kGil = 6,
  kFutex = 7,
  kThread = 8,
  kProcess = 9,
  kFile = 10,
  kPipe = 11,
  kSocket = 12,
  kDevice = 13,
  kTimer = 14,
  kMemory = 15,
  kPoll = 16,
};

enum class MetricKind : uint8_t { kUnknown = 0, kGauge = 1, kCounter = 2, kRate = 3 };

enum class MetricScope : uint8_t { kNone = 0, kHost = 1, kProcess = 2, kThread = 3, kDevice = 4 };

// What something is that had begun and not ended when somebody looked.
enum class ProgressKind : uint8_t {
  kUnknown = 0,
  kThread = 1,  // of the program: where it is, and the system call that it is in
  kCudaCall = 2,
  kMpiCall = 3,
  kOsCall = 4,
  kKernel = 5,
  kCopy = 6,
  kMemset = 7,
  kGraph = 8,
};

enum class RequestEventKind : uint8_t {
  kNamed = 0,
  kArrived = 1,
  kTokensOut = 2,
  kPreempted = 3,
  kFinished = 4,
  kAborted = 5,
};

enum class MetricLossReason : uint8_t {
  kUnknown = 0,
  kOverflow = 1,
  kTooSlow = 2,
  kTaken = 3,
  kNotAllowed = 4,
  kStepDown = 5,
  kPaused = 6,
};

enum class ReplayMode : uint8_t { kUnknown = 0, kNone = 1, kKernel = 2, kApplication = 3, kRange = 4 };

enum class CacheControl : uint8_t { kUnknown = 0, kNone = 1, kL2 = 2, kAll = 3 };

enum class ClockControl : uint8_t { kUnknown = 0, kNone = 1, kBase = 2, kBoost = 3 };

enum class CounterScope : uint8_t { kUnknown = 0, kKernel = 1, kRange = 2, kGraph = 3 };

enum class CounterStatus : uint8_t { kComplete = 0, kPassesMissing = 1, kRefused = 2, kTimeLimit = 3 };

// CalibrationRecord: what was recorded, for one of them.
enum class RecordedOperation : uint8_t {
  kUnknown = 0,
  kLaunch = 1,
  kCopy = 2,
  kFill = 3,
  kWait = 4,
  kAllocation = 5,
  kGraphLaunch = 6,
  kGraphNode = 7,
  kCall = 8,
  kRange = 9,
};

// ---- dictionary kinds: a chunk repeats the ones its records name ----

struct StringRecord {
  static constexpr RecordKind kKind = RecordKind::kString;
  static constexpr const char* kName = "string";
  static constexpr const char* kMeaning = "text that other records name by its id";
  uint32_t id = 0;
  Text text;
  template <class R, class V>
  static constexpr void Fields(R& r, V&& v) {
    v(FieldInfo{"id", Shape::kDelta, "number that the other records use"}, r.id);
    v(FieldInfo{"text", Shape::kPlain, "the bytes, UTF-8 as a rule, never checked"}, r.text);
  }
};

struct KernelShapeRecord {
  static constexpr RecordKind kKind = RecordKind::kKernelShape;
  static constexpr const char* kName = "kernel_shape";
  static constexpr const char* kMeaning = "launch configuration that kernel records name by its id";
  uint32_t id = 0;
  uint32_t grid_x = 0, grid_y = 0, grid_z = 0;
  uint32_t block_x = 0, block_y = 0, block_z = 0;
  uint32_t cluster_x = 0, cluster_y = 0, cluster_z = 0;
  uint32_t registers_per_thread = 0;
  uint32_t static_shared_bytes = 0, dynamic_shared_bytes = 0;
  uint32_t local_bytes_per_thread = 0;
  uint64_t local_bytes_total = 0;
  uint32_t shared_carveout_bytes = 0;
  uint8_t cache_config = 0;
  template <class R, class V>
  static constexpr void Fields(R& r, V&& v) {
    v(FieldInfo{"id", Shape::kDelta, "number that kernel records use"}, r.id);
    v(FieldInfo{"grid_x", Shape::kPlain, "blocks in x"}, r.grid_x);
    v(FieldInfo{"grid_y", Shape::kPlain, "blocks in y"}, r.grid_y);
    v(FieldInfo{"grid_z", Shape::kPlain, "blocks in z"}, r.grid_z);
    v(FieldInfo{"block_x", Shape::kPlain, "threads of a block in x"}, r.block_x);
    v(FieldInfo{"block_y", Shape::kPlain, "threads of a block in y"}, r.block_y);
    v(FieldInfo{"block_z", Shape::kPlain, "threads of a block in z"}, r.block_z);
    v(FieldInfo{"cluster_x", Shape::kPlain, "blocks of a cluster in x, 0 without clusters"}, r.cluster_x);
    v(FieldInfo{"cluster_y", Shape::kPlain, "blocks of a cluster in y"}, r.cluster_y);
    v(FieldInfo{"cluster_z", Shape::kPlain, "blocks of a cluster in z"}, r.cluster_z);
    v(FieldInfo{"registers_per_thread", Shape::kPlain, "registers of a thread"}, r.registers_per_thread);
    v(FieldInfo{"static_shared_bytes", Shape::kPlain, "shared memory declared in the kernel"}, r.static_shared_bytes);
    v(FieldInfo{"dynamic_shared_bytes", Shape::kPlain, "shared memory asked for at the launch"},
      r.dynamic_shared_bytes);
    v(FieldInfo{"local_bytes_per_thread", Shape::kPlain, "local memory of a thread"}, r.local_bytes_per_thread);
    v(FieldInfo{"local_bytes_total", Shape::kPlain, "local memory reserved for the launch"}, r.local_bytes_total);
    v(FieldInfo{"shared_carveout_bytes", Shape::kPlain, "shared memory set aside on each SM"}, r.shared_carveout_bytes);
    v(FieldInfo{"cache_config", Shape::kPlain, "CUfunc_cache the launch ran with"}, r.cache_config);
  }
};

// ---- who and where ----

struct ProcessRecord {
  static constexpr RecordKind kKind = RecordKind::kProcess;
  static constexpr const char* kName = "process";
  static constexpr const char* kMeaning = "the traced process that wrote the chunk";
  uint64_t start_ns = 0;
  uint32_t pid = 0, parent_pid = 0;
  StringId name, command_line, host, tracer_version, cupti_path;
  uint32_t cupti_version = 0, driver_version = 0, runtime_version = 0;
  uint8_t is_forked = 0;
  int32_t rank = -1, local_rank = -1;
  uint32_t world_size = 0;
  StringId rank_source, capture_mode;
  uint32_t cores = 0;
  template <class R, class V>
  static constexpr void Fields(R& r, V&& v) {
    v(FieldInfo{"start_ns", Shape::kDelta, "when the tracer started in it"}, r.start_ns);
    v(FieldInfo{"pid", Shape::kPlain, "process id"}, r.pid);
    v(FieldInfo{"parent_pid", Shape::kPlain, "process id of its parent"}, r.parent_pid);
    v(FieldInfo{"name", Shape::kPlain, "file name of its program"}, r.name);
    v(FieldInfo{"command_line", Shape::kPlain, "its arguments, joined by spaces"}, r.command_line);
    v(FieldInfo{"host", Shape::kPlain, "name of the machine"}, r.host);
    v(FieldInfo{"tracer_version", Shape::kPlain, "version of gprof-cli that traced it"}, r.tracer_version);
    v(FieldInfo{"cupti_path", Shape::kPlain, "the libcupti in use, empty without one"}, r.cupti_path);
    v(FieldInfo{"cupti_version", Shape::kPlain, "what cuptiGetVersion answers, 0 without CUPTI"}, r.cupti_version);
    v(FieldInfo{"driver_version", Shape::kPlain, "what cuDriverGetVersion answers"}, r.driver_version);
    v(FieldInfo{"runtime_version", Shape::kPlain, "CUDA runtime version, 0 when not known"}, r.runtime_version);
    v(FieldInfo{"is_forked", Shape::kPlain, "1 for a child made by fork without exec"}, r.is_forked);
    v(FieldInfo{"rank", Shape::kPlain, "rank among the processes of a parallel job, -1 for none"}, r.rank);
    v(FieldInfo{"local_rank", Shape::kPlain, "rank on its machine, -1 when not known"}, r.local_rank);
    v(FieldInfo{"world_size", Shape::kPlain, "processes of the job, 0 when not known"}, r.world_size);
    v(FieldInfo{"rank_source", Shape::kPlain, "who numbered the ranks: Open MPI, PMI, Slurm, torchrun, …"},
      r.rank_source);
    v(FieldInfo{"capture_mode", Shape::kPlain, "what was asked to be recorded, and when"}, r.capture_mode);
    v(FieldInfo{"cores", Shape::kPlain, "cores that it may run on, 0 when not known"}, r.cores);
  }
};

struct ThreadRecord {
  static constexpr RecordKind kKind = RecordKind::kThread;
  static constexpr const char* kName = "thread";
  static constexpr const char* kMeaning = "a thread of the process that wrote the chunk";
  uint32_t tid = 0;
  StringId name;
  template <class R, class V>
  static constexpr void Fields(R& r, V&& v) {
    v(FieldInfo{"tid", Shape::kDelta, "thread id as the kernel counts"}, r.tid);
    v(FieldInfo{"name", Shape::kPlain, "its name in /proc"}, r.name);
  }
};

struct DeviceRecord {
  static constexpr RecordKind kKind = RecordKind::kDevice;
  static constexpr const char* kName = "device";
  static constexpr const char* kMeaning = "a GPU that the process can use";
  uint32_t device = 0;
  StringId name, uuid;
  uint32_t compute_major = 0, compute_minor = 0;
  uint32_t sm_count = 0, sm_clock_khz = 0, memory_clock_khz = 0, memory_bus_bits = 0;
  uint64_t memory_bytes = 0, memory_bytes_per_second = 0, l2_bytes = 0;
  uint32_t max_threads_per_sm = 0, max_blocks_per_sm = 0, max_registers_per_sm = 0, max_shared_bytes_per_sm = 0;
  uint32_t max_threads_per_block = 0, max_registers_per_block = 0, max_shared_bytes_per_block = 0;
  uint32_t warp_size = 0;
  uint32_t pcie_domain = 0, pcie_bus = 0, pcie_device = 0;
  uint32_t pcie_generation = 0, pcie_lanes = 0;
  template <class R, class V>
  static constexpr void Fields(R& r, V&& v) {
    v(FieldInfo{"device", Shape::kDelta, "ordinal in the process"}, r.device);
    v(FieldInfo{"name", Shape::kPlain, "product name"}, r.name);
    v(FieldInfo{"uuid", Shape::kPlain, "GPU-xxxxxxxx-…, the same in every process"}, r.uuid);
    v(FieldInfo{"compute_major", Shape::kPlain, "compute capability, first number"}, r.compute_major);
    v(FieldInfo{"compute_minor", Shape::kPlain, "compute capability, second number"}, r.compute_minor);
    v(FieldInfo{"sm_count", Shape::kPlain, "streaming multiprocessors"}, r.sm_count);
    v(FieldInfo{"sm_clock_khz", Shape::kPlain, "highest SM clock"}, r.sm_clock_khz);
    v(FieldInfo{"memory_clock_khz", Shape::kPlain, "highest memory clock, 0 when not known"}, r.memory_clock_khz);
    v(FieldInfo{"memory_bus_bits", Shape::kPlain, "width of the memory bus, 0 when not known"}, r.memory_bus_bits);
    v(FieldInfo{"memory_bytes", Shape::kPlain, "device memory"}, r.memory_bytes);
    v(FieldInfo{"memory_bytes_per_second", Shape::kPlain, "peak memory bandwidth"}, r.memory_bytes_per_second);
    v(FieldInfo{"l2_bytes", Shape::kPlain, "L2 cache"}, r.l2_bytes);
    v(FieldInfo{"max_threads_per_sm", Shape::kPlain, "resident threads of an SM"}, r.max_threads_per_sm);
    v(FieldInfo{"max_blocks_per_sm", Shape::kPlain, "resident blocks of an SM"}, r.max_blocks_per_sm);
    v(FieldInfo{"max_registers_per_sm", Shape::kPlain, "registers of an SM"}, r.max_registers_per_sm);
    v(FieldInfo{"max_shared_bytes_per_sm", Shape::kPlain, "shared memory of an SM"}, r.max_shared_bytes_per_sm);
    v(FieldInfo{"max_threads_per_block", Shape::kPlain, "threads of a block at most"}, r.max_threads_per_block);
    v(FieldInfo{"max_registers_per_block", Shape::kPlain, "registers of a block at most"}, r.max_registers_per_block);
    v(FieldInfo{"max_shared_bytes_per_block", Shape::kPlain, "shared memory of a block at most"},
      r.max_shared_bytes_per_block);
    v(FieldInfo{"warp_size", Shape::kPlain, "threads of a warp"}, r.warp_size);
    v(FieldInfo{"pcie_domain", Shape::kPlain, "PCI domain"}, r.pcie_domain);
    v(FieldInfo{"pcie_bus", Shape::kPlain, "PCI bus"}, r.pcie_bus);
    v(FieldInfo{"pcie_device", Shape::kPlain, "PCI device"}, r.pcie_device);
    v(FieldInfo{"pcie_generation", Shape::kPlain, "highest PCIe generation of the link, 0 when not known"},
      r.pcie_generation);
    v(FieldInfo{"pcie_lanes", Shape::kPlain, "lanes of the link at most, 0 when not known"}, r.pcie_lanes);
  }
};

struct ContextRecord {
  static constexpr RecordKind kKind = RecordKind::kContext;
  static constexpr const char* kName = "context";
  static constexpr const char* kMeaning = "a CUDA context";
  uint32_t context = 0, device = 0, null_stream = 0;
  template <class R, class V>
  static constexpr void Fields(R& r, V&& v) {
    v(FieldInfo{"context", Shape::kDelta, "id that CUPTI gives it"}, r.context);
    v(FieldInfo{"device", Shape::kPlain, "its device"}, r.device);
    v(FieldInfo{"null_stream", Shape::kPlain, "stream id of the default stream"}, r.null_stream);
  }
};

struct StreamRecord {
  static constexpr RecordKind kKind = RecordKind::kStream;
  static constexpr const char* kName = "stream";
  static constexpr const char* kMeaning = "a stream that the program created";
  uint64_t created_ns = 0;
  uint32_t context = 0, stream = 0;
  int32_t priority = 0;
  uint8_t is_non_blocking = 0;
  uint64_t handle = 0;
  template <class R, class V>
  static constexpr void Fields(R& r, V&& v) {
    v(FieldInfo{"created_ns", Shape::kDelta, "when it was made, 0 when not known"}, r.created_ns);
    v(FieldInfo{"context", Shape::kPlain, "its context"}, r.context);
    v(FieldInfo{"stream", Shape::kDelta, "id that CUPTI gives it"}, r.stream);
    v(FieldInfo{"priority", Shape::kPlain, "scheduling priority, lower runs first"}, r.priority);
    v(FieldInfo{"is_non_blocking", Shape::kPlain, "1 when it does not wait for the legacy default stream"},
      r.is_non_blocking);
    v(FieldInfo{"handle", Shape::kPlain, "the program's handle, which NVTX names go by"}, r.handle);
  }
};

struct ClockRecord {
  static constexpr RecordKind kKind = RecordKind::kClock;
  static constexpr const char* kName = "clock";
  static constexpr const char* kMeaning = "one instant on every clock, to convert between them";
  uint64_t monotonic_ns = 0, realtime_ns = 0, tsc = 0, cupti_ns = 0, uncertainty_ns = 0;
  template <class R, class V>
  static constexpr void Fields(R& r, V&& v) {
    v(FieldInfo{"monotonic_ns", Shape::kDelta, "CLOCK_MONOTONIC, the clock of the trace"}, r.monotonic_ns);
    v(FieldInfo{"realtime_ns", Shape::kDelta, "CLOCK_REALTIME"}, r.realtime_ns);
    v(FieldInfo{"tsc", Shape::kDelta, "time stamp counter, 0 when it is not used"}, r.tsc);
    v(FieldInfo{"cupti_ns", Shape::kDelta, "cuptiGetTimestamp, 0 without CUPTI"}, r.cupti_ns);
    v(FieldInfo{"uncertainty_ns", Shape::kPlain, "width of the bracket that the readings were taken in"},
      r.uncertainty_ns);
  }
};

// ---- what the program did ----

struct ApiRecord {
  static constexpr RecordKind kKind = RecordKind::kApi;
  static constexpr const char* kName = "api";
  static constexpr const char* kMeaning = "a call of the CUDA runtime or driver";
  uint64_t start_ns = 0, duration_ns = 0;
  uint32_t tid = 0, correlation = 0;
  StringId function;
  uint8_t domain = 0;
  int32_t result = 0;
  uint8_t is_unfinished = 0;
  uint32_t stack = 0;
  template <class R, class V>
  static constexpr void Fields(R& r, V&& v) {
    v(FieldInfo{"start_ns", Shape::kDelta, "entry of the call"}, r.start_ns);
    v(FieldInfo{"duration_ns", Shape::kPlain, "from entry to return"}, r.duration_ns);
    v(FieldInfo{"tid", Shape::kPlain, "calling thread"}, r.tid);
    v(FieldInfo{"correlation", Shape::kDelta, "ties the call to the GPU work it launched"}, r.correlation);
    v(FieldInfo{"function", Shape::kPlain, "name of the function"}, r.function);
    v(FieldInfo{"domain", Shape::kPlain, "1 runtime, 2 driver"}, r.domain);
    v(FieldInfo{"result", Shape::kPlain, "what the call returned, 0 is success"}, r.result);
    v(FieldInfo{"is_unfinished", Shape::kPlain, "1 when the process ended inside the call"}, r.is_unfinished);
    v(FieldInfo{"stack", Shape::kPlain, "stack of the caller, 0 when not known"}, r.stack);
  }
};

struct KernelRecord {
  static constexpr RecordKind kKind = RecordKind::kKernel;
  static constexpr const char* kName = "kernel";
  static constexpr const char* kMeaning = "a kernel that ran on a GPU";
  uint64_t start_ns = 0, duration_ns = 0;
  uint32_t device = 0, context = 0, stream = 0, correlation = 0;
  StringId name;
  ShapeId shape;
  uint32_t graph = 0;
  uint64_t graph_node = 0;
  uint64_t queued_ns = 0, submitted_ns = 0;
  uint32_t channel = 0;
  uint8_t is_device_launched = 0;
  template <class R, class V>
  static constexpr void Fields(R& r, V&& v) {
    v(FieldInfo{"start_ns", Shape::kDelta, "start on the GPU"}, r.start_ns);
    v(FieldInfo{"duration_ns", Shape::kPlain, "time on the GPU"}, r.duration_ns);
    v(FieldInfo{"device", Shape::kPlain, "device it ran on"}, r.device);
    v(FieldInfo{"context", Shape::kPlain, "context it ran in"}, r.context);
    v(FieldInfo{"stream", Shape::kPlain, "stream it ran in"}, r.stream);
    v(FieldInfo{"correlation", Shape::kDelta, "correlation of the launching call"}, r.correlation);
    v(FieldInfo{"name", Shape::kPlain, "mangled name"}, r.name);
    v(FieldInfo{"shape", Shape::kPlain, "launch configuration (kernel_shape)"}, r.shape);
    v(FieldInfo{"graph", Shape::kPlain, "CUDA graph that launched it, 0 for none"}, r.graph);
    v(FieldInfo{"graph_node", Shape::kPlain, "node of that graph, 0 for none"}, r.graph_node);
    v(FieldInfo{"queued_ns", Shape::kPlain, "when it was queued, 0 when not asked for"}, r.queued_ns);
    v(FieldInfo{"submitted_ns", Shape::kPlain, "when it was submitted, 0 when not asked for"}, r.submitted_ns);
    v(FieldInfo{"channel", Shape::kPlain, "hardware channel, 0 when not known"}, r.channel);
    v(FieldInfo{"is_device_launched", Shape::kPlain, "1 when the GPU launched it"}, r.is_device_launched);
  }
};

struct MemcpyRecord {
  static constexpr RecordKind kKind = RecordKind::kMemcpy;
  static constexpr const char* kName = "memcpy";
  static constexpr const char* kMeaning = "a copy within one device or between it and the host";
  uint64_t start_ns = 0, duration_ns = 0;
  uint32_t device = 0, context = 0, stream = 0, correlation = 0;
  uint64_t size_bytes = 0;
  uint8_t copy_kind = 0, source_memory = 0, destination_memory = 0, is_async = 0;
  uint32_t graph = 0;
  uint64_t graph_node = 0;
  uint32_t channel = 0;
  uint64_t copy_count = 0;
  template <class R, class V>
  static constexpr void Fields(R& r, V&& v) {
    v(FieldInfo{"start_ns", Shape::kDelta, "start on the GPU"}, r.start_ns);
    v(FieldInfo{"duration_ns", Shape::kPlain, "time on the GPU"}, r.duration_ns);
    v(FieldInfo{"device", Shape::kPlain, "device that copied"}, r.device);
    v(FieldInfo{"context", Shape::kPlain, "context it ran in"}, r.context);
    v(FieldInfo{"stream", Shape::kPlain, "stream it ran in"}, r.stream);
    v(FieldInfo{"correlation", Shape::kDelta, "correlation of the launching call"}, r.correlation);
    v(FieldInfo{"size_bytes", Shape::kPlain, "bytes copied"}, r.size_bytes);
    v(FieldInfo{"copy_kind", Shape::kPlain, "1 host to device, 2 device to host, 8 device to device, …"}, r.copy_kind);
    v(FieldInfo{"source_memory", Shape::kPlain, "1 pageable, 2 pinned, 3 device, 4 array, 5 managed, …"},
      r.source_memory);
    v(FieldInfo{"destination_memory", Shape::kPlain, "as source_memory"}, r.destination_memory);
    v(FieldInfo{"is_async", Shape::kPlain, "1 for an asynchronous copy"}, r.is_async);
    v(FieldInfo{"graph", Shape::kPlain, "CUDA graph that launched it, 0 for none"}, r.graph);
    v(FieldInfo{"graph_node", Shape::kPlain, "node of that graph, 0 for none"}, r.graph_node);
    v(FieldInfo{"channel", Shape::kPlain, "hardware channel, 0 when not known"}, r.channel);
    v(FieldInfo{"copy_count", Shape::kPlain, "copies of a batched call, 0 when not known"}, r.copy_count);
  }
};

struct PeerCopyRecord {
  static constexpr RecordKind kKind = RecordKind::kPeerCopy;
  static constexpr const char* kName = "peer_copy";
  static constexpr const char* kMeaning = "a copy from one device to another";
  uint64_t start_ns = 0, duration_ns = 0;
  uint32_t device = 0, context = 0, stream = 0, correlation = 0;
  uint64_t size_bytes = 0;
  uint8_t source_memory = 0, destination_memory = 0, is_async = 0;
  uint32_t source_device = 0, destination_device = 0;
  uint32_t graph = 0;
  uint64_t graph_node = 0;
  template <class R, class V>
  static constexpr void Fields(R& r, V&& v) {
    v(FieldInfo{"start_ns", Shape::kDelta, "start on the GPU"}, r.start_ns);
    v(FieldInfo{"duration_ns", Shape::kPlain, "time on the GPU"}, r.duration_ns);
    v(FieldInfo{"device", Shape::kPlain, "device that copied"}, r.device);
    v(FieldInfo{"context", Shape::kPlain, "context it ran in"}, r.context);
    v(FieldInfo{"stream", Shape::kPlain, "stream it ran in"}, r.stream);
    v(FieldInfo{"correlation", Shape::kDelta, "correlation of the launching call"}, r.correlation);
    v(FieldInfo{"size_bytes", Shape::kPlain, "bytes copied"}, r.size_bytes);
    v(FieldInfo{"source_memory", Shape::kPlain, "1 pageable, 2 pinned, 3 device, …"}, r.source_memory);
    v(FieldInfo{"destination_memory", Shape::kPlain, "as source_memory"}, r.destination_memory);
    v(FieldInfo{"is_async", Shape::kPlain, "1 for an asynchronous copy"}, r.is_async);
    v(FieldInfo{"source_device", Shape::kPlain, "device copied from"}, r.source_device);
    v(FieldInfo{"destination_device", Shape::kPlain, "device copied to"}, r.destination_device);
    v(FieldInfo{"graph", Shape::kPlain, "CUDA graph that launched it, 0 for none"}, r.graph);
    v(FieldInfo{"graph_node", Shape::kPlain, "node of that graph, 0 for none"}, r.graph_node);
  }
};

struct MemsetRecord {
  static constexpr RecordKind kKind = RecordKind::kMemset;
  static constexpr const char* kName = "memset";
  static constexpr const char* kMeaning = "a memory fill on a GPU";
  uint64_t start_ns = 0, duration_ns = 0;
  uint32_t device = 0, context = 0, stream = 0, correlation = 0;
  uint64_t size_bytes = 0;
  uint32_t value = 0;
  uint8_t memory = 0, is_async = 0;
  uint32_t graph = 0;
  uint64_t graph_node = 0;
  template <class R, class V>
  static constexpr void Fields(R& r, V&& v) {
    v(FieldInfo{"start_ns", Shape::kDelta, "start on the GPU"}, r.start_ns);
    v(FieldInfo{"duration_ns", Shape::kPlain, "time on the GPU"}, r.duration_ns);
    v(FieldInfo{"device", Shape::kPlain, "device it ran on"}, r.device);
    v(FieldInfo{"context", Shape::kPlain, "context it ran in"}, r.context);
    v(FieldInfo{"stream", Shape::kPlain, "stream it ran in"}, r.stream);
    v(FieldInfo{"correlation", Shape::kDelta, "correlation of the launching call"}, r.correlation);
    v(FieldInfo{"size_bytes", Shape::kPlain, "bytes filled"}, r.size_bytes);
    v(FieldInfo{"value", Shape::kPlain, "the value filled in"}, r.value);
    v(FieldInfo{"memory", Shape::kPlain, "memory kind, as source_memory of memcpy"}, r.memory);
    v(FieldInfo{"is_async", Shape::kPlain, "1 for an asynchronous fill"}, r.is_async);
    v(FieldInfo{"graph", Shape::kPlain, "CUDA graph that launched it, 0 for none"}, r.graph);
    v(FieldInfo{"graph_node", Shape::kPlain, "node of that graph, 0 for none"}, r.graph_node);
  }
};

struct SyncRecord {
  static constexpr RecordKind kKind = RecordKind::kSync;
  static constexpr const char* kName = "sync";
  static constexpr const char* kMeaning = "a wait for GPU work, by the host or (stream_wait_event) by a stream";
  uint64_t start_ns = 0, duration_ns = 0;
  uint8_t sync_kind = 0;
  uint32_t tid = 0, correlation = 0, context = 0, stream = 0;
  uint64_t event = 0;
  template <class R, class V>
  static constexpr void Fields(R& r, V&& v) {
    v(FieldInfo{"start_ns", Shape::kDelta, "entry of the call"}, r.start_ns);
    v(FieldInfo{"duration_ns", Shape::kPlain, "from entry to return"}, r.duration_ns);
    v(FieldInfo{"sync_kind", Shape::kPlain, "1 event, 2 stream waits for an event, 3 stream, 4 context"}, r.sync_kind);
    v(FieldInfo{"tid", Shape::kPlain, "calling thread"}, r.tid);
    v(FieldInfo{"correlation", Shape::kDelta, "correlation of the call"}, r.correlation);
    v(FieldInfo{"context", Shape::kPlain, "context of the call, 0 when not known"}, r.context);
    v(FieldInfo{"stream", Shape::kPlain, "stream waited for (or waiting), 0 when not known"}, r.stream);
    v(FieldInfo{"event", Shape::kPlain, "handle of the event, 0 for none"}, r.event);
  }
};

struct OverheadRecord {
  static constexpr RecordKind kKind = RecordKind::kOverhead;
  static constexpr const char* kName = "overhead";
  static constexpr const char* kMeaning = "time that CUPTI says profiling took";
  uint64_t start_ns = 0, duration_ns = 0;
  uint32_t overhead_kind = 0, tid = 0, correlation = 0;
  template <class R, class V>
  static constexpr void Fields(R& r, V&& v) {
    v(FieldInfo{"start_ns", Shape::kDelta, "start"}, r.start_ns);
    v(FieldInfo{"duration_ns", Shape::kPlain, "length"}, r.duration_ns);
    v(FieldInfo{"overhead_kind", Shape::kPlain, "CUpti_ActivityOverheadKind, or 6553600: kernels were measured"},
      r.overhead_kind);
    v(FieldInfo{"tid", Shape::kPlain, "thread it held up, 0 when not known"}, r.tid);
    v(FieldInfo{"correlation", Shape::kDelta, "call it happened in, 0 when not known"}, r.correlation);
  }
};

struct JitRecord {
  static constexpr RecordKind kKind = RecordKind::kJit;
  static constexpr const char* kName = "jit";
  static constexpr const char* kMeaning = "compilation or cache access of the just-in-time compiler";
  uint64_t start_ns = 0, duration_ns = 0;
  uint32_t device = 0, tid = 0, correlation = 0;
  uint8_t entry_kind = 0, operation = 0;
  uint64_t cache_bytes = 0;
  StringId cache_path;
  template <class R, class V>
  static constexpr void Fields(R& r, V&& v) {
    v(FieldInfo{"start_ns", Shape::kDelta, "start"}, r.start_ns);
    v(FieldInfo{"duration_ns", Shape::kPlain, "length"}, r.duration_ns);
    v(FieldInfo{"device", Shape::kPlain, "device compiled for"}, r.device);
    v(FieldInfo{"tid", Shape::kPlain, "thread it held up"}, r.tid);
    v(FieldInfo{"correlation", Shape::kDelta, "call it happened in"}, r.correlation);
    v(FieldInfo{"entry_kind", Shape::kPlain, "1 PTX to cubin, 2 NVVM IR to PTX"}, r.entry_kind);
    v(FieldInfo{"operation", Shape::kPlain, "1 load from cache, 2 store to cache, 3 compile"}, r.operation);
    v(FieldInfo{"cache_bytes", Shape::kPlain, "size of the code in the cache"}, r.cache_bytes);
    v(FieldInfo{"cache_path", Shape::kPlain, "file of the cache"}, r.cache_path);
  }
};

struct MemoryRecord {
  static constexpr RecordKind kKind = RecordKind::kMemory;
  static constexpr const char* kName = "memory";
  static constexpr const char* kMeaning = "an allocation or a free";
  uint64_t time_ns = 0;
  uint8_t operation = 0, memory = 0, is_async = 0;
  uint64_t address = 0, size_bytes = 0;
  uint32_t device = 0, context = 0, stream = 0, correlation = 0;
  uint64_t pool = 0;
  template <class R, class V>
  static constexpr void Fields(R& r, V&& v) {
    v(FieldInfo{"time_ns", Shape::kDelta, "when"}, r.time_ns);
    v(FieldInfo{"operation", Shape::kPlain, "1 allocate, 2 free"}, r.operation);
    v(FieldInfo{"memory", Shape::kPlain, "memory kind, as source_memory of memcpy"}, r.memory);
    v(FieldInfo{"is_async", Shape::kPlain, "1 when ordered in a stream"}, r.is_async);
    v(FieldInfo{"address", Shape::kDelta, "address of the block"}, r.address);
    v(FieldInfo{"size_bytes", Shape::kPlain, "bytes of the block"}, r.size_bytes);
    v(FieldInfo{"device", Shape::kPlain, "device"}, r.device);
    v(FieldInfo{"context", Shape::kPlain, "context"}, r.context);
    v(FieldInfo{"stream", Shape::kPlain, "stream it is ordered in, 0 for none"}, r.stream);
    v(FieldInfo{"correlation", Shape::kDelta, "correlation of the call"}, r.correlation);
    v(FieldInfo{"pool", Shape::kPlain, "memory pool, 0 for none"}, r.pool);
  }
};

struct GraphLaunchRecord {
  static constexpr RecordKind kKind = RecordKind::kGraphLaunch;
  static constexpr const char* kName = "graph_launch";
  static constexpr const char* kMeaning = "a CUDA graph that ran as a whole";
  uint64_t start_ns = 0, duration_ns = 0;
  uint32_t device = 0, context = 0, stream = 0, correlation = 0, graph = 0;
  template <class R, class V>
  static constexpr void Fields(R& r, V&& v) {
    v(FieldInfo{"start_ns", Shape::kDelta, "start of its first node on the GPU"}, r.start_ns);
    v(FieldInfo{"duration_ns", Shape::kPlain, "to the end of its last node"}, r.duration_ns);
    v(FieldInfo{"device", Shape::kPlain, "device it ran on"}, r.device);
    v(FieldInfo{"context", Shape::kPlain, "context it ran in"}, r.context);
    v(FieldInfo{"stream", Shape::kPlain, "stream it was launched into"}, r.stream);
    v(FieldInfo{"correlation", Shape::kDelta, "correlation of the launching call"}, r.correlation);
    v(FieldInfo{"graph", Shape::kPlain, "id of the graph"}, r.graph);
  }
};

// ---- what the program said about itself (NVTX) ----

struct NvtxRecord {
  static constexpr RecordKind kKind = RecordKind::kNvtx;
  static constexpr const char* kName = "nvtx";
  static constexpr const char* kMeaning = "an NVTX mark, or one end of an NVTX range";
  uint64_t time_ns = 0;
  uint32_t tid = 0;
  uint8_t event = 0;
  uint32_t domain = 0;
  StringId message;
  uint64_t range = 0;
  uint32_t category = 0, color = 0;
  uint8_t payload_type = 0;
  uint64_t payload = 0;
  template <class R, class V>
  static constexpr void Fields(R& r, V&& v) {
    v(FieldInfo{"time_ns", Shape::kDelta, "when"}, r.time_ns);
    v(FieldInfo{"tid", Shape::kPlain, "thread"}, r.tid);
    v(FieldInfo{"event", Shape::kPlain, "1 mark, 2 push, 3 pop, 4 start, 5 end"}, r.event);
    v(FieldInfo{"domain", Shape::kPlain, "NVTX domain, 0 is the default one"}, r.domain);
    v(FieldInfo{"message", Shape::kPlain, "text, empty on pop and end"}, r.message);
    v(FieldInfo{"range", Shape::kDelta, "id that ties an end to its start, 0 otherwise"}, r.range);
    v(FieldInfo{"category", Shape::kPlain, "category within the domain, 0 for none"}, r.category);
    v(FieldInfo{"color", Shape::kPlain, "colour as 0xAARRGGBB, 0 for none"}, r.color);
    v(FieldInfo{"payload_type", Shape::kPlain, "0 none, 1 u64, 2 i64, 3 double, 4 u32, 5 i32, 6 float, 7 extended"},
      r.payload_type);
    v(FieldInfo{"payload", Shape::kPlain, "the payload's bits"}, r.payload);
  }
};

struct NvtxDomainRecord {
  static constexpr RecordKind kKind = RecordKind::kNvtxDomain;
  static constexpr const char* kName = "nvtx_domain";
  static constexpr const char* kMeaning = "name of an NVTX domain";
  uint32_t domain = 0;
  StringId name;
  template <class R, class V>
  static constexpr void Fields(R& r, V&& v) {
    v(FieldInfo{"domain", Shape::kDelta, "number that nvtx records use"}, r.domain);
    v(FieldInfo{"name", Shape::kPlain, "its name"}, r.name);
  }
};

struct NvtxCategoryRecord {
  static constexpr RecordKind kKind = RecordKind::kNvtxCategory;
  static constexpr const char* kName = "nvtx_category";
  static constexpr const char* kMeaning = "name of an NVTX category";
  uint32_t domain = 0, category = 0;
  StringId name;
  template <class R, class V>
  static constexpr void Fields(R& r, V&& v) {
    v(FieldInfo{"domain", Shape::kDelta, "its domain"}, r.domain);
    v(FieldInfo{"category", Shape::kPlain, "number within the domain"}, r.category);
    v(FieldInfo{"name", Shape::kPlain, "its name"}, r.name);
  }
};

struct NvtxNameRecord {
  static constexpr RecordKind kKind = RecordKind::kNvtxName;
  static constexpr const char* kName = "nvtx_name";
  static constexpr const char* kMeaning = "name that the program gave to a thread, device, context, stream or resource";
  uint64_t time_ns = 0;
  uint8_t object = 0;
  uint64_t handle = 0;
  uint32_t domain = 0;
  StringId name;
  template <class R, class V>
  static constexpr void Fields(R& r, V&& v) {
    v(FieldInfo{"time_ns", Shape::kDelta, "when"}, r.time_ns);
    v(FieldInfo{"object", Shape::kPlain, "1 thread, 2 device, 3 context, 4 stream, 5 event, 6 resource"}, r.object);
    v(FieldInfo{"handle", Shape::kPlain, "thread id, device number or handle"}, r.handle);
    v(FieldInfo{"domain", Shape::kPlain, "NVTX domain of a resource"}, r.domain);
    v(FieldInfo{"name", Shape::kPlain, "its name"}, r.name);
  }
};

// ---- about the trace itself ----

struct LossRecord {
  static constexpr RecordKind kKind = RecordKind::kLoss;
  static constexpr const char* kName = "loss";
  static constexpr const char* kMeaning = "records that are not in the trace, and why";
  uint64_t time_ns = 0;
  uint8_t reason = 0;
  uint32_t lost_kind = 0;
  uint64_t count = 0;
  template <class R, class V>
  static constexpr void Fields(R& r, V&& v) {
    v(FieldInfo{"time_ns", Shape::kDelta, "when the loss was noticed"}, r.time_ns);
    v(FieldInfo{"reason", Shape::kPlain,
                "1 no memory, 2 write failed, 3 dropped by CUPTI, 4 no time stamps, "
                "5 unknown record, 6 fork, 7 in a signal handler, 8 no access to the trace"},
      r.reason);
    v(FieldInfo{"lost_kind", Shape::kPlain, "kind of the lost records, 0 when not known"}, r.lost_kind);
    v(FieldInfo{"count", Shape::kPlain, "how many"}, r.count);
  }
};

struct NoticeRecord {
  static constexpr RecordKind kKind = RecordKind::kNotice;
  static constexpr const char* kName = "notice";
  static constexpr const char* kMeaning = "something the tracer has to say, a missing driver for example";
  uint64_t time_ns = 0;
  uint8_t level = 0;
  StringId message;
  template <class R, class V>
  static constexpr void Fields(R& r, V&& v) {
    v(FieldInfo{"time_ns", Shape::kDelta, "when"}, r.time_ns);
    v(FieldInfo{"level", Shape::kPlain, "1 information, 2 warning, 3 error, 4 why the trace was written"}, r.level);
    v(FieldInfo{"message", Shape::kPlain, "the text"}, r.message);
  }
};

struct EndRecord {
  static constexpr RecordKind kKind = RecordKind::kEnd;
  static constexpr const char* kName = "end";
  static constexpr const char* kMeaning = "the process ended and everything it recorded is in the trace";
  uint64_t time_ns = 0;
  uint8_t reason = 0;
  uint64_t chunks_written = 0;
  uint64_t gpu_complete_until_ns = 0;
  template <class R, class V>
  static constexpr void Fields(R& r, V&& v) {
    v(FieldInfo{"time_ns", Shape::kDelta, "when"}, r.time_ns);
    v(FieldInfo{"reason", Shape::kPlain,
                "1 exit, 2 exec, 3 stopped, 4 died: the rest was taken from its shared memory"},
      r.reason);
    v(FieldInfo{"chunks_written", Shape::kPlain, "chunks of the process before this one"}, r.chunks_written);
    v(FieldInfo{"gpu_complete_until_ns", Shape::kPlain, "GPU work that ended later may be missing, 0 when none is"},
      r.gpu_complete_until_ns);
  }
};

// ---- when it was recorded ----

struct CaptureRecord {
  static constexpr RecordKind kKind = RecordKind::kCapture;
  static constexpr const char* kName = "capture";
  static constexpr const char* kMeaning =
      "recording began or stopped in the process; without any it is recorded throughout";
  uint64_t time_ns = 0;
  uint8_t event = 0, trigger = 0;
  uint32_t number = 0;
  template <class R, class V>
  static constexpr void Fields(R& r, V&& v) {
    v(FieldInfo{"time_ns", Shape::kDelta, "when"}, r.time_ns);
    v(FieldInfo{"event", Shape::kPlain, "1 start, 2 stop"}, r.event);
    v(FieldInfo{"trigger", Shape::kPlain,
                "1 begin of the process, 2 delay or duration, 3 cudaProfilerStart or Stop, "
                "4 NVTX range, 5 step schedule, 6 command, 7 signal, 8 end of the process, 9 recording in windows, "
                "10 the program's own profiler"},
      r.trigger);
    v(FieldInfo{"number", Shape::kPlain, "counts the captures of the process from 1"}, r.number);
  }
};

struct GpuPauseRecord {
  static constexpr RecordKind kKind = RecordKind::kGpuPause;
  static constexpr const char* kName = "gpu_pause";
  static constexpr const char* kMeaning =
      "GPU work was not recorded, as a profiler of the program recorded it; written when it begins and again when it "
      "ends";
  uint64_t start_ns = 0, end_ns = 0;
  uint32_t number = 0;
  StringId profiler;
  template <class R, class V>
  static constexpr void Fields(R& r, V&& v) {
    v(FieldInfo{"start_ns", Shape::kDelta, "from when"}, r.start_ns);
    v(FieldInfo{"end_ns", Shape::kPlain, "until when, 0 while it lasts"}, r.end_ns);
    v(FieldInfo{"number", Shape::kPlain, "counts the pauses of the process from 1"}, r.number);
    v(FieldInfo{"profiler", Shape::kPlain, "of the program, or the file that it is in"}, r.profiler);
  }
};

struct WorkRateRecord {
  static constexpr RecordKind kKind = RecordKind::kWorkRate;
  static constexpr const char* kName = "work_rate";
  static constexpr const char* kMeaning =
      "how often the process called a function in a window with recording, or in one without";
  uint64_t start_ns = 0, duration_ns = 0;
  uint32_t number = 0;
  uint8_t level = 0;
  StringId function;
  uint32_t calls = 0;
  uint64_t span_ns = 0;
  uint32_t threads = 0;
  template <class R, class V>
  static constexpr void Fields(R& r, V&& v) {
    v(FieldInfo{"start_ns", Shape::kDelta, "when counting began"}, r.start_ns);
    v(FieldInfo{"duration_ns", Shape::kPlain, "how long was counted"}, r.duration_ns);
    v(FieldInfo{"number", Shape::kPlain, "of the window; neighbours in time have neighbouring numbers"}, r.number);
    v(FieldInfo{"level", Shape::kPlain, "what was recorded: 0 nothing, 1 everything, 2 the base level"}, r.level);
    v(FieldInfo{"function", Shape::kPlain, "CUDA function whose calls were counted"}, r.function);
    v(FieldInfo{"calls", Shape::kPlain, "how many of them returned"}, r.calls);
    v(FieldInfo{"span_ns", Shape::kPlain, "from the first of them to the last"}, r.span_ns);
    v(FieldInfo{"threads", Shape::kPlain, "that made them"}, r.threads);
  }
};

struct BaseTimeRecord {
  static constexpr RecordKind kKind = RecordKind::kBaseTime;
  static constexpr const char* kName = "base_time";
  static constexpr const char* kMeaning =
      "between two windows the base level was recorded: NVTX ranges, waits, launches of graphs, long calls, samples; "
      "neighbours follow each other";
  uint64_t start_ns = 0, duration_ns = 0;
  template <class R, class V>
  static constexpr void Fields(R& r, V&& v) {
    v(FieldInfo{"start_ns", Shape::kDelta, "from when"}, r.start_ns);
    v(FieldInfo{"duration_ns", Shape::kPlain, "for how long"}, r.duration_ns);
  }
};

struct BaseCallRecord {
  static constexpr RecordKind kKind = RecordKind::kBaseCall;
  static constexpr const char* kName = "base_call";
  static constexpr const char* kMeaning =
      "a CUDA call outside of windows: a wait, the launch of a graph, or one that took long";
  uint64_t start_ns = 0, duration_ns = 0;
  uint32_t tid = 0, correlation = 0;
  StringId function;
  int32_t result = 0;
  uint8_t domain = 0;
  uint32_t stack = 0;
  template <class R, class V>
  static constexpr void Fields(R& r, V&& v) {
    v(FieldInfo{"start_ns", Shape::kDelta, "entry of the call"}, r.start_ns);
    v(FieldInfo{"duration_ns", Shape::kPlain, "from entry to return"}, r.duration_ns);
    v(FieldInfo{"tid", Shape::kPlain, "calling thread"}, r.tid);
    v(FieldInfo{"correlation", Shape::kDelta, "ties the launch of a graph to its base_graph"}, r.correlation);
    v(FieldInfo{"function", Shape::kPlain, "name without version suffix"}, r.function);
    v(FieldInfo{"result", Shape::kPlain, "cudaError_t or CUresult"}, r.result);
    v(FieldInfo{"domain", Shape::kPlain, "1 runtime API, 2 driver API"}, r.domain);
    v(FieldInfo{"stack", Shape::kPlain, "stack of the caller, 0 when not known"}, r.stack);
  }
};

struct BaseGraphRecord {
  static constexpr RecordKind kKind = RecordKind::kBaseGraph;
  static constexpr const char* kName = "base_graph";
  static constexpr const char* kMeaning = "a CUDA graph that was launched outside of windows, and ran as a whole";
  uint64_t start_ns = 0, duration_ns = 0;
  uint32_t device = 0, context = 0, stream = 0, correlation = 0, graph = 0;
  template <class R, class V>
  static constexpr void Fields(R& r, V&& v) {
    v(FieldInfo{"start_ns", Shape::kDelta, "start of its first node on the GPU"}, r.start_ns);
    v(FieldInfo{"duration_ns", Shape::kPlain, "to the end of its last node"}, r.duration_ns);
    v(FieldInfo{"device", Shape::kPlain, "device it ran on"}, r.device);
    v(FieldInfo{"context", Shape::kPlain, "context it ran in"}, r.context);
    v(FieldInfo{"stream", Shape::kPlain, "stream it was launched into"}, r.stream);
    v(FieldInfo{"correlation", Shape::kDelta, "correlation of the launching call"}, r.correlation);
    v(FieldInfo{"graph", Shape::kPlain, "id of the graph"}, r.graph);
  }
};

struct DelayWindowRecord {
  static constexpr RecordKind kKind = RecordKind::kDelayWindow;
  static constexpr const char* kName = "delay_window";
  static constexpr const char* kMeaning =
      "a window in which each instance of one thing was delayed on purpose, or none was (`what-if`)";
  uint64_t start_ns = 0, duration_ns = 0;
  uint32_t number = 0;
  StringId thing;
  uint64_t delay_ns = 0;
  uint64_t instances = 0, inserted_ns = 0;
  template <class R, class V>
  static constexpr void Fields(R& r, V&& v) {
    v(FieldInfo{"start_ns", Shape::kDelta, "when it began"}, r.start_ns);
    v(FieldInfo{"duration_ns", Shape::kPlain, "how long it lasted"}, r.duration_ns);
    v(FieldInfo{"number", Shape::kPlain, "counts the windows of the process from 1"}, r.number);
    v(FieldInfo{"thing", Shape::kPlain, "what was delayed: `launches`, `range:NAME`; empty for nothing"}, r.thing);
    v(FieldInfo{"delay_ns", Shape::kPlain, "of each instance; 0 also for things that were handled and not delayed"},
      r.delay_ns);
    v(FieldInfo{"instances", Shape::kPlain, "that were delayed"}, r.instances);
    v(FieldInfo{"inserted_ns", Shape::kPlain, "by which threads waited for them, in all; on the GPU it is not known"},
      r.inserted_ns);
  }
};

struct RequestEventRecord {
  static constexpr RecordKind kKind = RecordKind::kRequestEvent;
  static constexpr const char* kName = "request_event";
  static constexpr const char* kMeaning = "something happened to a request of a serving engine";
  uint64_t time_ns = 0;
  uint32_t tid = 0;
  uint32_t request = 0;
  uint8_t event = 0;
  uint32_t tokens = 0;
  StringId name;
  template <class R, class V>
  static constexpr void Fields(R& r, V&& v) {
    v(FieldInfo{"time_ns", Shape::kDelta, "when"}, r.time_ns);
    v(FieldInfo{"tid", Shape::kPlain, "thread that told of it"}, r.tid);
    v(FieldInfo{"request", Shape::kDelta, "its number in the process"}, r.request);
    v(FieldInfo{"event", Shape::kPlain, "0 named, 1 arrived, 2 tokens handed out, 3 preempted, 4 finished, 5 aborted"},
      r.event);
    v(FieldInfo{"tokens", Shape::kPlain, "arrived: of its prompt; handed out: how many; else 0"}, r.tokens);
    v(FieldInfo{"name", Shape::kPlain, "what the engine calls it; said once, with event 0"}, r.name);
  }
};

struct EngineStepRecord {
  static constexpr RecordKind kKind = RecordKind::kEngineStep;
  static constexpr const char* kName = "engine_step";
  static constexpr const char* kMeaning = "a step of a serving engine: one run of the model on a batch of requests";
  uint64_t start_ns = 0, duration_ns = 0;
  uint32_t tid = 0;
  uint32_t step = 0;
  uint64_t requests = 0, waiting = 0;
  uint64_t cache_used = 0, cache_blocks = 0;
  template <class R, class V>
  static constexpr void Fields(R& r, V&& v) {
    v(FieldInfo{"start_ns", Shape::kDelta, "when it began"}, r.start_ns);
    v(FieldInfo{"duration_ns", Shape::kPlain, "until its tokens were known"}, r.duration_ns);
    v(FieldInfo{"tid", Shape::kPlain, "thread that ran it"}, r.tid);
    v(FieldInfo{"step", Shape::kDelta, "counts the steps of the process from 1"}, r.step);
    v(FieldInfo{"requests", Shape::kPlain, "in its batch, each a `step_request`"}, r.requests);
    v(FieldInfo{"waiting", Shape::kPlain, "requests in the queue when it began"}, r.waiting);
    v(FieldInfo{"cache_used", Shape::kPlain, "blocks of the KV cache in use"}, r.cache_used);
    v(FieldInfo{"cache_blocks", Shape::kPlain, "blocks of the KV cache; 0 is unknown"}, r.cache_blocks);
  }
};

struct StepRequestRecord {
  static constexpr RecordKind kKind = RecordKind::kStepRequest;
  static constexpr const char* kName = "step_request";
  static constexpr const char* kMeaning = "a request in the batch of a step";
  uint64_t time_ns = 0;
  uint32_t step = 0, request = 0;
  uint32_t tokens = 0, cached = 0, tokens_out = 0;
  uint8_t is_prefill = 0;
  template <class R, class V>
  static constexpr void Fields(R& r, V&& v) {
    v(FieldInfo{"time_ns", Shape::kDelta, "when the step began"}, r.time_ns);
    v(FieldInfo{"step", Shape::kDelta, "its number in the process"}, r.step);
    v(FieldInfo{"request", Shape::kDelta, "its number in the process"}, r.request);
    v(FieldInfo{"tokens", Shape::kPlain, "of the request that this step computed"}, r.tokens);
    v(FieldInfo{"cached", Shape::kPlain, "tokens before them, which were in the KV cache"}, r.cached);
    v(FieldInfo{"tokens_out", Shape::kPlain, "new tokens that the step found for it"}, r.tokens_out);
    v(FieldInfo{"is_prefill", Shape::kPlain, "1 if these tokens are of its prompt"}, r.is_prefill);
  }
};

struct GeneratedLinesRecord {
  static constexpr RecordKind kKind = RecordKind::kGeneratedLines;
  static constexpr const char* kName = "generated_lines";
  static constexpr const char* kMeaning = "lines of generated code, and the code that they were generated from";
  StringId file;
  uint32_t first_line = 0, last_line = 0;
  StringId source_file;
  uint32_t source_line = 0;
  StringId function, place;
  template <class R, class V>
  static constexpr void Fields(R& r, V&& v) {
    v(FieldInfo{"file", Shape::kPlain, "the generated file"}, r.file);
    v(FieldInfo{"first_line", Shape::kDelta, "the first of its lines"}, r.first_line);
    v(FieldInfo{"last_line", Shape::kDelta, "the last of its lines"}, r.last_line);
    v(FieldInfo{"source_file", Shape::kPlain, "file that they were generated from, empty when not known"},
      r.source_file);
    v(FieldInfo{"source_line", Shape::kPlain, "line of that file, 0 when not known"}, r.source_line);
    v(FieldInfo{"function", Shape::kPlain, "function of that line"}, r.function);
    v(FieldInfo{"place", Shape::kPlain, "modules of that line, outermost first, as \"A / B\""}, r.place);
  }
};

struct CalibrationRecord {
  static constexpr RecordKind kKind = RecordKind::kCalibration;
  static constexpr const char* kName = "calibration";
  static constexpr const char* kMeaning =
      "what recording one operation costs on the machine of the run, as `doctor --calibrate` measured it there";
  uint8_t operation = 0;
  uint32_t threads = 0;
  uint32_t call_ns = 0, cold_call_ns = 0, gpu_ns = 0;
  uint64_t measured_unix_s = 0;
  template <class R, class V>
  static constexpr void Fields(R& r, V&& v) {
    v(FieldInfo{"operation", Shape::kPlain,
                "1 kernel launch, 2 copy, 3 fill, 4 wait, 5 allocation, 6 graph launch, 7 node of a graph that is "
                "recorded node by node, 8 other call, 9 NVTX range"},
      r.operation);
    v(FieldInfo{"threads", Shape::kPlain, "that did it at the same time"}, r.threads);
    v(FieldInfo{"call_ns", Shape::kPlain, "longer for the calling thread, in a tight loop"}, r.call_ns);
    v(FieldInfo{"cold_call_ns", Shape::kPlain, "the same where the program has used its caches in between"},
      r.cold_call_ns);
    v(FieldInfo{"gpu_ns", Shape::kPlain, "longer on the GPU, in a full queue"}, r.gpu_ns);
    v(FieldInfo{"measured_unix_s", Shape::kPlain, "when that was, in seconds since 1970"}, r.measured_unix_s);
  }
};

// ---- more of what the program did ----

struct EventRecordRecord {
  static constexpr RecordKind kKind = RecordKind::kEventRecord;
  static constexpr const char* kName = "event_record";
  static constexpr const char* kMeaning = "a CUDA event recorded into a stream";
  uint64_t time_ns = 0;
  uint32_t tid = 0, correlation = 0, context = 0, stream = 0;
  uint64_t event = 0;
  template <class R, class V>
  static constexpr void Fields(R& r, V&& v) {
    v(FieldInfo{"time_ns", Shape::kDelta, "return of the call"}, r.time_ns);
    v(FieldInfo{"tid", Shape::kPlain, "calling thread"}, r.tid);
    v(FieldInfo{"correlation", Shape::kDelta, "correlation of the call"}, r.correlation);
    v(FieldInfo{"context", Shape::kPlain, "context of the call, 0 when not known"}, r.context);
    v(FieldInfo{"stream", Shape::kPlain, "stream recorded into, 0 when not known"}, r.stream);
    v(FieldInfo{"event", Shape::kPlain, "handle of the event"}, r.event);
  }
};

struct GraphNodeRecord {
  static constexpr RecordKind kKind = RecordKind::kGraphNode;
  static constexpr const char* kName = "graph_node";
  static constexpr const char* kMeaning = "a node of a CUDA graph was made, by the code that runs on the thread then";
  uint64_t time_ns = 0;
  uint32_t tid = 0, graph = 0;
  uint64_t node = 0, original = 0;
  uint8_t node_type = 0;
  uint32_t stack = 0;
  StringId place;
  template <class R, class V>
  static constexpr void Fields(R& r, V&& v) {
    v(FieldInfo{"time_ns", Shape::kDelta, "when"}, r.time_ns);
    v(FieldInfo{"tid", Shape::kPlain, "thread that made it"}, r.tid);
    v(FieldInfo{"graph", Shape::kPlain, "its graph, 0 when not known"}, r.graph);
    v(FieldInfo{"node", Shape::kDelta, "id that operations name as graph_node"}, r.node);
    v(FieldInfo{"original", Shape::kDelta, "node it is a clone of (instantiation clones), 0 for none"}, r.original);
    v(FieldInfo{"node_type", Shape::kPlain, "CUgraphNodeType"}, r.node_type);
    v(FieldInfo{"stack", Shape::kPlain, "of the code that made it, 0 when not known"}, r.stack);
    v(FieldInfo{"place", Shape::kPlain, "modules or NVTX ranges that it was made in, outermost first, as \"A / B\""},
      r.place);
  }
};

struct ManagedMemoryRecord {
  static constexpr RecordKind kKind = RecordKind::kManagedMemory;
  static constexpr const char* kName = "managed_memory";
  static constexpr const char* kMeaning = "a migration or page fault of managed memory";
  uint64_t start_ns = 0, duration_ns = 0;
  uint8_t managed_kind = 0;
  uint64_t value = 0, address = 0;
  uint32_t source = 0, destination = 0, stream = 0, flags = 0;
  template <class R, class V>
  static constexpr void Fields(R& r, V&& v) {
    v(FieldInfo{"start_ns", Shape::kDelta, "start"}, r.start_ns);
    v(FieldInfo{"duration_ns", Shape::kPlain, "length"}, r.duration_ns);
    v(FieldInfo{"managed_kind", Shape::kPlain,
                "1 host to device, 2 device to host, 3 CPU page faults, 4 GPU page faults, "
                "5 thrashing, 6 throttling, 7 remote map, 8 device to device"},
      r.managed_kind);
    v(FieldInfo{"value", Shape::kPlain, "bytes of a migration, pages of a fault"}, r.value);
    v(FieldInfo{"address", Shape::kDelta, "address, 0 when not known"}, r.address);
    v(FieldInfo{"source", Shape::kPlain, "device it came from or that faulted, 4294967295 for the host"}, r.source);
    v(FieldInfo{"destination", Shape::kPlain, "device it went to, 4294967295 for the host"}, r.destination);
    v(FieldInfo{"stream", Shape::kPlain, "stream, 0 when not known"}, r.stream);
    v(FieldInfo{"flags", Shape::kPlain, "access type of a fault, or cause of a migration, as CUPTI has them"}, r.flags);
  }
};

struct MemoryPoolRecord {
  static constexpr RecordKind kKind = RecordKind::kMemoryPool;
  static constexpr const char* kName = "memory_pool";
  static constexpr const char* kMeaning = "a memory pool was made, trimmed or destroyed";
  uint64_t time_ns = 0;
  uint8_t operation = 0, is_imported = 0;
  uint64_t pool = 0, size_bytes = 0, used_bytes = 0, release_threshold_bytes = 0, keep_bytes = 0;
  uint32_t device = 0, correlation = 0;
  template <class R, class V>
  static constexpr void Fields(R& r, V&& v) {
    v(FieldInfo{"time_ns", Shape::kDelta, "when"}, r.time_ns);
    v(FieldInfo{"operation", Shape::kPlain, "1 create, 2 destroy, 3 trim"}, r.operation);
    v(FieldInfo{"is_imported", Shape::kPlain, "1 for a pool of another process"}, r.is_imported);
    v(FieldInfo{"pool", Shape::kDelta, "its address, which memory records name"}, r.pool);
    v(FieldInfo{"size_bytes", Shape::kPlain, "bytes it holds, 0 when not known"}, r.size_bytes);
    v(FieldInfo{"used_bytes", Shape::kPlain, "bytes in use, 0 when not known"}, r.used_bytes);
    v(FieldInfo{"release_threshold_bytes", Shape::kPlain, "bytes it keeps before it gives memory back"},
      r.release_threshold_bytes);
    v(FieldInfo{"keep_bytes", Shape::kPlain, "bytes a trim kept at least"}, r.keep_bytes);
    v(FieldInfo{"device", Shape::kPlain, "its device"}, r.device);
    v(FieldInfo{"correlation", Shape::kDelta, "correlation of the call"}, r.correlation);
  }
};

// ---- NVTX payloads: what is needed to read the bytes, and the bytes ----

struct NvtxSchemaRecord {
  static constexpr RecordKind kKind = RecordKind::kNvtxSchema;
  static constexpr const char* kName = "nvtx_schema";
  static constexpr const char* kMeaning = "layout of payloads that a program registered";
  uint32_t domain = 0;
  uint64_t schema = 0;
  uint32_t schema_type = 0, flags = 0, size_bytes = 0, entry_count = 0;
  StringId name;
  template <class R, class V>
  static constexpr void Fields(R& r, V&& v) {
    v(FieldInfo{"domain", Shape::kPlain, "NVTX domain it belongs to"}, r.domain);
    v(FieldInfo{"schema", Shape::kDelta, "its number in the domain"}, r.schema);
    v(FieldInfo{"schema_type", Shape::kPlain, "NVTX_PAYLOAD_SCHEMA_TYPE_…"}, r.schema_type);
    v(FieldInfo{"flags", Shape::kPlain, "NVTX_PAYLOAD_SCHEMA_FLAG_…"}, r.flags);
    v(FieldInfo{"size_bytes", Shape::kPlain, "bytes of a payload, 0 when they differ"}, r.size_bytes);
    v(FieldInfo{"entry_count", Shape::kPlain, "entries it has"}, r.entry_count);
    v(FieldInfo{"name", Shape::kPlain, "its name, may be empty"}, r.name);
  }
};

struct NvtxSchemaEntryRecord {
  static constexpr RecordKind kKind = RecordKind::kNvtxSchemaEntry;
  static constexpr const char* kName = "nvtx_schema_entry";
  static constexpr const char* kMeaning = "one entry of a payload's layout";
  uint32_t domain = 0;
  uint64_t schema = 0;
  uint32_t index = 0;
  uint64_t flags = 0, entry_type = 0, array_length = 0, offset_bytes = 0;
  uint32_t size_bytes = 0;
  StringId name;
  template <class R, class V>
  static constexpr void Fields(R& r, V&& v) {
    v(FieldInfo{"domain", Shape::kPlain, "NVTX domain of the schema"}, r.domain);
    v(FieldInfo{"schema", Shape::kDelta, "number of the schema"}, r.schema);
    v(FieldInfo{"index", Shape::kDelta, "place among the entries, from 0"}, r.index);
    v(FieldInfo{"flags", Shape::kPlain, "NVTX_PAYLOAD_ENTRY_FLAG_…"}, r.flags);
    v(FieldInfo{"entry_type", Shape::kPlain, "NVTX_PAYLOAD_ENTRY_TYPE_…, or the number of a schema or enumeration"},
      r.entry_type);
    v(FieldInfo{"array_length", Shape::kPlain, "arrayOrUnionDetail"}, r.array_length);
    v(FieldInfo{"offset_bytes", Shape::kPlain, "where it lies in the payload"}, r.offset_bytes);
    v(FieldInfo{"size_bytes", Shape::kPlain, "bytes of one element, 0 when not known"}, r.size_bytes);
    v(FieldInfo{"name", Shape::kPlain, "its name"}, r.name);
  }
};

struct NvtxEnumRecord {
  static constexpr RecordKind kKind = RecordKind::kNvtxEnum;
  static constexpr const char* kName = "nvtx_enum";
  static constexpr const char* kMeaning = "one value of an enumeration that payloads use";
  uint32_t domain = 0;
  uint64_t enumeration = 0, value = 0;
  uint8_t is_flag = 0;
  StringId name;
  template <class R, class V>
  static constexpr void Fields(R& r, V&& v) {
    v(FieldInfo{"domain", Shape::kPlain, "NVTX domain it belongs to"}, r.domain);
    v(FieldInfo{"enumeration", Shape::kDelta, "its number in the domain"}, r.enumeration);
    v(FieldInfo{"value", Shape::kDelta, "the value"}, r.value);
    v(FieldInfo{"is_flag", Shape::kPlain, "1 when values are combined by or"}, r.is_flag);
    v(FieldInfo{"name", Shape::kPlain, "name of the value"}, r.name);
  }
};

struct NvtxPayloadRecord {
  static constexpr RecordKind kKind = RecordKind::kNvtxPayload;
  static constexpr const char* kName = "nvtx_payload";
  static constexpr const char* kMeaning = "payload bytes of the NVTX event of the same thread, time and domain";
  uint64_t time_ns = 0;
  uint32_t tid = 0, domain = 0;
  uint64_t range = 0, schema = 0;
  uint8_t event = 0;
  Text data;
  template <class R, class V>
  static constexpr void Fields(R& r, V&& v) {
    v(FieldInfo{"time_ns", Shape::kDelta, "time of the event"}, r.time_ns);
    v(FieldInfo{"tid", Shape::kPlain, "thread of the event"}, r.tid);
    v(FieldInfo{"domain", Shape::kPlain, "NVTX domain"}, r.domain);
    v(FieldInfo{"range", Shape::kDelta, "id of a start/end range, 0 otherwise"}, r.range);
    v(FieldInfo{"schema", Shape::kPlain, "its layout: an nvtx_schema, or a predefined type"}, r.schema);
    v(FieldInfo{"event", Shape::kPlain, "1 mark, 2 push, 3 pop, 4 start, 5 end"}, r.event);
    v(FieldInfo{"data", Shape::kPlain, "the bytes as the program had them in memory"}, r.data);
  }
};

// From here on a record may be written by a collector, a process of gprof-cli that looks at others from outside: `pid`
// is the process that the record is about, 0 the one that wrote it.

// ---- stacks: where code was ----
//
// Modules, frames and stacks have ids of the process that wrote them, and chunks of their own. A writer may say one
// again, and does so at least in every file that is to be read without the ones before it; the first one counts.

// A shared library and the code object of a Python function are both code with places in it that frames name.
struct ModuleRecord {
  static constexpr RecordKind kKind = RecordKind::kModule;
  static constexpr const char* kName = "module";
  static constexpr const char* kMeaning = "code that frames lie in: a file in memory, or a Python function";
  uint64_t time_ns = 0;
  uint32_t id = 0, pid = 0;
  uint8_t module_kind = 0;
  StringId path, build_id;
  uint64_t address = 0, size_bytes = 0, inode = 0;
  StringId name;
  uint32_t first_line = 0;
  StringId line_table;
  uint32_t python_version = 0;
  template <class R, class V>
  static constexpr void Fields(R& r, V&& v) {
    v(FieldInfo{"time_ns", Shape::kDelta, "when it was seen first"}, r.time_ns);
    v(FieldInfo{"id", Shape::kDelta, "number that frames use, from 1"}, r.id);
    v(FieldInfo{"pid", Shape::kPlain, "process that has it in memory"}, r.pid);
    v(FieldInfo{"module_kind", Shape::kPlain,
                "1 file, 2 Python function, 3 vDSO, 4 kernel, 5 code generated at run time"},
      r.module_kind);
    v(FieldInfo{"path", Shape::kPlain, "file: the library, or the source of a Python function"}, r.path);
    v(FieldInfo{"build_id", Shape::kPlain, "build id of the library in hexadecimal digits"}, r.build_id);
    v(FieldInfo{"address", Shape::kPlain, "what to add to the offset of a frame to have its address"}, r.address);
    v(FieldInfo{"size_bytes", Shape::kPlain, "bytes of it in memory"}, r.size_bytes);
    v(FieldInfo{"inode", Shape::kPlain, "inode of the file, 0 when not known"}, r.inode);
    v(FieldInfo{"name", Shape::kPlain, "of a Python function its qualified name, of generated code what it is"},
      r.name);
    v(FieldInfo{"first_line", Shape::kPlain, "first line of a Python function"}, r.first_line);
    v(FieldInfo{"line_table", Shape::kPlain, "co_linetable of a Python function, co_lnotab before Python 3.10"},
      r.line_table);
    v(FieldInfo{"python_version", Shape::kPlain,
                "256 times the major version and the minor one: how to read the table"},
      r.python_version);
  }
};

struct FrameRecord {
  static constexpr RecordKind kKind = RecordKind::kFrame;
  static constexpr const char* kName = "frame";
  static constexpr const char* kMeaning = "a place in code";
  uint32_t id = 0, module = 0;
  uint64_t offset = 0;
  template <class R, class V>
  static constexpr void Fields(R& r, V&& v) {
    v(FieldInfo{"id", Shape::kDelta, "number that stacks and symbols use, from 1"}, r.id);
    v(FieldInfo{"module", Shape::kPlain, "its module, 0 when not known"}, r.module);
    v(
        FieldInfo{
            "offset", Shape::kDelta,
            "address as the file has it, bytes into the code of a Python function, or without a module the address"},
        r.offset);
  }
};

// A trie: stacks that begin alike share what they begin with, and the last of a thread is told by what is new in it.
struct StackRecord {
  static constexpr RecordKind kKind = RecordKind::kStack;
  static constexpr const char* kName = "stack";
  static constexpr const char* kMeaning = "a stack of calls: its innermost frame, and the stack that called it";
  uint32_t id = 0, parent = 0, frame = 0;
  uint8_t is_cut = 0, is_guessed = 0;
  template <class R, class V>
  static constexpr void Fields(R& r, V&& v) {
    v(FieldInfo{"id", Shape::kDelta, "number that other records use, from 1"}, r.id);
    v(FieldInfo{"parent", Shape::kDelta, "the stack without its innermost frame, 0 for none"}, r.parent);
    v(FieldInfo{"frame", Shape::kDelta, "the innermost frame"}, r.frame);
    v(FieldInfo{"is_cut", Shape::kPlain, "1 when frames around it are missing (parent is 0)"}, r.is_cut);
    v(FieldInfo{"is_guessed", Shape::kPlain, "1 when the frame was found without unwind tables"}, r.is_guessed);
  }
};

struct SymbolRecord {
  static constexpr RecordKind kKind = RecordKind::kSymbol;
  static constexpr const char* kName = "symbol";
  static constexpr const char* kMeaning = "the function at a frame";
  uint32_t frame = 0, depth = 0;
  StringId name, file;
  uint32_t line = 0;
  uint64_t function_offset = 0;
  template <class R, class V>
  static constexpr void Fields(R& r, V&& v) {
    v(FieldInfo{"frame", Shape::kDelta, "the frame"}, r.frame);
    v(FieldInfo{"depth", Shape::kPlain, "0 the innermost function, 1 the one that it was inlined into, and so on"},
      r.depth);
    v(FieldInfo{"name", Shape::kPlain, "its name, mangled"}, r.name);
    v(FieldInfo{"file", Shape::kPlain, "source file, empty when not known"}, r.file);
    v(FieldInfo{"line", Shape::kPlain, "line in it, 0 when not known"}, r.line);
    v(FieldInfo{"function_offset", Shape::kPlain, "offset of the function's first byte, 0 when not known"},
      r.function_offset);
  }
};

// ---- what threads did between calls ----

struct CpuSampleRecord {
  static constexpr RecordKind kKind = RecordKind::kCpuSample;
  static constexpr const char* kName = "cpu_sample";
  static constexpr const char* kMeaning = "where a thread was at a moment";
  uint64_t time_ns = 0;
  uint32_t pid = 0, tid = 0, stack = 0;
  uint64_t weight_ns = 0;
  uint32_t cpu = 0;
  uint8_t sample_kind = 0;
  template <class R, class V>
  static constexpr void Fields(R& r, V&& v) {
    v(FieldInfo{"time_ns", Shape::kDelta, "when"}, r.time_ns);
    v(FieldInfo{"pid", Shape::kPlain, "its process"}, r.pid);
    v(FieldInfo{"tid", Shape::kPlain, "the thread"}, r.tid);
    v(FieldInfo{"stack", Shape::kPlain, "its stack, 0 when not known"}, r.stack);
    v(FieldInfo{"weight_ns", Shape::kPlain, "time that the sample stands for"}, r.weight_ns);
    v(FieldInfo{"cpu", Shape::kPlain, "1 more than the number of the processor, 0 when not known"}, r.cpu);
    v(FieldInfo{"sample_kind", Shape::kPlain,
                "1 perf, 2 signal, 3 read from a Python interpreter, 4 the same of a thread that did not run"},
      r.sample_kind);
  }
};

struct SwitchRecord {
  static constexpr RecordKind kKind = RecordKind::kSwitch;
  static constexpr const char* kName = "switch";
  static constexpr const char* kMeaning = "a thread was off the processor";
  uint64_t start_ns = 0, duration_ns = 0;
  uint32_t pid = 0, tid = 0, cpu = 0;
  uint8_t is_preempted = 0, is_unfinished = 0;
  template <class R, class V>
  static constexpr void Fields(R& r, V&& v) {
    v(FieldInfo{"start_ns", Shape::kDelta, "when it left the processor"}, r.start_ns);
    v(FieldInfo{"duration_ns", Shape::kPlain, "until it ran again"}, r.duration_ns);
    v(FieldInfo{"pid", Shape::kPlain, "its process"}, r.pid);
    v(FieldInfo{"tid", Shape::kPlain, "the thread"}, r.tid);
    v(FieldInfo{"cpu", Shape::kPlain, "1 more than the number of the processor it left, 0 when not known"}, r.cpu);
    v(FieldInfo{"is_preempted", Shape::kPlain, "1 when it could have gone on and another ran, 0 when it waited"},
      r.is_preempted);
    v(FieldInfo{"is_unfinished", Shape::kPlain, "1 when it had not run again at the end of the recording"},
      r.is_unfinished);
  }
};

struct OsCallRecord {
  static constexpr RecordKind kKind = RecordKind::kOsCall;
  static constexpr const char* kName = "os_call";
  static constexpr const char* kMeaning = "a call of the operating system that took long";
  uint64_t start_ns = 0, duration_ns = 0;
  uint32_t pid = 0, tid = 0;
  StringId function;
  uint8_t object_kind = 0;
  uint64_t object = 0;
  StringId path;
  uint64_t size_bytes = 0;
  int64_t result = 0;
  uint32_t error = 0, stack = 0, other_tid = 0;
  uint8_t is_unfinished = 0;
  uint32_t waker_stack = 0;
  template <class R, class V>
  static constexpr void Fields(R& r, V&& v) {
    v(FieldInfo{"start_ns", Shape::kDelta, "entry of the call"}, r.start_ns);
    v(FieldInfo{"duration_ns", Shape::kPlain, "from entry to return"}, r.duration_ns);
    v(FieldInfo{"pid", Shape::kPlain, "its process"}, r.pid);
    v(FieldInfo{"tid", Shape::kPlain, "calling thread"}, r.tid);
    v(FieldInfo{"function", Shape::kPlain, "name of the function"}, r.function);
    v(FieldInfo{"object_kind", Shape::kPlain,
                "1 mutex, 2 rwlock, 3 condition, 4 semaphore, 5 barrier, 6 GIL, 7 futex, 8 thread, 9 process, "
                "10 file, 11 pipe, 12 socket, 13 device, 14 timer, 15 memory, 16 several (poll), 0 none"},
      r.object_kind);
    v(FieldInfo{"object", Shape::kPlain, "which one: number of a lock, file descriptor, id; 0 for none"}, r.object);
    v(FieldInfo{"path", Shape::kPlain, "file or address it stands for, or name of a lock"}, r.path);
    v(FieldInfo{"size_bytes", Shape::kPlain, "bytes read, written or mapped"}, r.size_bytes);
    v(FieldInfo{"result", Shape::kPlain, "what the call returned"}, r.result);
    v(FieldInfo{"error", Shape::kPlain, "errno of a call that failed, 0 otherwise"}, r.error);
    v(FieldInfo{"stack", Shape::kPlain, "stack of the caller, 0 when not known"}, r.stack);
    v(FieldInfo{"other_tid", Shape::kPlain,
                "thread that it waited for: holder of the lock, or waker; 0 when not known"},
      r.other_tid);
    v(FieldInfo{"is_unfinished", Shape::kPlain, "1 when the process ended inside the call"}, r.is_unfinished);
    v(FieldInfo{"waker_stack", Shape::kPlain,
                "stack from which other_tid released the lock or ended the wait, 0 when not known"},
      r.waker_stack);
  }
};

struct MpiCallRecord {
  static constexpr RecordKind kKind = RecordKind::kMpiCall;
  static constexpr const char* kName = "mpi_call";
  static constexpr const char* kMeaning = "a call of MPI";
  uint64_t start_ns = 0, duration_ns = 0;
  uint32_t pid = 0, tid = 0;
  StringId function;
  uint32_t communicator = 0, communicator_size = 0;
  uint64_t sent_bytes = 0, received_bytes = 0;
  int32_t peer = -1, tag = -1;
  uint32_t error = 0;
  uint8_t is_unfinished = 0;
  template <class R, class V>
  static constexpr void Fields(R& r, V&& v) {
    v(FieldInfo{"start_ns", Shape::kDelta, "entry of the call"}, r.start_ns);
    v(FieldInfo{"duration_ns", Shape::kPlain, "from entry to return"}, r.duration_ns);
    v(FieldInfo{"pid", Shape::kPlain, "its process"}, r.pid);
    v(FieldInfo{"tid", Shape::kPlain, "calling thread"}, r.tid);
    v(FieldInfo{"function", Shape::kPlain, "name of the function"}, r.function);
    v(FieldInfo{"communicator", Shape::kPlain, "1 MPI_COMM_WORLD, others as they came, 0 none or not known"},
      r.communicator);
    v(FieldInfo{"communicator_size", Shape::kPlain, "its processes, 0 when not known"}, r.communicator_size);
    v(FieldInfo{"sent_bytes", Shape::kPlain, "what this process hands over, 0 when not known"}, r.sent_bytes);
    v(FieldInfo{"received_bytes", Shape::kPlain, "what there is room for in this process, 0 when not known"},
      r.received_bytes);
    v(FieldInfo{"peer", Shape::kPlain, "rank of the other process or the root, -1 none, -2 any"}, r.peer);
    v(FieldInfo{"tag", Shape::kPlain, "of a message, -1 none"}, r.tag);
    v(FieldInfo{"error", Shape::kPlain, "what the call returned, 0 for success"}, r.error);
    v(FieldInfo{"is_unfinished", Shape::kPlain, "1: the process ended inside it"}, r.is_unfinished);
  }
};

struct CollectiveRecord {
  static constexpr RecordKind kKind = RecordKind::kCollective;
  static constexpr const char* kName = "collective";
  static constexpr const char* kMeaning = "an operation that a rank gave to NCCL: a collective, a send or a receive";
  uint64_t start_ns = 0, duration_ns = 0;
  uint32_t pid = 0, tid = 0;
  StringId function, datatype, algorithm, protocol, communicator_name;
  uint64_t communicator = 0, sequence = 0, size_bytes = 0;
  uint32_t ranks = 0, nodes = 0;
  int32_t rank = -1, peer = -1;
  uint32_t channels = 0;
  uint8_t is_captured = 0;
  template <class R, class V>
  static constexpr void Fields(R& r, V&& v) {
    v(FieldInfo{"start_ns", Shape::kDelta, "when the rank called NCCL for it; before 2.28 when it was enqueued"},
      r.start_ns);
    v(FieldInfo{"duration_ns", Shape::kPlain, "from there until its kernel was launched"}, r.duration_ns);
    v(FieldInfo{"pid", Shape::kPlain, "its process"}, r.pid);
    v(FieldInfo{"tid", Shape::kPlain, "the thread that launched the kernel"}, r.tid);
    v(FieldInfo{"function", Shape::kPlain, "such as AllReduce, Send"}, r.function);
    v(FieldInfo{"datatype", Shape::kPlain,
                "of the elements, such as ncclFloat32; bytes (ncclInt8) where NCCL moves bytes"},
      r.datatype);
    v(FieldInfo{"algorithm", Shape::kPlain, "such as RING, NVLS; empty for sends and receives"}, r.algorithm);
    v(FieldInfo{"protocol", Shape::kPlain, "such as LL, SIMPLE"}, r.protocol);
    v(FieldInfo{"communicator_name", Shape::kPlain, "that the program gave it"}, r.communicator_name);
    v(FieldInfo{"communicator", Shape::kPlain, "number of the communicator, the same in all its ranks"},
      r.communicator);
    v(FieldInfo{"sequence", Shape::kPlain, "how many of the function came before on the communicator; sends: 0"},
      r.sequence);
    v(FieldInfo{"size_bytes", Shape::kPlain, "what one rank gives; of scattering what it receives"}, r.size_bytes);
    v(FieldInfo{"ranks", Shape::kPlain, "of the communicator, 0 not known"}, r.ranks);
    v(FieldInfo{"nodes", Shape::kPlain, "that these are on, 0 not known"}, r.nodes);
    v(FieldInfo{"rank", Shape::kPlain, "within the communicator"}, r.rank);
    v(FieldInfo{"peer", Shape::kPlain, "the root, or the other rank of a send or receive; -1 none"}, r.peer);
    v(FieldInfo{"channels", Shape::kPlain, "of NCCL that it uses at most, 0 not known"}, r.channels);
    v(FieldInfo{"is_captured", Shape::kPlain, "1: it was captured into a CUDA graph"}, r.is_captured);
  }
};

struct DirectiveRecord {
  static constexpr RecordKind kKind = RecordKind::kDirective;
  static constexpr const char* kName = "directive";
  static constexpr const char* kMeaning = "a construct of OpenMP or OpenACC that a thread was in";
  uint64_t start_ns = 0, duration_ns = 0;
  uint32_t pid = 0, tid = 0;
  StringId model, construct, name;
  uint64_t code = 0;
  uint32_t region = 0, line = 0, threads = 0;
  int32_t device = -1;
  uint64_t size_bytes = 0;
  uint8_t is_wait = 0;
  template <class R, class V>
  static constexpr void Fields(R& r, V&& v) {
    v(FieldInfo{"start_ns", Shape::kDelta, "when the thread entered it"}, r.start_ns);
    v(FieldInfo{"duration_ns", Shape::kPlain, "until it left"}, r.duration_ns);
    v(FieldInfo{"pid", Shape::kPlain, "its process"}, r.pid);
    v(FieldInfo{"tid", Shape::kPlain, "the thread"}, r.tid);
    v(FieldInfo{"model", Shape::kPlain, "OpenMP or OpenACC"}, r.model);
    v(FieldInfo{"construct", Shape::kPlain, "such as parallel, implicit barrier, target, launch"}, r.construct);
    v(FieldInfo{"name", Shape::kPlain, "source file, kernel or variable, where the runtime says it"}, r.name);
    v(FieldInfo{"code", Shape::kPlain, "address that the construct returns to, 0 not known"}, r.code);
    v(FieldInfo{"region", Shape::kPlain, "number of the parallel region, also of those that wait in it; 0 none"},
      r.region);
    v(FieldInfo{"line", Shape::kPlain, "of the source file, 0 not known"}, r.line);
    v(FieldInfo{"threads", Shape::kPlain, "of a parallel region, 0 not known"}, r.threads);
    v(FieldInfo{"device", Shape::kPlain, "number of the device as the runtime counts them, -1 none"}, r.device);
    v(FieldInfo{"size_bytes", Shape::kPlain, "that were moved, 0 none or not known"}, r.size_bytes);
    v(FieldInfo{"is_wait", Shape::kPlain, "1: the thread waited for other threads or for a device"}, r.is_wait);
  }
};

struct GemmRecord {
  static constexpr RecordKind kKind = RecordKind::kGemm;
  static constexpr const char* kName = "gemm";
  static constexpr const char* kMeaning = "a matrix multiplication by cuBLAS";
  uint64_t start_ns = 0, duration_ns = 0;
  uint32_t pid = 0, tid = 0;
  StringId function;
  uint32_t m = 0, n = 0, k = 0, batch = 0;
  uint32_t lda = 0, ldb = 0, ldc = 0;
  uint8_t a_type = 0, b_type = 0, c_type = 0, compute_type = 0;
  uint8_t a_transposed = 0, b_transposed = 0;
  uint8_t alignment = 0;
  template <class R, class V>
  static constexpr void Fields(R& r, V&& v) {
    v(FieldInfo{"start_ns", Shape::kDelta, "entry of the call"}, r.start_ns);
    v(FieldInfo{"duration_ns", Shape::kPlain, "from entry to return"}, r.duration_ns);
    v(FieldInfo{"pid", Shape::kPlain, "its process"}, r.pid);
    v(FieldInfo{"tid", Shape::kPlain, "calling thread"}, r.tid);
    v(FieldInfo{"function", Shape::kPlain, "name of the function"}, r.function);
    v(FieldInfo{"m", Shape::kPlain, "rows of the result"}, r.m);
    v(FieldInfo{"n", Shape::kPlain, "its columns"}, r.n);
    v(FieldInfo{"k", Shape::kPlain, "columns of op(A), rows of op(B)"}, r.k);
    v(FieldInfo{"batch", Shape::kPlain, "how many of them the call multiplies"}, r.batch);
    v(FieldInfo{"lda", Shape::kPlain, "leading dimension of A, in elements"}, r.lda);
    v(FieldInfo{"ldb", Shape::kPlain, "of B"}, r.ldb);
    v(FieldInfo{"ldc", Shape::kPlain, "of the result"}, r.ldc);
    v(FieldInfo{"a_type", Shape::kPlain, "type of the elements of A (cudaDataType_t)"}, r.a_type);
    v(FieldInfo{"b_type", Shape::kPlain, "of B"}, r.b_type);
    v(FieldInfo{"c_type", Shape::kPlain, "of the result"}, r.c_type);
    v(FieldInfo{"compute_type", Shape::kPlain, "cublasComputeType_t; FP32 of a handle in TF32 mode is TF32"},
      r.compute_type);
    v(FieldInfo{"a_transposed", Shape::kPlain, "0 not, 1 transposed, 2 conjugate transposed"}, r.a_transposed);
    v(FieldInfo{"b_transposed", Shape::kPlain, "the same of B"}, r.b_transposed);
    v(FieldInfo{"alignment", Shape::kPlain,
                "bytes that all addresses are multiples of, up to 16; 0 not known (arrays of matrices)"},
      r.alignment);
  }
};

struct TensorBlockRecord {
  static constexpr RecordKind kKind = RecordKind::kTensorBlock;
  static constexpr const char* kName = "tensor_block";
  static constexpr const char* kMeaning = "a block of memory that an allocator of PyTorch gave or took back";
  uint64_t time_ns = 0;
  uint32_t pid = 0, tid = 0;
  int32_t device = -1;
  uint64_t address = 0;
  int64_t size_bytes = 0;
  uint32_t stack = 0;
  template <class R, class V>
  static constexpr void Fields(R& r, V&& v) {
    v(FieldInfo{"time_ns", Shape::kDelta, "when"}, r.time_ns);
    v(FieldInfo{"pid", Shape::kPlain, "its process"}, r.pid);
    v(FieldInfo{"tid", Shape::kPlain, "thread that asked for it"}, r.tid);
    v(FieldInfo{"device", Shape::kPlain, "device it is on, -1 for the host"}, r.device);
    v(FieldInfo{"address", Shape::kDelta, "address of the block, 0 when not known"}, r.address);
    v(FieldInfo{"size_bytes", Shape::kPlain, "its bytes, negative when it was taken back"}, r.size_bytes);
    v(FieldInfo{"stack", Shape::kPlain, "stack of whoever asked for it, 0 when not known"}, r.stack);
  }
};

// ---- counter tracks ----

struct MetricSourceRecord {
  static constexpr RecordKind kKind = RecordKind::kMetricSource;
  static constexpr const char* kName = "metric_source";
  static constexpr const char* kMeaning = "what the samples of a counter track are of";
  uint64_t time_ns = 0;
  uint32_t id = 0;
  StringId name, unit, origin;
  uint8_t metric_kind = 0, scope = 0;
  int32_t scale = 0;
  uint64_t period_ns = 0;
  uint32_t pid = 0, tid = 0, device = 0;
  StringId device_uuid;
  template <class R, class V>
  static constexpr void Fields(R& r, V&& v) {
    v(FieldInfo{"time_ns", Shape::kDelta, "when its samples began"}, r.time_ns);
    v(FieldInfo{"id", Shape::kDelta, "number that samples use, from 1"}, r.id);
    v(FieldInfo{"name", Shape::kPlain, "what is measured"}, r.name);
    v(FieldInfo{"unit", Shape::kPlain, "its unit: %, bytes, W, MHz, …"}, r.unit);
    v(FieldInfo{"origin", Shape::kPlain, "who measures: proc, nvml, gpm, pm"}, r.origin);
    v(FieldInfo{"metric_kind", Shape::kPlain,
                "1 a value at a time, 2 a sum that only grows, 3 a mean over the time of the sample"},
      r.metric_kind);
    v(FieldInfo{"scope", Shape::kPlain, "what it is of: 1 the host, 2 a process, 3 a thread, 4 a device, 0 none"},
      r.scope);
    v(FieldInfo{"scale", Shape::kPlain, "a value times ten to the power of this is in the unit"}, r.scale);
    v(FieldInfo{"period_ns", Shape::kPlain, "time between samples that was asked for, 0 when they are not regular"},
      r.period_ns);
    v(FieldInfo{"pid", Shape::kPlain, "process (scopes 2 and 3)"}, r.pid);
    v(FieldInfo{"tid", Shape::kPlain, "thread (scope 3)"}, r.tid);
    v(FieldInfo{"device", Shape::kPlain, "ordinal of the device in the process pid (scope 4, without a UUID)"},
      r.device);
    v(FieldInfo{"device_uuid", Shape::kPlain, "UUID of the device (scope 4): a collector numbers devices on its own"},
      r.device_uuid);
  }
};

// A record is one sample, and the columns of a chunk are the block. A writer adds what it read at one time, source
// after source, then what it read next. Times and sources are then runs that cost a byte or less, and most of a sample
// is its value: 3.4 bytes with twelve sources at 1 kHz, as MetricBlocks of wire_test.cpp measures. Integers that a
// power of ten scales are 1 to 3 bytes there, the bits of doubles would be 9 or 10, and whole blocks of bytes in one
// field would need another encoding than that of all other records.
struct MetricBlockRecord {
  static constexpr RecordKind kKind = RecordKind::kMetricBlock;
  static constexpr const char* kName = "metric_block";
  static constexpr const char* kMeaning = "a sample of a counter track";
  uint64_t start_ns = 0, duration_ns = 0;
  uint32_t source = 0;
  int64_t value = 0;
  template <class R, class V>
  static constexpr void Fields(R& r, V&& v) {
    v(FieldInfo{"start_ns", Shape::kDelta, "when, or the begin of the time that it is a mean over"}, r.start_ns);
    v(FieldInfo{"duration_ns", Shape::kPlain, "length of that time, 0 for an instant"}, r.duration_ns);
    v(FieldInfo{"source", Shape::kDelta, "its metric_source"}, r.source);
    v(FieldInfo{"value", Shape::kPlain, "the value, to be scaled as its source says"}, r.value);
  }
};

struct MetricLossRecord {
  static constexpr RecordKind kKind = RecordKind::kMetricLoss;
  static constexpr const char* kName = "metric_loss";
  static constexpr const char* kMeaning = "a time without samples, and why";
  uint64_t start_ns = 0, duration_ns = 0;
  uint32_t source = 0;
  uint8_t reason = 0;
  uint64_t count = 0;
  template <class R, class V>
  static constexpr void Fields(R& r, V&& v) {
    v(FieldInfo{"start_ns", Shape::kDelta, "begin"}, r.start_ns);
    v(FieldInfo{"duration_ns", Shape::kPlain, "length"}, r.duration_ns);
    v(FieldInfo{"source", Shape::kPlain, "its metric_source, 0 for all of the process that wrote it"}, r.source);
    v(FieldInfo{"reason", Shape::kPlain,
                "1 a buffer was full, 2 reading was too slow, 3 another program has the counters, 4 not allowed, "
                "5 fewer were asked for from then on, 6 paused"},
      r.reason);
    v(FieldInfo{"count", Shape::kPlain, "samples that are missing, 0 when not known"}, r.count);
  }
};

// ---- kernel counters ----

struct CounterPlanRecord {
  static constexpr RecordKind kKind = RecordKind::kCounterPlan;
  static constexpr const char* kName = "counter_plan";
  static constexpr const char* kMeaning = "which counters of kernels were collected, and how";
  uint64_t time_ns = 0;
  uint32_t id = 0;
  StringId chip, library, metric_set;
  uint32_t passes = 0;
  uint8_t replay = 0, caches = 0, clocks = 0;
  template <class R, class V>
  static constexpr void Fields(R& r, V&& v) {
    v(FieldInfo{"time_ns", Shape::kDelta, "when the collection began, 0 when not known"}, r.time_ns);
    v(FieldInfo{"id", Shape::kDelta, "number that ranges use, from 1"}, r.id);
    v(FieldInfo{"chip", Shape::kPlain, "chip that the metrics are of: GH100"}, r.chip);
    v(FieldInfo{"library", Shape::kPlain, "what collected, with its version: libcupti 13.0.85"}, r.library);
    v(FieldInfo{"metric_set", Shape::kPlain, "set of metrics: light, basic, …; empty for a list"}, r.metric_set);
    v(FieldInfo{"passes", Shape::kPlain, "passes that the metrics need, 0 when not known"}, r.passes);
    v(FieldInfo{"replay", Shape::kPlain,
                "what runs again for each pass: 1 nothing, 2 the kernel, 3 the program, 4 a range, 0 not known"},
      r.replay);
    v(FieldInfo{"caches", Shape::kPlain, "before each pass: 1 left as they are, 2 L2 flushed, 3 all, 0 not known"},
      r.caches);
    v(FieldInfo{"clocks", Shape::kPlain, "1 not locked, 2 locked to base, 3 locked to boost, 0 not known"}, r.clocks);
  }
};

struct CounterRangeRecord {
  static constexpr RecordKind kKind = RecordKind::kCounterRange;
  static constexpr const char* kName = "counter_range";
  static constexpr const char* kMeaning = "what counters were collected of: a launch of a kernel, or a range";
  uint64_t start_ns = 0, duration_ns = 0;
  uint32_t id = 0, plan = 0;
  uint8_t scope = 0, status = 0;
  StringId name, nvtx;
  uint32_t device = 0, context = 0, stream = 0, correlation = 0;
  uint32_t invocation = 0, passes = 0;
  template <class R, class V>
  static constexpr void Fields(R& r, V&& v) {
    v(FieldInfo{"start_ns", Shape::kDelta, "begin, 0 when not known"}, r.start_ns);
    v(FieldInfo{"duration_ns", Shape::kPlain, "length, all passes and what lies between them included"}, r.duration_ns);
    v(FieldInfo{"id", Shape::kDelta, "number that values use, from 1"}, r.id);
    v(FieldInfo{"plan", Shape::kPlain, "its counter_plan"}, r.plan);
    v(FieldInfo{"scope", Shape::kPlain, "1 a kernel, 2 an NVTX range, 3 a graph, 0 not known"}, r.scope);
    v(FieldInfo{"status", Shape::kPlain, "0 complete, 1 passes are missing, 2 refused, 3 it took too long"}, r.status);
    v(FieldInfo{"name", Shape::kPlain, "of the kernel or range"}, r.name);
    v(FieldInfo{"nvtx", Shape::kPlain, "path of the NVTX range that it was launched in"}, r.nvtx);
    v(FieldInfo{"device", Shape::kPlain, "ordinal in the process"}, r.device);
    v(FieldInfo{"context", Shape::kPlain, "context id"}, r.context);
    v(FieldInfo{"stream", Shape::kPlain, "stream id"}, r.stream);
    v(FieldInfo{"correlation", Shape::kPlain, "correlation id of the launch, 0 when not known"}, r.correlation);
    v(FieldInfo{"invocation", Shape::kPlain, "which launch of the process it was, from 1; 0 when not known"},
      r.invocation);
    v(FieldInfo{"passes", Shape::kPlain, "passes that were made, 0 when not known"}, r.passes);
  }
};

// A record is one value, and the columns of a chunk are those of a range: the same metrics in the same order cost a
// byte or less each. Facts of the launch and of the device are values, too, under the names that ncu has for them
// (launch__grid_dim_x, device__attribute_multiprocessor_count).
struct CounterValuesRecord {
  static constexpr RecordKind kKind = RecordKind::kCounterValues;
  static constexpr const char* kName = "counter_values";
  static constexpr const char* kMeaning = "the value of a metric in a counter_range";
  uint32_t range = 0;
  StringId metric, unit;
  int64_t value = 0;
  int32_t scale = 0;
  StringId text;
  template <class R, class V>
  static constexpr void Fields(R& r, V&& v) {
    v(FieldInfo{"range", Shape::kDelta, "its counter_range"}, r.range);
    v(FieldInfo{"metric", Shape::kPlain, "name of the metric"}, r.metric);
    v(FieldInfo{"unit", Shape::kPlain, "its base unit: ns, byte, %, byte/s, …"}, r.unit);
    v(FieldInfo{"value", Shape::kPlain, "times ten to the power of `scale` it is in the unit"}, r.value);
    v(FieldInfo{"scale", Shape::kPlain, "that power"}, r.scale);
    v(FieldInfo{"text", Shape::kPlain, "the value where it is no number"}, r.text);
  }
};

// Samples of the program counters of GPUs: how often warps were found at an instruction, and what they waited for.
struct PcSampleRecord {
  static constexpr RecordKind kKind = RecordKind::kPcSample;
  static constexpr const char* kName = "pc_sample";
  static constexpr const char* kMeaning = "how often warps of a kernel were found at an instruction, for one reason";
  uint64_t cubin = 0, offset = 0;
  StringId kernel, reason, file;
  uint32_t line = 0;
  uint64_t samples = 0;
  template <class R, class V>
  static constexpr void Fields(R& r, V&& v) {
    v(FieldInfo{"cubin", Shape::kPlain, "checksum of the code that has the kernel"}, r.cubin);
    v(FieldInfo{"offset", Shape::kDelta, "of the instruction in the kernel, in bytes"}, r.offset);
    v(FieldInfo{"kernel", Shape::kPlain, "name of the kernel"}, r.kernel);
    v(FieldInfo{"reason", Shape::kPlain, "why the warps did not go on: long_scoreboard, …; selected: they did"},
      r.reason);
    v(FieldInfo{"file", Shape::kPlain, "source file, empty when not known"}, r.file);
    v(FieldInfo{"line", Shape::kPlain, "its line, 0 when not known"}, r.line);
    v(FieldInfo{"samples", Shape::kPlain, "how often, since the last record of the same"}, r.samples);
  }
};

struct InstructionRecord {
  static constexpr RecordKind kKind = RecordKind::kInstruction;
  static constexpr const char* kName = "instruction";
  static constexpr const char* kMeaning = "an instruction that pc_sample refers to, as nvdisasm has it";
  uint64_t cubin = 0, offset = 0;
  StringId kernel, text;
  template <class R, class V>
  static constexpr void Fields(R& r, V&& v) {
    v(FieldInfo{"cubin", Shape::kPlain, "checksum of the code that has the kernel"}, r.cubin);
    v(FieldInfo{"offset", Shape::kDelta, "of the instruction in the kernel, in bytes"}, r.offset);
    v(FieldInfo{"kernel", Shape::kPlain, "name of the kernel"}, r.kernel);
    v(FieldInfo{"text", Shape::kPlain, "the instruction: LDG.E R2, desc[UR4][R2.64]"}, r.text);
  }
};

struct NcclTransferRecord {
  static constexpr RecordKind kKind = RecordKind::kNcclTransfer;
  static constexpr const char* kName = "nccl_transfer";
  static constexpr const char* kMeaning =
      "what NCCL sent or received through the network for an operation, on one channel";
  uint64_t start_ns = 0, duration_ns = 0;
  uint32_t pid = 0, tid = 0;
  StringId function;
  uint64_t communicator = 0, sequence = 0;
  int32_t rank = -1, peer = -1;
  uint32_t channel = 0, steps = 0;
  uint8_t is_send = 0;
  uint64_t size_bytes = 0;
  uint64_t gpu_ns = 0, peer_ns = 0, network_ns = 0, flush_ns = 0;
  template <class R, class V>
  static constexpr void Fields(R& r, V&& v) {
    v(FieldInfo{"start_ns", Shape::kDelta, "when NCCL's proxy thread got the work"}, r.start_ns);
    v(FieldInfo{"duration_ns", Shape::kPlain, "until all of it was done"}, r.duration_ns);
    v(FieldInfo{"pid", Shape::kPlain, "its process"}, r.pid);
    v(FieldInfo{"tid", Shape::kPlain, "the proxy thread"}, r.tid);
    v(FieldInfo{"function", Shape::kPlain,
                "of the `collective` that it is part of; empty where that is of another process"},
      r.function);
    v(FieldInfo{"communicator", Shape::kPlain, "its communicator, 0 not known"}, r.communicator);
    v(FieldInfo{"sequence", Shape::kPlain, "its number"}, r.sequence);
    v(FieldInfo{"rank", Shape::kPlain, "within the communicator"}, r.rank);
    v(FieldInfo{"peer", Shape::kPlain, "the other rank"}, r.peer);
    v(FieldInfo{"channel", Shape::kPlain, "of NCCL"}, r.channel);
    v(FieldInfo{"steps", Shape::kPlain, "transfers through the network that were made"}, r.steps);
    v(FieldInfo{"is_send", Shape::kPlain, "1: sent, 0: received"}, r.is_send);
    v(FieldInfo{"size_bytes", Shape::kPlain, "sum over the steps"}, r.size_bytes);
    v(FieldInfo{"gpu_ns", Shape::kPlain,
                "the oldest step waited for the GPU: to fill the buffer, of what is received to empty it"},
      r.gpu_ns);
    v(FieldInfo{"peer_ns", Shape::kPlain, "the oldest step waited until the peer took data; of what is received 0"},
      r.peer_ns);
    v(FieldInfo{"network_ns", Shape::kPlain,
                "the oldest step was on its way; of what is received: had not arrived, sent or not"},
      r.network_ns);
    v(FieldInfo{"flush_ns", Shape::kPlain, "what had arrived was made visible to the GPU"}, r.flush_ns);
  }
};

// ---- what had begun and not ended ----

struct InProgressRecord {
  static constexpr RecordKind kKind = RecordKind::kInProgress;
  static constexpr const char* kName = "in_progress";
  static constexpr const char* kMeaning = "a thread, a call or GPU work that had not ended when a snapshot was taken";
  uint64_t time_ns = 0, since_ns = 0;
  uint32_t pid = 0, tid = 0;
  uint8_t progress_kind = 0;
  StringId name;
  uint32_t device = 0, context = 0, stream = 0, correlation = 0;
  uint64_t size_bytes = 0;
  uint32_t stack = 0, other_tid = 0, look = 0;
  uint8_t is_running = 0;
  StringId thread_name;
  template <class R, class V>
  static constexpr void Fields(R& r, V&& v) {
    v(FieldInfo{"time_ns", Shape::kDelta, "when it was looked at"}, r.time_ns);
    v(FieldInfo{"since_ns", Shape::kPlain, "when the call was entered, 0 when not known"}, r.since_ns);
    v(FieldInfo{"pid", Shape::kPlain, "its process"}, r.pid);
    v(FieldInfo{"tid", Shape::kPlain, "its thread, 0 for GPU work"}, r.tid);
    v(FieldInfo{"progress_kind", Shape::kPlain,
                "1 a thread, 2 a CUDA call, 3 an MPI call, 4 a call of the operating system, 5 a kernel, 6 a copy, "
                "7 a memset, 8 a graph"},
      r.progress_kind);
    v(FieldInfo{"name", Shape::kPlain, "of the function or the kernel; of a thread, its system call"}, r.name);
    v(FieldInfo{"device", Shape::kPlain, "of GPU work"}, r.device);
    v(FieldInfo{"context", Shape::kPlain, "of GPU work"}, r.context);
    v(FieldInfo{"stream", Shape::kPlain, "of GPU work"}, r.stream);
    v(FieldInfo{"correlation", Shape::kPlain, "ties GPU work to its launch call"}, r.correlation);
    v(FieldInfo{"size_bytes", Shape::kPlain, "of a copy or memset"}, r.size_bytes);
    v(FieldInfo{"stack", Shape::kPlain, "where the thread is, 0 when not known"}, r.stack);
    v(FieldInfo{"other_tid", Shape::kPlain, "thread that has the lock it waits for, 0 when not known"}, r.other_tid);
    v(FieldInfo{"look", Shape::kPlain, "number of the look at the run, in which this was seen"}, r.look);
    v(FieldInfo{"is_running", Shape::kPlain, "1: the thread has a processor, or could have one"}, r.is_running);
    v(FieldInfo{"thread_name", Shape::kPlain, "of the thread, as the operating system has it"}, r.thread_name);
  }
};

// Types of records. A std::tuple of all would take compilers a second in each file.
template <class... R>
struct RecordTypes {
  static constexpr std::size_t kCount = sizeof...(R);
};

// A Box<R> for each type of the list.
template <template <class> class Box, class List>
struct ForEachType;
template <template <class> class Box, class... R>
struct ForEachType<Box, RecordTypes<R...>> : Box<R>... {
  template <class Type>
  Box<Type>& Of() {
    return *this;
  }
  template <class F>
  void ForEach(F&& f) {
    (f(static_cast<Box<R>&>(*this)), ...);
  }
};

// A new kind is added here and nowhere else in this folder.
using AllRecords = RecordTypes<
    StringRecord, KernelShapeRecord, ProcessRecord, ThreadRecord, DeviceRecord, ContextRecord, StreamRecord,
    ClockRecord, ApiRecord, KernelRecord, MemcpyRecord, PeerCopyRecord, MemsetRecord, SyncRecord, OverheadRecord,
    JitRecord, MemoryRecord, GraphLaunchRecord, NvtxRecord, NvtxDomainRecord, NvtxCategoryRecord, NvtxNameRecord,
    LossRecord, NoticeRecord, EndRecord, CaptureRecord, EventRecordRecord, GraphNodeRecord, ManagedMemoryRecord,
    MemoryPoolRecord, NvtxSchemaRecord, NvtxSchemaEntryRecord, NvtxEnumRecord, NvtxPayloadRecord, ModuleRecord,
    FrameRecord, StackRecord, SymbolRecord, CpuSampleRecord, SwitchRecord, OsCallRecord, MetricSourceRecord,
    MetricBlockRecord, MetricLossRecord, CounterPlanRecord, CounterRangeRecord, CounterValuesRecord, MpiCallRecord,
    GemmRecord, WorkRateRecord, PcSampleRecord, InstructionRecord, CollectiveRecord, DirectiveRecord, CalibrationRecord,
    TensorBlockRecord, NcclTransferRecord, GpuPauseRecord, InProgressRecord, DelayWindowRecord, RequestEventRecord,
    EngineStepRecord, StepRequestRecord, BaseTimeRecord, BaseCallRecord, BaseGraphRecord, GeneratedLinesRecord>;

// Calls f(static_cast<R*>(nullptr)) for every record type, in the order of AllRecords.
template <class F>
constexpr void ForEachKind(F&& f) {
  [&f]<class... R>(RecordTypes<R...>) { (f(static_cast<R*>(nullptr)), ...); }(AllRecords{});
}

template <class R>
constexpr std::size_t FieldCount() {
  R r{};
  std::size_t n = 0;
  R::Fields(r, [&n](const FieldInfo&, auto&) { ++n; });
  return n;
}

constexpr bool IsDictionary(RecordKind kind) { return kind == RecordKind::kString || kind == RecordKind::kKernelShape; }

}  // namespace gprof::trace

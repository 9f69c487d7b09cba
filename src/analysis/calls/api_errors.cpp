// Calls that returned an error to the program, by function and code.
#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "analysis/facts/shared_facts.h"
#include "analysis/findings/finding_catalogue.h"
#include "analysis/result/analyses.h"
#include "analysis/result/display_names.h"
#include "analysis/result/metrics.h"
#include "analysis/result/tables.h"
#include "base/units.h"

namespace gprof {
namespace {

constexpr int32_t kNotReady = 600;

// Runtime and driver share the numbers, not the names. In the order of the codes.
struct Code {
  int32_t code;
  std::string_view runtime, driver;  // less their prefixes
};
constexpr Code kCodes[] = {
    {1, "InvalidValue", "INVALID_VALUE"},
    {2, "MemoryAllocation", "OUT_OF_MEMORY"},
    {3, "InitializationError", "NOT_INITIALIZED"},
    {4, "CudartUnloading", "DEINITIALIZED"},
    {9, "InvalidConfiguration", ""},
    {12, "InvalidPitchValue", ""},
    {13, "InvalidSymbol", ""},
    {21, "InvalidMemcpyDirection", ""},
    {34, "StubLibrary", "STUB_LIBRARY"},
    {35, "InsufficientDriver", ""},
    {36, "CallRequiresNewerDriver", ""},
    {46, "DevicesUnavailable", "DEVICE_UNAVAILABLE"},
    {98, "InvalidDeviceFunction", ""},
    {100, "NoDevice", "NO_DEVICE"},
    {101, "InvalidDevice", "INVALID_DEVICE"},
    {200, "InvalidKernelImage", "INVALID_IMAGE"},
    {201, "DeviceUninitialized", "INVALID_CONTEXT"},
    {209, "NoKernelImageForDevice", "NO_BINARY_FOR_GPU"},
    {214, "ECCUncorrectable", "ECC_UNCORRECTABLE"},
    {215, "UnsupportedLimit", "UNSUPPORTED_LIMIT"},
    {217, "PeerAccessUnsupported", "PEER_ACCESS_UNSUPPORTED"},
    {218, "InvalidPtx", "INVALID_PTX"},
    {220, "NvlinkUncorrectable", "NVLINK_UNCORRECTABLE"},
    {221, "JitCompilerNotFound", "JIT_COMPILER_NOT_FOUND"},
    {222, "UnsupportedPtxVersion", "UNSUPPORTED_PTX_VERSION"},
    {300, "InvalidSource", "INVALID_SOURCE"},
    {301, "FileNotFound", "FILE_NOT_FOUND"},
    {302, "SharedObjectSymbolNotFound", "SHARED_OBJECT_SYMBOL_NOT_FOUND"},
    {303, "SharedObjectInitFailed", "SHARED_OBJECT_INIT_FAILED"},
    {304, "OperatingSystem", "OPERATING_SYSTEM"},
    {400, "InvalidResourceHandle", "INVALID_HANDLE"},
    {401, "IllegalState", "ILLEGAL_STATE"},
    {500, "SymbolNotFound", "NOT_FOUND"},
    {600, "NotReady", "NOT_READY"},
    {700, "IllegalAddress", "ILLEGAL_ADDRESS"},
    {701, "LaunchOutOfResources", "LAUNCH_OUT_OF_RESOURCES"},
    {702, "LaunchTimeout", "LAUNCH_TIMEOUT"},
    {704, "PeerAccessAlreadyEnabled", "PEER_ACCESS_ALREADY_ENABLED"},
    {705, "PeerAccessNotEnabled", "PEER_ACCESS_NOT_ENABLED"},
    {708, "SetOnActiveProcess", "PRIMARY_CONTEXT_ACTIVE"},
    {709, "ContextIsDestroyed", "CONTEXT_IS_DESTROYED"},
    {710, "Assert", "ASSERT"},
    {712, "HostMemoryAlreadyRegistered", "HOST_MEMORY_ALREADY_REGISTERED"},
    {713, "HostMemoryNotRegistered", "HOST_MEMORY_NOT_REGISTERED"},
    {714, "HardwareStackError", "HARDWARE_STACK_ERROR"},
    {715, "IllegalInstruction", "ILLEGAL_INSTRUCTION"},
    {716, "MisalignedAddress", "MISALIGNED_ADDRESS"},
    {717, "InvalidAddressSpace", "INVALID_ADDRESS_SPACE"},
    {718, "InvalidPc", "INVALID_PC"},
    {719, "LaunchFailure", "LAUNCH_FAILED"},
    {720, "CooperativeLaunchTooLarge", "COOPERATIVE_LAUNCH_TOO_LARGE"},
    {800, "NotPermitted", "NOT_PERMITTED"},
    {801, "NotSupported", "NOT_SUPPORTED"},
    {802, "SystemNotReady", "SYSTEM_NOT_READY"},
    {803, "SystemDriverMismatch", "SYSTEM_DRIVER_MISMATCH"},
    {804, "CompatNotSupportedOnDevice", "COMPAT_NOT_SUPPORTED_ON_DEVICE"},
    {900, "StreamCaptureUnsupported", "STREAM_CAPTURE_UNSUPPORTED"},
    {901, "StreamCaptureInvalidated", "STREAM_CAPTURE_INVALIDATED"},
    {902, "StreamCaptureMerge", "STREAM_CAPTURE_MERGE"},
    {903, "StreamCaptureUnmatched", "STREAM_CAPTURE_UNMATCHED"},
    {904, "StreamCaptureUnjoined", "STREAM_CAPTURE_UNJOINED"},
    {905, "StreamCaptureIsolation", "STREAM_CAPTURE_ISOLATION"},
    {906, "StreamCaptureImplicit", "STREAM_CAPTURE_IMPLICIT"},
    {907, "CapturedEvent", "CAPTURED_EVENT"},
    {908, "StreamCaptureWrongThread", "STREAM_CAPTURE_WRONG_THREAD"},
    {910, "GraphExecUpdateFailure", "GRAPH_EXEC_UPDATE_FAILURE"},
    {999, "Unknown", "UNKNOWN"},
};

// "cudaErrorInvalidValue", "CUDA_ERROR_INVALID_VALUE", "error 12345".
std::string ErrorName(int32_t code, trace::ApiDomain domain) {
  const auto* at = std::lower_bound(std::begin(kCodes), std::end(kCodes), code,
                                    [](const Code& c, int32_t value) { return c.code < value; });
  const bool is_driver = domain == trace::ApiDomain::kDriver;
  if (at == std::end(kCodes) || at->code != code || (is_driver && at->driver.empty())) {
    return "error " + std::to_string(code);
  }
  return is_driver ? "CUDA_ERROR_" + std::string(at->driver) : "cudaError" + std::string(at->runtime);
}

// After these the context is lost: every later call fails too.
bool IsSticky(int32_t code) {
  return code == 214 || code == 220 || code == 700 || code == 702 || code == 710 || (code >= 714 && code <= 719);
}

struct Errors {
  int64_t count = 0;
  uint32_t first = kNone;  // the earliest call
};
using ErrorMap = std::map<std::pair<NameId, int32_t>, Errors>;

// What an event or stream that still works answers to a query is no error.
bool IsError(const ApiCall& call) {
  return call.result != 0 && !(call.result == kNotReady && call.api_class == ApiClass::kQuery);
}

ErrorMap Collect(const AnalysisInput& input) {
  const Trace& trace = input.trace();
  ErrorMap errors;
  for (const uint32_t i : input.shared().calls().failed()) {
    const ApiCall& call = trace.api_calls[i];
    if (!IsError(call)) continue;
    Errors& entry = errors[{call.function, call.result}];
    ++entry.count;
    if (entry.first == kNone || call.start_ns < trace.api_calls[entry.first].start_ns) entry.first = i;
  }
  return errors;
}

std::string PathOf(const Trace& trace, const ApiCall& call) {
  return PathName(trace, call.range == kNone ? NameId{} : trace.ranges[call.range].path);
}

Table ErrorTable(const Trace& trace, const ErrorMap& errors, uint32_t max_rows) {
  Table table{"api_errors",
              "Calls that returned an error",
              {{"count", "Count", Unit::kCount, false},
               {"function", "Function", Unit::kText, false},
               {"error", "Error", Unit::kText, false},
               {"code", "Code", Unit::kCount, true},
               {"first_ns", "First", Unit::kNs, false},
               {"thread", "Thread", Unit::kText, true},
               {"path", "NVTX range", Unit::kText, true}},
              {},
              "First: time since the start of the trace; thread and range are those of the first error. Queries that "
              "return 600 (not ready) do not count."};
  for (const auto& [key, entry] : errors) {
    const ApiCall& first = trace.api_calls[entry.first];
    table.rows.push_back({entry.count, std::string(trace.Text(key.first)), ErrorName(key.second, first.domain),
                          int64_t{key.second}, first.start_ns - trace.start_ns, ThreadName(trace, first.thread),
                          PathOf(trace, first)});
  }
  // In order of time: later errors often follow from the first.
  std::stable_sort(table.rows.begin(), table.rows.end(),
                   [](const auto& a, const auto& b) { return std::get<int64_t>(a[4]) < std::get<int64_t>(b[4]); });
  CutRows(&table, max_rows);
  return table;
}

Finding ErrorFinding(const Trace& trace, const ErrorMap& errors) {
  // The first of those that lose the context, else of all: the others often follow from it.
  const ErrorMap::value_type* first = nullptr;
  int64_t count = 0;
  bool is_sticky = false;
  for (const auto& entry : errors) {
    count += entry.second.count;
    const bool is_worse = IsSticky(entry.first.second) && !is_sticky;
    const bool is_as_bad = IsSticky(entry.first.second) == is_sticky;
    const auto start_ns = [&](const Errors& e) { return trace.api_calls[e.first].start_ns; };
    if (first == nullptr || is_worse || (is_as_bad && start_ns(entry.second) < start_ns(first->second))) first = &entry;
    is_sticky = is_sticky || is_worse;
  }
  const ApiCall& call = trace.api_calls[first->second.first];
  const std::string path = PathOf(trace, call);
  Finding finding = NewFinding("api.errors", is_sticky ? 100 : 0);  // all that comes after is lost
  const std::string function(trace.Text(first->first.first)), error = ErrorName(first->first.second, call.domain);
  finding.message = CountOf(count, "CUDA call") + " returned an error" +
                    (is_sticky ? "; the context is lost, first reported by " + function + ": " + error
                               : "; first: " + function + ", " + error) +
                    " at " + FormatNs(call.start_ns - trace.start_ns) + (call.range == kNone ? "" : " in " + path);
  if (is_sticky) {
    finding.advice =
        "Every later call fails as well: find the faulty kernel with compute-sanitizer. Figures after that point are "
        "those of a failing program.";
  }
  finding.subject.function = function;
  finding.subject.thread = ThreadName(trace, call.thread);
  if (call.range != kNone) finding.subject.range = path;
  return finding;
}

}  // namespace

AnalysisResult RunApiErrors(const AnalysisInput& input, const AnalysisOptions& options) {
  const Trace& trace = input.trace();
  AnalysisResult result;
  const ErrorMap errors = Collect(input);
  int64_t count = 0;
  for (const auto& entry : errors) count += entry.second.count;
  AddMetric(&result, "api.errors", count);
  if (!errors.empty()) result.findings.push_back(ErrorFinding(trace, errors));
  result.tables.push_back(ErrorTable(trace, errors, options.max_rows));
  return result;
}

}  // namespace gprof

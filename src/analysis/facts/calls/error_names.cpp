#include "analysis/facts/calls/error_names.h"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace gprof {
namespace {

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

}  // namespace

std::string ErrorName(int32_t code, trace::ApiDomain domain) {
  const auto* at = std::lower_bound(std::begin(kCodes), std::end(kCodes), code,
                                    [](const Code& c, int32_t value) { return c.code < value; });
  const bool is_driver = domain == trace::ApiDomain::kDriver;
  if (at == std::end(kCodes) || at->code != code || (is_driver && at->driver.empty())) {
    return "error " + std::to_string(code);
  }
  return is_driver ? "CUDA_ERROR_" + std::string(at->driver) : "cudaError" + std::string(at->runtime);
}

bool LosesContext(int32_t code) {
  return code == 214 || code == 220 || code == 700 || code == 702 || code == 710 || (code >= 714 && code <= 719);
}

}  // namespace gprof

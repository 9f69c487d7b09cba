// NVML, NVIDIA's library about the state of GPUs, where there is one. Its binary interface is stable, so the prototypes
// are ours and no header is needed to build. Functions that a version lacks are null; calls through Call() then answer
// kNotSupported.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "gprof/library_symbols.h"

namespace gprof::nvml {

using Device = void*;
using GpmSample = void*;
using EventSet = void*;

// What functions return.
inline constexpr int kSuccess = 0, kNotSupported = 3, kNoPermission = 4, kInsufficientSize = 7, kTimeout = 10,
                     kGpuIsLost = 15;

struct Utilization {
  unsigned gpu, memory;
};
struct Memory {
  unsigned long long total, free, used;
};
struct ProcessInfo {
  unsigned pid;
  unsigned long long used_memory;
  unsigned gpu_instance, compute_instance;
};
struct FieldValue {
  unsigned field, scope;
  long long timestamp_us, latency_us;
  int type, result;
  union {
    double as_double;
    unsigned as_unsigned;
    unsigned long as_unsigned_long;
    unsigned long long as_unsigned_long_long;
    long long as_signed_long_long;
    int as_signed;
    unsigned short as_unsigned_short;
  } value;
};
struct EventData {
  Device device;
  unsigned long long type, data;  // the Xid, of that type
  unsigned gpu_instance, compute_instance;
};
inline constexpr unsigned long long kXidEvent = 8;
struct GpmSupport {
  unsigned version, is_supported;
};
struct GpmMetric {
  unsigned id;
  int result;
  double value;
  const char *short_name, *long_name, *unit;
};
inline constexpr unsigned kMostGpmMetrics = 333;
struct GpmMetrics {
  unsigned version, count;
  GpmSample first, second;
  GpmMetric metrics[kMostGpmMetrics];
};

// Fields of nvmlDeviceGetFieldValues.
inline constexpr unsigned kFieldPowerCapNs = 74, kFieldThermalNs = 75, kFieldMemoryTemperature = 82,
                          kFieldPowerInstant = 186, kFieldSwThermalNs = 269, kFieldHwThermalNs = 270,
                          kFieldPowerBrakeNs = 271;
// Clocks of nvmlDeviceGetClockInfo, sensor of nvmlDeviceGetTemperature, kinds of nvmlDeviceGetTotalEccErrors.
inline constexpr unsigned kClockSm = 1, kClockMemory = 2, kSensorGpu = 0, kEccUncorrected = 1, kEccVolatile = 0;
inline constexpr unsigned kMigEnabled = 1;

struct Api {
  LibrarySymbols in;
  int (*nvmlInit_v2)() = in("nvmlInit_v2");
  int (*nvmlDeviceGetCount_v2)(unsigned*) = in("nvmlDeviceGetCount_v2");
  int (*nvmlDeviceGetHandleByIndex_v2)(unsigned, Device*) = in("nvmlDeviceGetHandleByIndex_v2");
  int (*nvmlDeviceGetUUID)(Device, char*, unsigned) = in("nvmlDeviceGetUUID");
  int (*nvmlDeviceGetName)(Device, char*, unsigned) = in("nvmlDeviceGetName");
  int (*nvmlDeviceGetPowerUsage)(Device, unsigned*) = in("nvmlDeviceGetPowerUsage");
  int (*nvmlDeviceGetEnforcedPowerLimit)(Device, unsigned*) = in("nvmlDeviceGetEnforcedPowerLimit");
  int (*nvmlDeviceGetTotalEnergyConsumption)(Device, unsigned long long*) = in("nvmlDeviceGetTotalEnergyConsumption");
  int (*nvmlDeviceGetTemperature)(Device, unsigned, unsigned*) = in("nvmlDeviceGetTemperature");
  int (*nvmlDeviceGetClockInfo)(Device, unsigned, unsigned*) = in("nvmlDeviceGetClockInfo");
  int (*nvmlDeviceGetMaxClockInfo)(Device, unsigned, unsigned*) = in("nvmlDeviceGetMaxClockInfo");
  int (*nvmlDeviceGetCurrentClocksEventReasons)(Device,
                                                unsigned long long*) = in("nvmlDeviceGetCurrentClocksEventReasons");
  int (*nvmlDeviceGetCurrentClocksThrottleReasons)(Device, unsigned long long*) =
      in("nvmlDeviceGetCurrentClocksThrottleReasons");
  int (*nvmlDeviceGetUtilizationRates)(Device, Utilization*) = in("nvmlDeviceGetUtilizationRates");
  int (*nvmlDeviceGetMemoryInfo)(Device, Memory*) = in("nvmlDeviceGetMemoryInfo");
  int (*nvmlDeviceGetTotalEccErrors)(Device, unsigned, unsigned,
                                     unsigned long long*) = in("nvmlDeviceGetTotalEccErrors");
  int (*nvmlDeviceGetPcieThroughput)(Device, unsigned, unsigned*) = in("nvmlDeviceGetPcieThroughput");
  int (*nvmlDeviceGetFieldValues)(Device, int, FieldValue*) = in("nvmlDeviceGetFieldValues");
  int (*nvmlDeviceGetComputeRunningProcesses_v3)(Device, unsigned*,
                                                 ProcessInfo*) = in("nvmlDeviceGetComputeRunningProcesses_v3");
  int (*nvmlDeviceGetMigMode)(Device, unsigned*, unsigned*) = in("nvmlDeviceGetMigMode");
  int (*nvmlDeviceGetMaxMigDeviceCount)(Device, unsigned*) = in("nvmlDeviceGetMaxMigDeviceCount");
  int (*nvmlDeviceGetMigDeviceHandleByIndex)(Device, unsigned, Device*) = in("nvmlDeviceGetMigDeviceHandleByIndex");
  int (*nvmlGpmQueryDeviceSupport)(Device, GpmSupport*) = in("nvmlGpmQueryDeviceSupport");
  int (*nvmlGpmSampleAlloc)(GpmSample*) = in("nvmlGpmSampleAlloc");
  int (*nvmlGpmSampleGet)(Device, GpmSample) = in("nvmlGpmSampleGet");
  int (*nvmlGpmMetricsGet)(GpmMetrics*) = in("nvmlGpmMetricsGet");
  int (*nvmlEventSetCreate)(EventSet*) = in("nvmlEventSetCreate");
  int (*nvmlDeviceRegisterEvents)(Device, unsigned long long, EventSet) = in("nvmlDeviceRegisterEvents");
  int (*nvmlEventSetWait_v2)(EventSet, EventData*, unsigned) = in("nvmlEventSetWait_v2");
  const char* (*nvmlErrorString)(int) = in("nvmlErrorString");
};

template <class... Parameters, class... Arguments>
int Call(int (*function)(Parameters...), Arguments... arguments) {
  return function == nullptr ? kNotSupported : function(arguments...);
}

// False: a driver is not likely to be here. Takes a few system calls and loads nothing.
bool MayBeHere();
// Loads the library and initialises it, which takes 10 ms and more. False with the reason.
bool Load(Api* api, std::string* why);

// What was returned; the value counts where that is kSuccess.
struct Answer {
  int result = kNotSupported;
  uint64_t value = 0;
};

// Of functions that answer with one number.
template <class T>
Answer Read(int (*function)(Device, T*), Device gpu) {
  T value = 0;
  const int result = Call(function, gpu, &value);
  return {result, value};
}
template <class T>
Answer Read(int (*function)(Device, unsigned, T*), Device gpu, unsigned kind) {
  T value = 0;
  const int result = Call(function, gpu, kind, &value);
  return {result, value};
}
Answer ReadField(const Api& api, Device gpu, unsigned field);
// Several fields by one call, at most kMostFields.
inline constexpr std::size_t kMostFields = 8;
void ReadFields(const Api& api, Device gpu, std::span<const unsigned> fields, std::span<Answer> answers);
// In mW: at this instant where that is told, else a mean over a second on some GPUs.
Answer ReadPower(const Api& api, Device gpu);
// What holds the clocks down: bits.
Answer ReadClockLimits(const Api& api, Device gpu);
// Processes that compute on it, at most 64. What Call() returned.
int ReadProcesses(const Api& api, Device gpu, std::vector<ProcessInfo>* processes);
inline constexpr unsigned long long kMemoryNotTold = ~0ull;  // of a process

// How busy the parts of a GPU were between two samples of it.
struct GpmSamples {
  GpmSample older = nullptr, newer = nullptr;
};
// False: the GPU has no such metrics.
bool MakeGpmSamples(const Api& api, Device gpu, GpmSamples* samples);
// The newest sample. What Call() returned; then the samples are what they were.
int TakeGpmSample(const Api& api, Device gpu, GpmSamples* samples);
// values[i] of metric ids[i], with fractions; bytes where NVML has MiB. NaN: nothing was counted for it. What Call()
// returned: the values count where that is kSuccess.
int ReadGpm(const Api& api, const GpmSamples& samples, std::span<const unsigned> ids, std::span<double> values);

std::vector<Device> FindGpus(const Api& api);
// Of a GPU that is divided by MIG; else none.
std::vector<Device> FindInstances(const Api& api, Device gpu);
// "GPU-…" or "MIG-…"; empty when it is not told.
std::string UuidOf(const Api& api, Device gpu);

}  // namespace gprof::nvml

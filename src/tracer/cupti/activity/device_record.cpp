#include "tracer/cupti/activity/device_record.h"

#include <dirent.h>
#include <stdlib.h>

#include <cstring>

#include "tracer/core/notice.h"
#include "tracer/store/interned_names.h"
#include "tracer/store/memory/arena.h"
#include "tracer/system/proc_file.h"

namespace gprof::tracer {
namespace {

constexpr char kGpus[] = "/proc/driver/nvidia/gpus";

void FormatUuid(const CUuuid& uuid, char* out) {
  constexpr char kHex[] = "0123456789abcdef";
  char* p = out;
  std::memcpy(p, "GPU-", 4);
  p += 4;
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) *p++ = '-';
    const auto byte = static_cast<unsigned char>(uuid.bytes[i]);
    *p++ = kHex[byte >> 4];
    *p++ = kHex[byte & 15];
  }
  *p = 0;
}

// "16.0 GT/s PCIe" to the generation of the standard.
uint32_t Generation(const char* speed) {
  struct Row {
    double speed;
    uint32_t generation;
  };
  static constexpr Row kRows[] = {{2.5, 1}, {5.0, 2}, {8.0, 3}, {16.0, 4}, {32.0, 5}, {64.0, 6}};
  const double gigatransfers = strtod(speed, nullptr);
  for (const Row& row : kRows) {
    if (gigatransfers > row.speed - 0.1 && gigatransfers < row.speed + 0.1) return row.generation;
  }
  return 0;
}

void ReadLink(const char* address, trace::DeviceRecord* device) {
  Message speed, width;
  speed << "/sys/bus/pci/devices/" << address << "/max_link_speed";
  width << "/sys/bus/pci/devices/" << address << "/max_link_width";
  char text[64];
  if (ReadProcFile(speed.c_str(), text, sizeof text) > 0) device->pcie_generation = Generation(text);
  if (ReadProcFile(width.c_str(), text, sizeof text) > 0) {
    const auto lanes = static_cast<uint32_t>(strtoul(text, nullptr, 10));
    device->pcie_lanes = lanes <= 32 ? lanes : 0;  // 255 is "not known"
  }
}

void NoteAddress(const char* address, trace::DeviceRecord* device) {
  char* end = nullptr;
  device->pcie_domain = static_cast<uint32_t>(strtoul(address, &end, 16));
  if (*end == ':') device->pcie_bus = static_cast<uint32_t>(strtoul(end + 1, &end, 16));
  if (*end == ':') device->pcie_device = static_cast<uint32_t>(strtoul(end + 1, &end, 16));
}

// CUPTI's own topology records (KIND_PCIE) make launches from several threads three times as slow (H200, driver 580),
// so the driver's files say which PCI device has this UUID.
void FindLink(const char* uuid, trace::DeviceRecord* device) {
  DIR* gpus = opendir(kGpus);
  if (gpus == nullptr) return;
  while (const dirent* entry = readdir(gpus)) {
    if (entry->d_name[0] == '.') continue;
    Message path;
    path << kGpus << "/" << entry->d_name << "/information";
    char text[2048];
    if (ReadProcFile(path.c_str(), text, sizeof text) <= 0 || std::strstr(text, uuid) == nullptr) continue;
    NoteAddress(entry->d_name, device);
    ReadLink(entry->d_name, device);
    break;
  }
  closedir(gpus);
}

}  // namespace

trace::DeviceRecord DeviceOf(const CUpti_ActivityDevice5& a) {
  trace::DeviceRecord d;
  d.device = a.id;
  // The name is in the target's memory, which is not there any more when its launcher finishes the trace.
  if (!is_salvage) d.name = Names().Intern(a.name);
  char uuid[48];
  FormatUuid(a.uuid, uuid);
  d.uuid = Names().Intern(uuid);
  d.compute_major = a.computeCapabilityMajor;
  d.compute_minor = a.computeCapabilityMinor;
  d.sm_count = a.numMultiprocessors;
  d.sm_clock_khz = a.coreClockRate;
  d.memory_bytes = a.globalMemorySize;
  d.memory_bytes_per_second = a.globalMemoryBandwidth * 1000;
  d.l2_bytes = a.l2CacheSize;
  d.warp_size = a.numThreadsPerWarp;
  d.max_threads_per_sm = a.maxWarpsPerMultiprocessor * a.numThreadsPerWarp;
  d.max_blocks_per_sm = a.maxBlocksPerMultiprocessor;
  d.max_registers_per_sm = a.maxRegistersPerMultiprocessor;
  d.max_shared_bytes_per_sm = a.maxSharedMemoryPerMultiprocessor;
  d.max_threads_per_block = a.maxThreadsPerBlock;
  d.max_registers_per_block = a.maxRegistersPerBlock;
  d.max_shared_bytes_per_block = a.maxSharedMemoryPerBlock;
  FindLink(uuid, &d);
  return d;
}

}  // namespace gprof::tracer

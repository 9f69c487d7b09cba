#include "collect/host/perf_ring.h"

#include <asm/perf_regs.h>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

namespace gprof {
namespace {

// The kernel has its own order of the registers; ours is DWARF's.
#ifdef __aarch64__
constexpr uint64_t kRegisterMask = (uint64_t{1} << PERF_REG_ARM64_MAX) - 1;
#else
constexpr uint64_t Bit(unsigned number) { return uint64_t{1} << number; }
constexpr uint64_t kRegisterMask = 0x1ff | Bit(PERF_REG_X86_R8) | Bit(PERF_REG_X86_R9) | Bit(PERF_REG_X86_R10) |
                                   Bit(PERF_REG_X86_R11) | Bit(PERF_REG_X86_R12) | Bit(PERF_REG_X86_R13) |
                                   Bit(PERF_REG_X86_R14) | Bit(PERF_REG_X86_R15);
#endif
constexpr uint64_t kSampleId = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;

perf_event_attr AttributesOf(const PerfWish& wish) {
  perf_event_attr attributes = {};
  attributes.size = sizeof attributes;
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.config = wish.samples ? PERF_COUNT_SW_TASK_CLOCK : PERF_COUNT_SW_DUMMY;
  attributes.sample_type = kSampleId;
  attributes.sample_id_all = 1;
  attributes.use_clockid = 1;
  attributes.clockid = CLOCK_MONOTONIC;
  attributes.exclude_hv = 1;
  attributes.exclude_kernel = !wish.of_kernel;
  attributes.context_switch = wish.switches;
  attributes.watermark = 1;
  attributes.wakeup_watermark = 1u << 30;  // nobody waits for it
  if (!wish.samples) return attributes;
  if (wish.wakes) {
    attributes.watermark = 0;
    attributes.wakeup_events = 1;
  }
  attributes.sample_period = static_cast<uint64_t>(wish.period_ns);
  attributes.sample_type |= PERF_SAMPLE_PERIOD | PERF_SAMPLE_REGS_USER;
  attributes.sample_regs_user = kRegisterMask;
  attributes.mmap = 1;
  if (wish.backtrace == CpuBacktrace::kTables) {
    attributes.sample_type |= PERF_SAMPLE_STACK_USER;
    attributes.sample_stack_user = wish.stack_bytes;
  }
  if (wish.backtrace == CpuBacktrace::kFramePointers) {
    attributes.sample_type |= PERF_SAMPLE_CALLCHAIN;
    attributes.exclude_callchain_kernel = 1;
  }
  return attributes;
}

Registers TakeRegisters(ByteReader* reader) {
  Registers registers;
  if (reader->Take<uint64_t>() == PERF_SAMPLE_REGS_ABI_NONE) return registers;
#ifdef __aarch64__
  for (uint32_t i = 0; i < kRegisters - 1; ++i) registers.Set(i, reader->Take<uint64_t>());
  registers.pc = reader->Take<uint64_t>();
#else
  // AX BX CX DX SI DI BP SP IP R8 to R15.
  static constexpr uint32_t kOrder[] = {0, 3, 2, 1, 4, 5, 6, 7, 16, 8, 9, 10, 11, 12, 13, 14, 15};
  for (const uint32_t number : kOrder) registers.Set(number, reader->Take<uint64_t>());
  registers.pc = registers.values[kReturnRegister];
#endif
  return registers;
}

}  // namespace

int OpenPerfEvent(const PerfWish& wish, pid_t tid, int cpu, bool inherits) {
  perf_event_attr attributes = AttributesOf(wish);
  attributes.inherit = inherits;
  return static_cast<int>(syscall(SYS_perf_event_open, &attributes, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC));
}

int TryPerfEvents(PerfWish* wish) {
  for (const bool of_kernel : {true, false}) {
    wish->of_kernel = of_kernel;
    const int event = OpenPerfEvent(*wish, 0, -1, false);
    if (event < 0) continue;
    close(event);
    return 0;
  }
  return errno;
}

int PerfParanoidLevel() {
  constexpr int kUpstream = 2;
  int level = kUpstream;
  std::ifstream("/proc/sys/kernel/perf_event_paranoid") >> level;
  return level;
}

PerfRefusal WhyRefused(int error, int paranoid_level) {
  constexpr int kForAll = 2;
  const bool is_forbidden = error == EACCES || error == EPERM;
  if (is_forbidden && paranoid_level > kForAll) {
    return {"kernel.perf_event_paranoid is " + std::to_string(paranoid_level),
            "sysctl kernel.perf_event_paranoid=2, or run with CAP_PERFMON"};
  }
  if (is_forbidden) {
    return {"perf_event_open is blocked, as in most containers",
            "docker run --cap-add PERFMON, or a seccomp profile that allows perf_event_open"};
  }
  if (error == ENOSYS) return {"this kernel has no perf events", "use a kernel with CONFIG_PERF_EVENTS"};
  if (error == EMFILE || error == ENFILE) return {"too many open files", "raise ulimit -n"};
  return {std::string("perf_event_open: ") + std::strerror(error), "gprof-cli doctor"};
}

std::unique_ptr<PerfRing> PerfRing::Make(int event, std::size_t bytes, const PerfWish& wish) {
  static const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* const mapped = mmap(nullptr, page + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, event, 0);
  if (mapped == MAP_FAILED) return nullptr;
  return std::unique_ptr<PerfRing>(new PerfRing(event, mapped, page + bytes, wish));
}

PerfRing::~PerfRing() {
  munmap(mapped_, bytes_);
  close(event_);
}

void PerfRing::Drain(PerfVisitor* visitor) {
  auto* const head_page = static_cast<perf_event_mmap_page*>(mapped_);
  const unsigned char* const data = static_cast<const unsigned char*>(mapped_) + head_page->data_offset;
  const uint64_t size = head_page->data_size;
  const uint64_t head = __atomic_load_n(&head_page->data_head, __ATOMIC_ACQUIRE);
  uint64_t tail = head_page->data_tail;
  while (tail + sizeof(perf_event_header) <= head) {
    perf_event_header header;
    std::memcpy(&header, data + tail % size, sizeof header);  // records begin at multiples of 8
    if (header.size < sizeof header || tail + header.size > head) break;
    Bytes body = {data + tail % size, header.size};
    if (tail % size + header.size > size) {
      const std::size_t before = size - tail % size;
      folded_.assign(data + tail % size, data + size);
      folded_.insert(folded_.end(), data, data + (header.size - before));
      body = folded_;
    }
    Visit(header.type, header.misc, body.subspan(sizeof header), visitor);
    tail += header.size;
    __atomic_store_n(&head_page->data_tail, tail, __ATOMIC_RELEASE);
  }
}

void PerfRing::Visit(uint32_t type, uint16_t misc, Bytes body, PerfVisitor* visitor) {
  ByteReader reader(body);
  switch (type) {
    case PERF_RECORD_SAMPLE:
      return VisitSample(reader, visitor);
    case PERF_RECORD_SWITCH: {
      PerfSwitch change;
      change.pid = reader.Take<int32_t>();
      change.tid = reader.Take<int32_t>();
      change.time_ns = reader.Take<int64_t>();
      change.cpu = reader.Take<uint32_t>();
      change.is_out = (misc & PERF_RECORD_MISC_SWITCH_OUT) != 0;
      change.is_preempted = (misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT) != 0;
      if (!reader.is_bad()) visitor->change(change);
      return;
    }
    case PERF_RECORD_MMAP:
      return visitor->new_code(reader.Take<int32_t>());
    case PERF_RECORD_LOST:
      reader.Take<uint64_t>();
      visitor->lost += reader.Take<uint64_t>();
      return;
    case PERF_RECORD_THROTTLE:
      ++visitor->throttled;
      return;
    default:
      return;
  }
}

void PerfRing::VisitSample(ByteReader reader, PerfVisitor* visitor) {
  PerfSample& sample = sample_;
  sample.pid = reader.Take<int32_t>();
  sample.tid = reader.Take<int32_t>();
  sample.time_ns = reader.Take<int64_t>();
  sample.cpu = reader.Take<uint32_t>();
  reader.Take<uint32_t>();
  sample.weight_ns = reader.Take<int64_t>();
  sample.callers.clear();
  sample.stack = {};
  if (wish_.backtrace == CpuBacktrace::kFramePointers) {
    const auto count = reader.Take<uint64_t>();
    for (uint64_t i = 0; i < count && !reader.is_bad(); ++i) {
      const auto address = reader.Take<uint64_t>();
      // Marks between kernel and user code are large negative numbers.
      if (address < static_cast<uint64_t>(PERF_CONTEXT_MAX)) sample.callers.push_back(address);
    }
  }
  sample.registers = TakeRegisters(&reader);
  if (wish_.backtrace == CpuBacktrace::kTables && sample.registers.known != 0) {
    const Bytes copy = reader.TakeBytes(reader.Take<uint64_t>());
    const uint64_t used = copy.empty() ? 0 : reader.Take<uint64_t>();
    sample.stack = {sample.registers.values[kStackPointer], copy.first(std::min<uint64_t>(used, copy.size()))};
  }
  if (!reader.is_bad()) visitor->sample(sample);
}

}  // namespace gprof

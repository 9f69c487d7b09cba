// What threads did between CUDA calls: calls of the operating system, CPU samples, and when they did not run.
#include <vector>

#include "analysis/facts/places/stack_names.h"
#include "export/sqlite/sqlite_export.h"

namespace gprof {
namespace {

constexpr std::string_view kOsCallColumns =
    "start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL, globalTid INTEGER, nameId INTEGER NOT "
    "NULL, returnValue INTEGER NOT NULL, nestingLevel INTEGER, callchainId INTEGER NOT NULL, argumentsId INTEGER NOT "
    "NULL";

constexpr std::string_view kSampleColumns =
    "id INTEGER NOT NULL PRIMARY KEY, start INTEGER NOT NULL, cpu INTEGER, threadState INTEGER, globalTid INTEGER, "
    "cpuCycles INTEGER NOT NULL";

constexpr std::string_view kSwitchColumns =
    "start INTEGER NOT NULL, cpu INTEGER NOT NULL, isSchedIn INTEGER NOT NULL, globalTid INTEGER, threadState INTEGER, "
    "threadBlock INTEGER";

constexpr std::string_view kChainColumns =
    "id INTEGER NOT NULL, symbol INTEGER NOT NULL, module INTEGER NOT NULL, kernelMode INTEGER, thumbCode INTEGER, "
    "unresolved INTEGER, specialEntry INTEGER, originalIP INTEGER, unwindMethod INTEGER, stackDepth INTEGER NOT NULL";

// ENUM_SAMPLING_THREAD_STATE
enum class ThreadState : uint8_t { kUnknown = 0, kRunning = 1, kUnscheduled = 6, kWaiting = 7 };

// The frames of stacks, the innermost first.
class ChainWriter {
 public:
  ChainWriter(SqliteExport& out, std::string_view table) : out_(out), table_(out.database, table, kChainColumns) {}

  void Write(int64_t id, uint32_t stack) {
    const Trace& trace = out_.trace;
    constexpr int kNo = 0, kMethodNotKnown = 0;
    int64_t depth = 0;
    for (; stack != kNone; stack = trace.stacks[stack].parent) {
      const uint32_t f = trace.stacks[stack].frame;
      if (f == kNone) continue;
      const Frame& frame = trace.frames[f];
      const Module* module = frame.module == kNone ? nullptr : &trace.modules[frame.module];
      const bool is_kernel = module != nullptr && module->module_kind == trace::ModuleKind::kKernel;
      const bool is_named = !trace.SymbolsOf(f).empty() || (module != nullptr && module->name != NameId{});
      table_.Add(id, out_.strings.Id(FrameName(trace, f)), module == nullptr ? 0 : out_.NameStringId(module->path),
                 is_kernel, kNo, !is_named, kNo, frame.offset + (module == nullptr ? 0 : module->address),
                 kMethodNotKnown, depth++);
    }
  }

 private:
  SqliteExport& out_;
  SqliteTable table_;
};

void WriteOsCalls(SqliteExport& out) {
  SqliteTable table(out.database, "OSRT_API", kOsCallColumns);
  ChainWriter chains(out, "OSRT_CALLCHAINS");
  std::vector<bool> is_written(out.trace.stacks.size());
  constexpr int kOsRuntime = 27, kNoArguments = 0;  // ENUM_NSYS_EVENT_CLASS
  for (const OsCall& call : out.trace.os_calls) {
    out.progress.Add();
    const int64_t chain = call.stack == kNone ? 0 : int64_t{call.stack} + 1;
    table.Add(out.Time(call.start_ns), out.Time(call.end_ns), kOsRuntime, out.ThreadId(call.process, call.thread),
              out.NameStringId(call.function), call.result, std::nullopt, chain, kNoArguments);
    if (chain == 0 || is_written[call.stack]) continue;
    is_written[call.stack] = true;
    chains.Write(chain, call.stack);
  }
}

// Of the calls of CUDA, which name them in their own table.
void WriteCudaChains(SqliteExport& out) {
  ChainWriter chains(out, "CUDA_CALLCHAINS");
  std::vector<bool> is_written(out.trace.stacks.size());
  for (uint32_t i = 0; i < out.trace.api_calls.TraitsCount(); ++i) {
    const uint32_t stack = out.trace.api_calls.TraitsAt(i).stack;
    if (stack == kNone || is_written[stack]) continue;
    is_written[stack] = true;
    chains.Write(int64_t{stack} + 1, stack);
  }
}

void WriteSamples(SqliteExport& out) {
  SqliteTable table(out.database, "COMPOSITE_EVENTS", kSampleColumns);
  ChainWriter chains(out, "SAMPLING_CALLCHAINS");
  int64_t id = 0;
  for (const CpuSample& sample : out.trace.cpu_samples) {
    out.progress.Add();
    const bool is_waiting = sample.sample_kind == trace::SampleKind::kPythonWaiting;
    const auto cpu = sample.cpu == kNone ? std::nullopt : std::optional<int64_t>(sample.cpu);
    // Cycles are not counted: the time that a sample stands for is as good for sums.
    table.Add(++id, out.Time(sample.time_ns), cpu, is_waiting ? ThreadState::kWaiting : ThreadState::kRunning,
              out.ThreadId(sample.process, sample.thread), sample.weight_ns);
    chains.Write(id, sample.stack);
  }
}

// A thread leaves the processor, and comes back.
void WriteSwitches(SqliteExport& out) {
  SqliteTable table(out.database, "SCHED_EVENTS", kSwitchColumns);
  for (const ThreadSwitch& off : out.trace.switches) {
    out.progress.Add();
    const int64_t thread = out.ThreadId(off.process, off.thread);
    const int64_t cpu = off.cpu == kNone ? -1 : int64_t{off.cpu};
    table.Add(out.Time(off.start_ns), cpu, false, thread,
              off.is_preempted ? ThreadState::kUnscheduled : ThreadState::kWaiting, std::nullopt);
    // Where it came back is not known.
    if (!off.is_unfinished) table.Add(out.Time(off.end_ns), -1, true, thread, ThreadState::kUnknown, std::nullopt);
  }
}

}  // namespace

void WriteSqliteThreads(SqliteExport& out) {
  WriteCudaChains(out);
  WriteOsCalls(out);
  WriteSamples(out);
  WriteSwitches(out);
}

}  // namespace gprof

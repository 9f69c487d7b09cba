// Stacks for flame graphs, one a line: frames from the outside in, separated by semicolons, a space and nanoseconds.
//
// GPU time by Python code: the stack of the launching call, then the kernel, copy or fill.
//
// GPU time: the NVTX ranges that the launching call was made in, then the kernel, copy or fill. Host time: thread, NVTX
// ranges and CUDA calls, each with the time in which nothing within it was open. CPU time: thread and the stacks of the
// samples, with the time that they stand for, or their number.
#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analysis/facts/operations/operations.h"
#include "analysis/facts/places/running_samples.h"
#include "analysis/facts/places/stack_names.h"
#include "analysis/result/display_names.h"
#include "base/demangle.h"
#include "base/short_names.h"
#include "base/text.h"
#include "export/exporters.h"
#include "export/stacks/sampled_frames.h"

namespace gprof {
namespace {

// Semicolons separate frames, and a name ends with its line.
std::string Frame(std::string_view name) {
  std::string frame = Printable(name);
  std::replace(frame.begin(), frame.end(), ';', ',');
  return frame.empty() ? "(no name)" : frame;
}

// Deeper ranges are left out: a program that forgets to pop would make lines grow with the square of its depth.
constexpr std::size_t kMaxFrames = 256;

class FrameNames {
 public:
  FrameNames(const Trace& trace, bool full_names) : trace_(trace), kernels_(trace.strings.size()) {
    std::vector<uint32_t> ids;
    std::vector<std::string> names;
    std::vector<bool> is_seen(trace.strings.size());
    for (const GpuOp& op : trace.ops) {
      if (op.kind != OpKind::kKernel || is_seen[op.name.value]) continue;
      is_seen[op.name.value] = true;
      ids.push_back(op.name.value);
      names.push_back(KernelName(trace, op.name));
    }
    if (!full_names) names = ShortNames(names);
    for (std::size_t i = 0; i < ids.size(); ++i) kernels_[ids[i]] = Frame(names[i]);
  }

  std::string OfOp(const GpuOp& op) const {
    return op.kind == OpKind::kKernel ? kernels_[op.name.value] : Frame(OpName(trace_, op));
  }

  // Frames of a range and those around it, each followed by a semicolon. With more than one domain in a trace, names
  // alone would not say whose range it is.
  std::string OfRanges(uint32_t range) const {
    std::vector<uint32_t> chain;
    while (range != kNone && chain.size() < kMaxFrames) {
      chain.push_back(range);
      // Parents come before their children, which also ends this loop on a trace that says otherwise.
      const uint32_t parent = trace_.ranges[range].parent;
      range = parent < range ? parent : kNone;
    }
    std::string frames;
    for (auto it = chain.rbegin(); it != chain.rend(); ++it) frames += OfRange(trace_.ranges[*it]) + ";";
    return frames;
  }

  std::string OfProcess(uint32_t process) const {
    if (process == kNone || trace_.processes.size() < 2) return {};
    const Process& p = trace_.processes[process];
    const std::string rank = p.rank < 0 ? "" : "rank " + std::to_string(p.rank) + " ";
    return Frame(rank + std::string(trace_.Text(p.name)) + " (" + std::to_string(p.pid) + ")") + ";";
  }

 private:
  std::string OfRange(const NvtxRange& range) const {
    const std::string_view domain =
        range.domain == kNone ? std::string_view() : trace_.Text(trace_.domains[range.domain].name);
    const std::string name(trace_.Text(range.name));
    return Frame(domain.empty() ? name : std::string(domain) + ":" + name);
  }

  const Trace& trace_;
  std::vector<std::string> kernels_;  // by NameId
};

using Stacks = std::map<std::string, int64_t>;

// The range that an operation is shown in: as in the report, that of the launching call, or where the call was made
// outside of ranges, the range in which the node of its graph was made.
uint32_t RangeOf(const Trace& trace, const GpuOp& op) {
  const uint32_t call = OutermostCall(trace, op.api);
  const uint32_t range = call == kNone ? kNone : trace.api_calls[call].range;
  if (range != kNone || op.node == kNone) return range;
  return trace.graph_nodes[op.node].range;
}

// What tells stacks apart, in numbers: there are far fewer stacks than records.
struct StackKey {
  uint32_t owner = kNone;             // process or thread
  uint32_t path = 0, depth = 0;       // of the innermost range
  uint32_t name = 0, outer_name = 0;  // kernel, graph or function; the function around it
  uint8_t kind = 0, direction = 0;
  auto operator<=>(const StackKey&) const = default;
};

// Sums for keys, each with the index of a record that has it. Neighbours are mostly alike.
struct Sum {
  int64_t time_ns = 0;
  uint32_t example = 0;
};

class Sums {
 public:
  void Add(const StackKey& key, int64_t time_ns, uint32_t record) {
    if (time_ns <= 0) return;
    if (last_ == sums_.end() || last_->first != key) last_ = sums_.try_emplace(key, Sum{0, record}).first;
    last_->second.time_ns += time_ns;
  }
  std::map<StackKey, Sum> Take() { return std::move(sums_); }

 private:
  std::map<StackKey, Sum> sums_;
  std::map<StackKey, Sum>::iterator last_ = sums_.end();
};

// Of what the operation is, wherever it was launched.
StackKey KeyOf(const GpuOp& op) {
  StackKey key{.owner = op.process, .kind = static_cast<uint8_t>(op.kind)};
  key.name = op.kind == OpKind::kGraph ? op.graph : op.name.value;
  if (op.IsCopy()) key.direction = static_cast<uint8_t>(DirectionOf(op));
  return key;
}

void SetRange(const Trace& trace, uint32_t range, StackKey* key) {
  if (range == kNone) return;
  key->path = trace.ranges[range].path.value;
  key->depth = trace.ranges[range].depth + 1u;
}

// GPU time by what operations are and by where they were launched, which set_place(op, key) adds to their key, and
// frames_around(op, names) says as frames.
template <class K, class F>
Stacks StacksOfOps(const Trace& trace, const ExportOptions& options, K&& set_place, F&& frames_around) {
  const FrameNames names(trace, options.full_names);
  ExportProgress progress(options, trace.ops.size());
  Sums sums;
  for (std::size_t i = 0; i < trace.ops.size(); ++i) {
    progress.Add();
    const GpuOp& op = trace.ops[i];
    StackKey key = KeyOf(op);
    set_place(op, &key);
    sums.Add(key, op.DurationNs(), static_cast<uint32_t>(i));
  }
  Stacks stacks;
  for (const auto& [key, sum] : sums.Take()) {
    const GpuOp& op = trace.ops[sum.example];
    stacks[names.OfProcess(op.process) + frames_around(op, names) + names.OfOp(op)] += sum.time_ns;
  }
  return stacks;
}

Stacks GpuStacks(const Trace& trace, const ExportOptions& options) {
  return StacksOfOps(
      trace, options, [&](const GpuOp& op, StackKey* key) { SetRange(trace, RangeOf(trace, op), key); },
      [&](const GpuOp& op, const FrameNames& names) { return names.OfRanges(RangeOf(trace, op)); });
}

// The same by the Python code that launched: its stack, and what it called.
Stacks PythonStacks(const Trace& trace, const ExportOptions& options) {
  const auto stack_of = [&](const GpuOp& op) {
    const uint32_t call = OutermostCall(trace, op.api);
    return call == kNone ? kNone : trace.api_calls[call].stack;
  };
  return StacksOfOps(
      trace, options, [&](const GpuOp& op, StackKey* key) { key->path = stack_of(op); },
      [&](const GpuOp& op, const FrameNames&) {
        const std::vector<uint32_t> frames = FramesOf(trace, stack_of(op));
        std::string text = frames.empty() ? "(no Python);" : "";
        for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame)
          text += Frame(FrameName(trace, *frame)) + ";";
        return text;
      });
}

// Time of what is within each range and call. Ranges of different domains may overlap without nesting: what is left of
// the outer one is never less than nothing.
struct HostTime {
  explicit HostTime(const Trace& trace) : in_range_ns(trace.ranges.size()), in_call_ns(trace.api_calls.size()) {
    for (const NvtxRange& range : trace.ranges) {
      if (range.is_push_pop && range.parent != kNone) in_range_ns[range.parent] += range.DurationNs();
    }
    for (const ApiCall& call : trace.api_calls) {
      if (call.parent != kNone) {
        in_call_ns[call.parent] += call.DurationNs();
      } else if (call.range != kNone) {
        in_range_ns[call.range] += call.DurationNs();
      }
    }
  }
  std::vector<int64_t> in_range_ns, in_call_ns;
};

// The function that the program called, for what CUDA calls within it.
uint32_t OuterFunction(const Trace& trace, const ApiCall& call) {
  return call.parent == kNone ? 0 : trace.api_calls[OutermostCall(trace, call.parent)].function.value;
}

std::string CallFrames(const Trace& trace, const ApiCall& call) {
  const std::string outer = call.parent == kNone ? "" : Frame(trace.Text({OuterFunction(trace, call)})) + ";";
  return outer + Frame(trace.Text(call.function));
}

std::map<StackKey, Sum> RangeSums(const Trace& trace, const HostTime& within) {
  Sums sums;
  for (std::size_t i = 0; i < trace.ranges.size(); ++i) {
    const NvtxRange& range = trace.ranges[i];
    if (!range.is_push_pop) continue;  // they need not nest, so they are no frames
    StackKey key{.owner = range.thread};
    SetRange(trace, static_cast<uint32_t>(i), &key);
    sums.Add(key, range.DurationNs() - within.in_range_ns[i], static_cast<uint32_t>(i));
  }
  return sums.Take();
}

std::map<StackKey, Sum> CallSums(const Trace& trace, const HostTime& within, ExportProgress& progress) {
  Sums sums;
  for (std::size_t i = 0; i < trace.api_calls.size(); ++i) {
    progress.Add();
    const ApiCall& call = trace.api_calls[i];
    StackKey key{.owner = call.thread, .name = call.function.value, .outer_name = OuterFunction(trace, call)};
    SetRange(trace, call.range, &key);
    sums.Add(key, call.DurationNs() - within.in_call_ns[i], static_cast<uint32_t>(i));
  }
  return sums.Take();
}

Stacks HostStacks(const Trace& trace, const ExportOptions& options) {
  const FrameNames names(trace, options.full_names);
  const HostTime within(trace);
  ExportProgress progress(options, trace.api_calls.size());
  Stacks stacks;
  const auto thread_frames = [&](uint32_t thread) {
    const uint32_t process = thread == kNone ? kNone : trace.threads[thread].process;
    return names.OfProcess(process) + Frame(ThreadName(trace, thread)) + ";";
  };
  for (const auto& [key, sum] : RangeSums(trace, within)) {
    std::string stack = thread_frames(trace.ranges[sum.example].thread) + names.OfRanges(sum.example);
    stack.pop_back();
    stacks[stack] += sum.time_ns;
  }
  for (const auto& [key, sum] : CallSums(trace, within, progress)) {
    const ApiCall& call = trace.api_calls[sum.example];
    stacks[thread_frames(call.thread) + names.OfRanges(call.range) + CallFrames(trace, call)] += sum.time_ns;
  }
  return stacks;
}

Stacks CpuStacks(const Trace& trace, const ExportOptions& options) {
  const FrameNames names(trace, options.full_names);
  const RunningSamples counted(trace);
  const bool has_time = HaveTime(trace);
  std::map<std::pair<uint32_t, uint32_t>, int64_t> sums;  // by thread and stack
  ExportProgress progress(options, trace.cpu_samples.size());
  for (const CpuSample& sample : trace.cpu_samples) {
    progress.Add();
    if (sample.thread != kNone && counted.Has(sample))
      sums[{sample.thread, sample.stack}] += has_time ? sample.weight_ns : 1;
  }
  Stacks stacks;
  for (const auto& [key, sum] : sums) {
    const auto& [thread, stack] = key;
    std::string text = names.OfProcess(trace.threads[thread].process) + Frame(ThreadName(trace, thread));
    const std::vector<uint32_t> frames = FramesOf(trace, stack);
    for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
      const std::vector<FrameLine> lines = LinesOf(trace, *frame);
      for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
        text += ";" + Frame(options.full_names ? line->name : ShortName(line->name));
      }
    }
    stacks[text] += sum;
  }
  return stacks;
}

Stacks StacksOf(const Trace& trace, const ExportOptions& options) {
  switch (options.weight) {
    case FoldedWeight::kGpu:
      return GpuStacks(trace, options);
    case FoldedWeight::kHost:
      return HostStacks(trace, options);
    case FoldedWeight::kPython:
      return PythonStacks(trace, options);
    case FoldedWeight::kCpu:
      break;
  }
  return CpuStacks(trace, options);
}

}  // namespace

void WriteFolded(const Trace& trace, const ExportOptions& options, OutputStream& out) {
  for (const auto& [stack, time_ns] : StacksOf(trace, options)) out.Write(stack + " " + std::to_string(time_ns) + "\n");
}

}  // namespace gprof

// CPU samples, and busy and idle time of GPUs by the stack that launched the work, for pprof:
// github.com/google/pprof/blob/main/proto/profile.proto.
#include <array>
#include <map>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/facts/places/running_samples.h"
#include "analysis/facts/recording/clock_quality.h"
#include "analysis/result/display_names.h"
#include "base/text.h"
#include "export/exporters.h"
#include "export/stacks/gpu_stacks.h"
#include "export/stacks/sampled_frames.h"

namespace gprof {
namespace {

using protozero::pbf_writer;

// Numbers of fields, by message.
namespace profile {
constexpr uint32_t kSampleType = 1, kSample = 2, kMapping = 3, kLocation = 4, kFunction = 5, kString = 6, kTime = 9,
                   kDuration = 10;
}
namespace value_type {
constexpr uint32_t kType = 1, kUnit = 2;
}
namespace sample_message {
constexpr uint32_t kLocation = 1, kValue = 2, kLabel = 3;
}
namespace label_message {
constexpr uint32_t kKey = 1, kText = 2, kNumber = 3;
}
namespace mapping_message {
constexpr uint32_t kId = 1, kStart = 2, kLimit = 3, kFile = 5, kBuildId = 6, kHasFunctions = 7;
}
namespace location_message {
constexpr uint32_t kId = 1, kMapping = 2, kAddress = 3, kLine = 4;
constexpr uint32_t kFunction = 1, kLineNumber = 2;
}  // namespace location_message
namespace function_message {
constexpr uint32_t kId = 1, kName = 2, kSystemName = 3, kFile = 4, kFirstLine = 5;
}

class PprofWriter {
 public:
  explicit PprofWriter(const Trace& trace) : trace_(trace), has_location_(trace.frames.size()) { (void)Text(""); }

  std::string Run(const ExportOptions& options) {
    AddValueType("samples", "count");
    AddValueType("cpu", "nanoseconds");
    AddValueType("gpu", "nanoseconds");
    AddValueType("gpu_idle", "nanoseconds");
    AddSamples(options);
    AddGpuTime();
    AddMappings();
    profile_.add_int64(profile::kTime, StartTime());
    profile_.add_int64(profile::kDuration, trace_.end_ns - trace_.start_ns);
    for (const std::string& text : texts_) profile_.add_string(profile::kString, text);
    return std::move(out_);
  }

 private:
  int64_t Text(std::string_view text) {
    const auto [at, is_new] = numbers_.try_emplace(std::string(text), static_cast<int64_t>(texts_.size()));
    if (is_new) texts_.emplace_back(text);
    return at->second;
  }

  void AddValueType(std::string_view type, std::string_view unit) {
    pbf_writer message(profile_, profile::kSampleType);
    message.add_int64(value_type::kType, Text(type));
    message.add_int64(value_type::kUnit, Text(unit));
  }

  // Nanoseconds of 1970 at the beginning of the trace, 0 when not known.
  int64_t StartTime() const {
    const auto clock = BestClock(trace_);
    return clock
               ? static_cast<int64_t>(clock->realtime_ns) - static_cast<int64_t>(clock->monotonic_ns) + trace_.start_ns
               : 0;
  }

  void AddSamples(const ExportOptions& options) {
    struct SampleSum {
      int64_t samples = 0, time_ns = 0;
    };
    std::map<std::pair<uint32_t, uint32_t>, SampleSum> sums;  // by thread and stack
    const RunningSamples counted(trace_);
    ExportProgress progress(options, trace_.cpu_samples.size());
    for (const CpuSample& sample : trace_.cpu_samples) {
      progress.Add();
      if (sample.thread == kNone || !counted.Has(sample)) continue;
      SampleSum& sum = sums[{sample.thread, sample.stack}];
      ++sum.samples;
      sum.time_ns += sample.weight_ns;
    }
    for (const auto& [key, sum] : sums) AddSample(key.first, Locations(key.second), {sum.samples, sum.time_ns, 0, 0});
  }

  // What an operation is, or why there was none, stands above the stack of the call that launched it.
  void AddGpuTime() {
    for (const GpuStack& one : GpuStacksOf(trace_)) {
      std::vector<uint64_t> locations = Locations(one.stack);
      locations.insert(locations.begin(), OperationLocation(one.what));
      AddSample(one.thread, locations, {0, 0, one.busy_ns, one.idle_ns});
    }
  }

  std::vector<uint64_t> Locations(uint32_t stack) {
    std::vector<uint64_t> locations;
    for (const uint32_t frame : FramesOf(trace_, stack)) {
      AddLocation(frame);
      locations.push_back(frame + 1);
    }
    return locations;
  }

  void AddSample(uint32_t thread, const std::vector<uint64_t>& locations, const std::array<int64_t, 4>& values) {
    pbf_writer message(profile_, profile::kSample);
    message.add_packed_uint64(sample_message::kLocation, locations.begin(), locations.end());
    message.add_packed_int64(sample_message::kValue, values.begin(), values.end());
    if (thread == kNone) return;
    const Thread& of = trace_.threads[thread];
    AddLabel(&message, "thread", Utf8(ThreadName(trace_, thread)));
    AddLabel(&message, "tid", of.tid);
    if (of.process != kNone) AddLabel(&message, "pid", trace_.processes[of.process].pid);
  }

  void AddLabel(pbf_writer* sample, std::string_view key, const std::string& text) {
    pbf_writer message(*sample, sample_message::kLabel);
    message.add_int64(label_message::kKey, Text(key));
    message.add_int64(label_message::kText, Text(text));
  }
  void AddLabel(pbf_writer* sample, std::string_view key, int64_t number) {
    pbf_writer message(*sample, sample_message::kLabel);
    message.add_int64(label_message::kKey, Text(key));
    message.add_int64(label_message::kNumber, number);
  }

  // A location is a frame; its number is one more, as 0 is none. The same goes for mappings, which are modules.
  void AddLocation(uint32_t index) {
    if (has_location_[index]) return;
    has_location_[index] = true;
    const auto& frame = trace_.frames[index];
    std::vector<std::pair<uint64_t, uint32_t>> lines;
    for (const FrameLine& line : LinesOf(trace_, index)) lines.emplace_back(Function(line), line.line);
    const bool has_module = frame.module != kNone;
    pbf_writer message(profile_, profile::kLocation);
    message.add_uint64(location_message::kId, index + 1);
    if (has_module) message.add_uint64(location_message::kMapping, frame.module + 1);
    message.add_uint64(location_message::kAddress,
                       frame.offset + (has_module ? trace_.modules[frame.module].address : 0));
    for (const auto& [function, line] : lines) {
      pbf_writer of_line(message, location_message::kLine);
      of_line.add_uint64(location_message::kFunction, function);
      if (line != 0) of_line.add_int64(location_message::kLineNumber, line);
    }
  }

  // Of a kernel, copy, fill or cause of idle time; numbered behind the frames.
  uint64_t OperationLocation(const std::string& name) {
    const auto [at, is_new] = operations_.try_emplace(name, trace_.frames.size() + operations_.size() + 1);
    if (!is_new) return at->second;
    const uint64_t function = Function({Utf8(name), Utf8(name), "", 0, 0});
    pbf_writer message(profile_, profile::kLocation);
    message.add_uint64(location_message::kId, at->second);
    pbf_writer of_line(message, location_message::kLine);
    of_line.add_uint64(location_message::kFunction, function);
    return at->second;
  }

  uint64_t Function(const FrameLine& line) {
    const int64_t name = Text(line.name), system_name = Text(line.system_name), file = Text(line.file);
    const auto [at, is_new] = functions_.try_emplace({system_name, file}, functions_.size() + 1);
    if (!is_new) return at->second;
    pbf_writer message(profile_, profile::kFunction);
    message.add_uint64(function_message::kId, at->second);
    message.add_int64(function_message::kName, name);
    message.add_int64(function_message::kSystemName, system_name);
    message.add_int64(function_message::kFile, file);
    if (line.first_line != 0) message.add_int64(function_message::kFirstLine, line.first_line);
    return at->second;
  }

  void AddMappings() {
    for (uint32_t i = 0; i < trace_.modules.size(); ++i) {
      const Module& module = trace_.modules[i];
      const int64_t file = Text(Utf8(trace_.Text(module.path))), build_id = Text(Utf8(trace_.Text(module.build_id)));
      pbf_writer message(profile_, profile::kMapping);
      message.add_uint64(mapping_message::kId, i + 1);
      message.add_uint64(mapping_message::kStart, module.address);
      message.add_uint64(mapping_message::kLimit, module.address + module.size_bytes);
      message.add_int64(mapping_message::kFile, file);
      message.add_int64(mapping_message::kBuildId, build_id);
      message.add_bool(mapping_message::kHasFunctions, true);
    }
  }

  const Trace& trace_;
  std::string out_;
  pbf_writer profile_{out_};
  std::vector<bool> has_location_;
  std::map<std::string, uint64_t> operations_;  // their locations
  std::vector<std::string> texts_;
  std::map<std::string, int64_t> numbers_;
  std::map<std::pair<int64_t, int64_t>, uint64_t> functions_;
};

}  // namespace

void WritePprof(const Trace& trace, const ExportOptions& options, OutputStream& out) {
  out.Write(PprofWriter(trace).Run(options));
}

}  // namespace gprof

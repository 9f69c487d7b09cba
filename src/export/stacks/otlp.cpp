// CPU samples, and busy and idle time of GPUs by the stack that launched the work, as OpenTelemetry has profiles:
// github.com/open-telemetry/opentelemetry-proto, profiles/v1development, as of opentelemetry-proto 1.10. The bytes are
// those of a ProfilesData, and of the request that collectors take (ExportProfilesServiceRequest).
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
namespace otlp_data {
constexpr uint32_t kResourceProfiles = 1, kDictionary = 2;
constexpr uint32_t kResource = 1, kScopeProfiles = 2, kAttributes = 1;      // ResourceProfiles, Resource
constexpr uint32_t kScope = 1, kProfiles = 2, kScopeName = 1;               // ScopeProfiles, InstrumentationScope
constexpr uint32_t kKey = 1, kValue = 2, kTextValue = 1, kNumberValue = 3;  // KeyValue, AnyValue
}  // namespace otlp_data
namespace otlp_dictionary {
constexpr uint32_t kMapping = 1, kLocation = 2, kFunction = 3, kLink = 4, kString = 5, kAttribute = 6, kStack = 7;
}
namespace otlp_profile {
constexpr uint32_t kSampleType = 1, kSamples = 2, kTime = 3, kDuration = 4;
constexpr uint32_t kType = 1, kUnit = 2;  // ValueType
}  // namespace otlp_profile
namespace otlp_sample {
constexpr uint32_t kStack = 1, kAttributes = 2, kValues = 4;
}
namespace otlp_mapping {
constexpr uint32_t kStart = 1, kLimit = 2, kFile = 4;
}
namespace otlp_location {
constexpr uint32_t kMapping = 1, kAddress = 2, kLines = 3;
constexpr uint32_t kFunction = 1, kLine = 2;
}  // namespace otlp_location
namespace otlp_function {
constexpr uint32_t kName = 1, kSystemName = 2, kFile = 3, kFirstLine = 4;
}

// A table of the dictionary. Its first entry is empty: a number of 0 means none.
class EntryTable {
 public:
  int32_t Number(std::string entry) {
    const auto [at, is_new] = numbers_.try_emplace(std::move(entry), static_cast<int32_t>(entries_.size()));
    if (is_new) entries_.push_back(at->first);
    return at->second;
  }
  void Write(pbf_writer* dictionary, uint32_t field) const {
    for (const std::string& entry : entries_) dictionary->add_message(field, entry);
  }

 private:
  std::vector<std::string> entries_ = {""};
  std::map<std::string, int32_t> numbers_ = {{"", 0}};
};

// A profile for each: its type and unit, and its samples.
struct OtlpProfile {
  std::string_view type, unit;
  std::vector<std::string> samples;
};

class OtlpWriter {
 public:
  explicit OtlpWriter(const Trace& trace) : trace_(trace), location_of_frame_(trace.frames.size()) {}

  std::string Run(const ExportOptions& options) {
    AddSamples(options);
    for (const GpuStack& one : GpuStacksOf(trace_)) {
      std::vector<int32_t> locations = LocationsOf(one.stack);
      locations.insert(locations.begin(), LocationOf({Utf8(one.what), Utf8(one.what), "", 0, 0}));
      AddSample(&gpu_, one.thread, locations, one.busy_ns);
      AddSample(&gpu_idle_, one.thread, locations, one.idle_ns);
    }
    std::string out;
    pbf_writer data(out);
    {
      pbf_writer of_resource(data, otlp_data::kResourceProfiles);
      WriteResource(&of_resource);
      pbf_writer of_scope(of_resource, otlp_data::kScopeProfiles);
      pbf_writer(of_scope, otlp_data::kScope).add_string(otlp_data::kScopeName, "gprof-cli");
      for (const OtlpProfile* profile : {&samples_, &cpu_, &gpu_, &gpu_idle_}) WriteProfile(*profile, &of_scope);
    }
    WriteDictionary(&data);
    return out;
  }

 private:
  int32_t Text(std::string_view text) { return texts_.Number(std::string(text)); }

  void AddSamples(const ExportOptions& options) {
    std::map<std::pair<uint32_t, uint32_t>, std::pair<int64_t, int64_t>> sums;  // by thread and stack: count, ns
    const RunningSamples counted(trace_);
    ExportProgress progress(options, trace_.cpu_samples.size());
    for (const CpuSample& sample : trace_.cpu_samples) {
      progress.Add();
      if (sample.thread == kNone || !counted.Has(sample)) continue;
      auto& [count, ns] = sums[{sample.thread, sample.stack}];
      ++count;
      ns += sample.weight_ns;
    }
    for (const auto& [key, sum] : sums) {
      const std::vector<int32_t> locations = LocationsOf(key.second);
      AddSample(&samples_, key.first, locations, sum.first);
      AddSample(&cpu_, key.first, locations, sum.second);
    }
  }

  void AddSample(OtlpProfile* profile, uint32_t thread, const std::vector<int32_t>& locations, int64_t value) {
    if (value == 0) return;
    std::string stack, sample;
    pbf_writer(stack).add_packed_int32(1, locations.begin(), locations.end());
    pbf_writer message(sample);
    message.add_int32(otlp_sample::kStack, stacks_.Number(stack));
    const std::vector<int32_t> attributes = AttributesOf(thread);
    message.add_packed_int32(otlp_sample::kAttributes, attributes.begin(), attributes.end());
    message.add_packed_int64(otlp_sample::kValues, &value, &value + 1);
    profile->samples.push_back(std::move(sample));
  }

  std::vector<int32_t> AttributesOf(uint32_t thread) {
    if (thread == kNone) return {};
    const Thread& of = trace_.threads[thread];
    std::vector<int32_t> numbers = {Attribute("thread.name", Utf8(ThreadName(trace_, thread))),
                                    Attribute("thread.id", int64_t{of.tid})};
    if (of.process != kNone) numbers.push_back(Attribute("process.pid", int64_t{trace_.processes[of.process].pid}));
    return numbers;
  }

  template <class Value>
  int32_t Attribute(std::string_view key, const Value& value) {
    std::string entry;
    pbf_writer message(entry);
    message.add_int32(otlp_data::kKey, Text(key));
    WriteValue(value, &message);
    return attributes_.Number(entry);
  }

  static void WriteValue(const std::string& text, pbf_writer* pair) {
    pbf_writer(*pair, otlp_data::kValue).add_string(otlp_data::kTextValue, text);
  }
  static void WriteValue(int64_t number, pbf_writer* pair) {
    pbf_writer(*pair, otlp_data::kValue).add_int64(otlp_data::kNumberValue, number);
  }

  template <class Value>
  static void WriteAttribute(std::string_view key, const Value& value, pbf_writer* resource) {
    pbf_writer pair(*resource, otlp_data::kAttributes);
    pair.add_string(otlp_data::kKey, key.data(), key.size());
    WriteValue(value, &pair);
  }

  // Of the first process, which the others were started by.
  void WriteResource(pbf_writer* of_resource) const {
    pbf_writer resource(*of_resource, otlp_data::kResource);
    if (trace_.processes.empty()) return;
    const Process& process = trace_.processes.front();
    WriteAttribute("service.name", Utf8(trace_.Text(process.name)), &resource);
    WriteAttribute("host.name", Utf8(trace_.Text(process.host)), &resource);
    WriteAttribute("process.pid", int64_t{process.pid}, &resource);
  }

  std::vector<int32_t> LocationsOf(uint32_t stack) {
    std::vector<int32_t> locations;
    for (const uint32_t frame : FramesOf(trace_, stack)) {
      int32_t& location = location_of_frame_[frame];
      if (location == 0) location = LocationOfFrame(frame);
      locations.push_back(location);
    }
    return locations;
  }

  int32_t LocationOfFrame(uint32_t index) {
    const auto& frame = trace_.frames[index];
    std::string entry;
    pbf_writer message(entry);
    const bool has_module = frame.module != kNone;
    if (has_module) message.add_int32(otlp_location::kMapping, MappingOf(trace_.modules[frame.module]));
    message.add_uint64(otlp_location::kAddress, frame.offset + (has_module ? trace_.modules[frame.module].address : 0));
    for (const FrameLine& line : LinesOf(trace_, index)) AddLine(line, &message);
    return locations_.Number(entry);
  }

  // Of a kernel, copy, fill or cause of idle time.
  int32_t LocationOf(const FrameLine& line) {
    std::string entry;
    pbf_writer message(entry);
    AddLine(line, &message);
    return locations_.Number(entry);
  }

  void AddLine(const FrameLine& line, pbf_writer* location) {
    std::string function;
    pbf_writer message(function);
    message.add_int32(otlp_function::kName, Text(line.name));
    message.add_int32(otlp_function::kSystemName, Text(line.system_name));
    message.add_int32(otlp_function::kFile, Text(line.file));
    if (line.first_line != 0) message.add_int64(otlp_function::kFirstLine, line.first_line);
    pbf_writer of_line(*location, otlp_location::kLines);
    of_line.add_int32(otlp_location::kFunction, functions_.Number(function));
    if (line.line != 0) of_line.add_int64(otlp_location::kLine, line.line);
  }

  int32_t MappingOf(const Module& module) {
    std::string entry;
    pbf_writer message(entry);
    message.add_uint64(otlp_mapping::kStart, module.address);
    message.add_uint64(otlp_mapping::kLimit, module.address + module.size_bytes);
    message.add_int32(otlp_mapping::kFile, Text(Utf8(trace_.Text(module.path))));
    return mappings_.Number(entry);
  }

  void WriteProfile(const OtlpProfile& profile, pbf_writer* of_scope) {
    pbf_writer message(*of_scope, otlp_data::kProfiles);
    {
      pbf_writer type(message, otlp_profile::kSampleType);
      type.add_int32(otlp_profile::kType, Text(profile.type));
      type.add_int32(otlp_profile::kUnit, Text(profile.unit));
    }
    for (const std::string& sample : profile.samples) message.add_message(otlp_profile::kSamples, sample);
    if (const auto clock = BestClock(trace_)) {
      const int64_t start_ns = static_cast<int64_t>(clock->realtime_ns) - static_cast<int64_t>(clock->monotonic_ns);
      message.add_fixed64(otlp_profile::kTime, static_cast<uint64_t>(start_ns + trace_.start_ns));
    }
    message.add_uint64(otlp_profile::kDuration, static_cast<uint64_t>(trace_.end_ns - trace_.start_ns));
  }

  void WriteDictionary(pbf_writer* data) const {
    pbf_writer message(*data, otlp_data::kDictionary);
    mappings_.Write(&message, otlp_dictionary::kMapping);
    locations_.Write(&message, otlp_dictionary::kLocation);
    functions_.Write(&message, otlp_dictionary::kFunction);
    message.add_message(otlp_dictionary::kLink, std::string());
    texts_.Write(&message, otlp_dictionary::kString);
    attributes_.Write(&message, otlp_dictionary::kAttribute);
    stacks_.Write(&message, otlp_dictionary::kStack);
  }

  const Trace& trace_;
  EntryTable mappings_, locations_, functions_, texts_, attributes_, stacks_;
  std::vector<int32_t> location_of_frame_;  // 0: not written yet
  OtlpProfile samples_{"samples", "count", {}}, cpu_{"cpu", "nanoseconds", {}};
  OtlpProfile gpu_{"gpu", "nanoseconds", {}}, gpu_idle_{"gpu_idle", "nanoseconds", {}};
};

}  // namespace

void WriteOtlp(const Trace& trace, const ExportOptions& options, OutputStream& out) {
  out.Write(OtlpWriter(trace).Run(options));
}

}  // namespace gprof

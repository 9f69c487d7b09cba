// CPU samples for speedscope.app: a profile for each thread, its samples in order of time.
// The format: https://www.speedscope.app/file-format-schema.json
#include <string>
#include <vector>

#include "analysis/facts/places/running_samples.h"
#include "analysis/result/display_names.h"
#include "base/text.h"
#include "export/exporters.h"
#include "export/output/json_text.h"
#include "export/stacks/sampled_frames.h"

namespace gprof {
namespace {

// Numbers of the functions at each frame, the outermost first, and the functions themselves as JSON.
struct Frames {
  explicit Frames(const Trace& trace) : of_frame(trace.frames.size()) {
    for (uint32_t i = 0; i < trace.frames.size(); ++i) {
      const std::vector<FrameLine> lines = LinesOf(trace, i);
      for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
        of_frame[i].push_back(count++);
        Append(*line);
      }
    }
  }

  std::vector<std::vector<uint32_t>> of_frame;
  std::string json;

 private:
  void Append(const FrameLine& line) {
    json += json.empty() ? "\n{\"name\":" : ",\n{\"name\":";
    AppendJsonString(line.name, &json);
    if (!line.file.empty()) {
      json += ",\"file\":";
      AppendJsonString(line.file, &json);
    }
    if (line.line != 0) {
      json += ",\"line\":";
      AppendInteger(line.line, &json);
    }
    json += "}";
  }

  uint32_t count = 0;
};

void AppendStack(const Trace& trace, const Frames& frames, uint32_t stack, std::string* out) {
  const std::vector<uint32_t> on_stack = FramesOf(trace, stack);
  *out += '[';
  for (auto frame = on_stack.rbegin(); frame != on_stack.rend(); ++frame) {
    for (const uint32_t function : frames.of_frame[*frame]) {
      if (out->back() != '[') *out += ',';
      AppendInteger(function, out);
    }
  }
  *out += ']';
}

std::string ProfileOf(const Trace& trace, const Frames& frames, uint32_t thread, const std::vector<uint32_t>& samples,
                      bool has_time) {
  std::string stacks, weights;
  int64_t total = 0;
  for (const uint32_t i : samples) {
    const CpuSample& sample = trace.cpu_samples[i];
    const int64_t weight = has_time ? sample.weight_ns : 1;
    if (!weights.empty()) stacks += ",", weights += ",";
    AppendStack(trace, frames, sample.stack, &stacks);
    AppendInteger(weight, &weights);
    total += weight;
  }
  std::string out = "{\"type\":\"sampled\",\"name\":";
  AppendJsonString(Utf8(ThreadName(trace, thread)), &out);
  out += std::string(",\"unit\":\"") + (has_time ? "nanoseconds" : "none") + "\",\"startValue\":0,\"endValue\":";
  AppendInteger(total, &out);
  return out + ",\n\"samples\":[" + stacks + "],\n\"weights\":[" + weights + "]}";
}

}  // namespace

void WriteSpeedscope(const Trace& trace, const ExportOptions& options, OutputStream& out) {
  const Frames frames(trace);
  const RunningSamples counted(trace);
  const bool has_time = HaveTime(trace);
  std::vector<std::vector<uint32_t>> of_threads(trace.threads.size());
  for (uint32_t i = 0; i < trace.cpu_samples.size(); ++i) {
    const CpuSample& sample = trace.cpu_samples[i];
    if (sample.thread != kNone && counted.Has(sample)) of_threads[sample.thread].push_back(i);
  }
  ExportProgress progress(options, trace.cpu_samples.size());
  out.Write(
      "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"exporter\":\"gprof-cli\",\n"
      "\"shared\":{\"frames\":[");
  out.Write(frames.json);
  out.Write("]},\n\"profiles\":[");
  bool is_first = true;
  for (uint32_t thread = 0; thread < of_threads.size(); ++thread) {
    if (of_threads[thread].empty()) continue;
    out.Write(is_first ? "\n" : ",\n");
    out.Write(ProfileOf(trace, frames, thread, of_threads[thread], has_time));
    progress.Add(of_threads[thread].size());
    is_first = false;
  }
  out.Write("]}\n");
}

}  // namespace gprof

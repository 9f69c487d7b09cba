#include "report/live/live_totals.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace gprof {
namespace {

// Each is a time series for good: a program with thousands of kernels must not flood whoever stores them.
constexpr std::size_t kMostKernels = 50;
constexpr std::string_view kOtherKernels = "other";

double Seconds(int64_t ns) { return static_cast<double>(ns) / 1e9; }

class MetricsWriter {
 public:
  MetricsWriter(const std::vector<const LiveProgram*>& programs, MetricsFormat format)
      : programs_(programs), format_(format) {}

  std::string Write() {
    Gauge("info", "programs that are being recorded", [&](const LiveProgram& p) {
      Sample("info", p, fmt::format(R"(program="{}",pid="{}")", LabelValue(p.program), p.pid), 1);
    });
    Gauge("recorder_memory_bytes", "memory that the recorder takes",
          [&](const LiveProgram& p) { Sample("recorder_memory_bytes", p, "", static_cast<double>(p.recorder_bytes)); });
    Counter("snapshots", "snapshots that the recorder has taken", [&](const LiveProgram& p, const std::string& name) {
      Sample(name, p, "", static_cast<double>(p.snapshots));
    });
    Counter("observed_seconds", "time that the other counters are about",
            [&](const LiveProgram& p, const std::string& name) { Sample(name, p, "", Seconds(p.totals.time_ns)); });
    Counter("gpu_busy_seconds", "time with a kernel, copy or memset running",
            [&](const LiveProgram& p, const std::string& name) {
              for (const auto& [gpu, ns] : p.totals.busy_ns)
                Sample(name, p, fmt::format(R"(gpu="{}")", LabelValue(gpu)), Seconds(ns));
            });
    Counter("gpu_idle_seconds", "time between two operations of a GPU, by its cause",
            [&](const LiveProgram& p, const std::string& name) {
              for (const auto& [key, ns] : p.totals.idle_ns) {
                Sample(name, p, fmt::format(R"(gpu="{}",cause="{}")", LabelValue(key.first), LabelValue(key.second)),
                       Seconds(ns));
              }
            });
    Counter("kernel_seconds", "time of kernels, of all GPUs together",
            [&](const LiveProgram& p, const std::string& name) {
              for (const auto& [kernel, sum] : p.totals.kernels)
                Sample(name, p, KernelLabel(kernel), Seconds(sum.total_ns));
            });
    Counter("kernels", "kernels that ran", [&](const LiveProgram& p, const std::string& name) {
      for (const auto& [kernel, sum] : p.totals.kernels)
        Sample(name, p, KernelLabel(kernel), static_cast<double>(sum.count));
    });
    Counter("copy_bytes", "bytes copied between host and GPU", [&](const LiveProgram& p, const std::string& name) {
      Sample(name, p, R"(direction="h2d")", static_cast<double>(p.totals.h2d_bytes));
      Sample(name, p, R"(direction="d2h")", static_cast<double>(p.totals.d2h_bytes));
    });
    Steps();
    if (format_ == MetricsFormat::kOpenMetrics) text_ += "# EOF\n";
    return std::move(text_);
  }

 private:
  void Head(std::string_view name, std::string_view type, std::string_view help) {
    text_ += fmt::format("# HELP gprof_program_{0} {2}\n# TYPE gprof_program_{0} {1}\n", name, type, help);
  }

  template <class Each>
  void Gauge(std::string_view name, std::string_view help, Each&& each) {
    Head(name, "gauge", help);
    for (const LiveProgram* program : programs_) each(*program);
  }

  // OpenMetrics names the family of a counter without "_total", Prometheus with it.
  template <class Each>
  void Counter(const std::string& name, std::string_view help, Each&& each) {
    const std::string sample = name + "_total";
    Head(format_ == MetricsFormat::kOpenMetrics ? name : sample, "counter", help);
    for (const LiveProgram* program : programs_) each(*program, sample);
  }

  void Steps() {
    Head("step_seconds", "histogram", "duration of the range that is a step of the program");
    for (const LiveProgram* program : programs_) {
      for (const auto& [step, times] : program->totals.steps) {
        const std::string label = fmt::format(R"(step="{}")", LabelValue(step));
        int64_t count = 0;
        for (std::size_t i = 0; i < times.counts.size(); ++i) {
          count += times.counts[i];
          const std::string limit = i < kStepSeconds.size() ? fmt::format("{}", kStepSeconds[i]) : "+Inf";
          Sample("step_seconds_bucket", *program, label + fmt::format(R"(,le="{}")", limit),
                 static_cast<double>(count));
        }
        Sample("step_seconds_sum", *program, label, Seconds(times.total_ns));
        Sample("step_seconds_count", *program, label, static_cast<double>(count));
      }
    }
  }

  static std::string KernelLabel(const std::string& kernel) {
    return fmt::format(R"(kernel="{}")", LabelValue(kernel));
  }

  void Sample(std::string_view name, const LiveProgram& program, const std::string& labels, double value) {
    text_ += fmt::format("gprof_program_{}{{recorder=\"{}\"{}{}}} {}\n", name, LabelValue(program.recorder),
                         labels.empty() ? "" : ",", labels, value);
  }

  const std::vector<const LiveProgram*>& programs_;
  MetricsFormat format_;
  std::string text_;
};

}  // namespace

void LiveTotals::Add(const TopReading& reading) {
  time_ns += reading.time_ns;
  for (const TopGpu& gpu : reading.gpus) {
    busy_ns[gpu.name] += gpu.busy_ns;
    for (const auto& [cause, ns] : gpu.idle_ns) idle_ns[{gpu.name, cause}] += ns;
  }
  for (const TopKernel& kernel : reading.kernels) {
    const bool has_place = kernels.contains(kernel.name) || kernels.size() < kMostKernels;
    Kernel& sum = kernels[has_place ? kernel.name : std::string(kOtherKernels)];
    sum.count += kernel.count;
    sum.total_ns += kernel.total_ns;
  }
  h2d_bytes += reading.h2d_bytes;
  d2h_bytes += reading.d2h_bytes;
}

void LiveTotals::Add(const StepDurations& of_steps) {
  if (of_steps.durations_ns.empty()) return;
  Steps& sum = steps[of_steps.step];
  for (const int64_t ns : of_steps.durations_ns) {
    const auto bucket = std::lower_bound(kStepSeconds.begin(), kStepSeconds.end(), Seconds(ns));
    ++sum.counts[static_cast<std::size_t>(bucket - kStepSeconds.begin())];
    sum.total_ns += ns;
  }
}

std::string LabelValue(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\' || c == '"') out += '\\';
    out += c == '\n' ? std::string("\\n") : std::string(1, c);
  }
  return out;
}

std::string MetricsText(const std::vector<const LiveProgram*>& programs, MetricsFormat format) {
  return MetricsWriter(programs, format).Write();
}

}  // namespace gprof

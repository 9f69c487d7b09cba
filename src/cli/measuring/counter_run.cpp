#include "cli/measuring/counter_run.h"

#include <string_view>

#include "cli/measuring/nvtx_words.h"
#include "gprof/error.h"
#include "gprof/trace/counter_request.h"

namespace gprof::cli {
namespace {

namespace words = trace::counter_request;

class RequestText {
 public:
  void Add(const char* word, std::string_view value) {
    if (value.empty()) return;
    if (value.find('\n') != std::string_view::npos)
      throw Error(ExitCode::kUsage, "'" + std::string(value) + "': a name of several lines");
    text_ += word;
    text_ += ' ';
    text_ += value;
    text_ += '\n';
  }
  void Add(const char* word, uint32_t value) {
    if (value != 0) Add(word, std::to_string(value));
  }
  void Add(const char* word, const std::vector<std::string>& values) {
    for (const std::string& value : values) Add(word, value);
  }
  void AddMetrics(const std::vector<std::vector<std::string>>& metrics) {
    for (const std::vector<std::string>& names : metrics) {
      std::string line;
      for (const std::string& name : names) {
        if (!name.empty()) line += (line.empty() ? "" : " ") + name;
      }
      Add(words::kMetric, line);
    }
  }
  void AddLines(const std::string& lines) { text_ += lines; }
  std::string Take() { return std::move(text_); }

 private:
  std::string text_;
};

std::string SetName(const counters::Wanted& wanted) {
  if (wanted.sets.size() != 1 || !wanted.sections.empty() || !wanted.metrics.empty()) return {};
  return wanted.sets.front();
}

}  // namespace

std::string CounterRequest(const CounterWishes& wishes) {
  RequestText text;
  text.AddMetrics(counters::MetricsOf(wishes.wanted));
  text.AddMetrics(wishes.more_metrics);
  text.Add(words::kSet, SetName(wishes.wanted));
  text.Add(words::kReplay, wishes.replay);
  const bool is_expression = wishes.kernel.starts_with(kRegex);
  text.Add(is_expression ? words::kKernelExpression : words::kKernel,
           std::string_view(wishes.kernel).substr(is_expression ? kRegex.size() : 0));
  text.Add(words::kNameBase, wishes.name_base);
  text.Add(words::kKernelId, wishes.kernel_id);
  text.Add(words::kSkipBefore, wishes.skip_before);
  text.Add(words::kSkip, wishes.skip);
  text.Add(words::kCount, wishes.count);
  text.Add(words::kMode, wishes.mode);
  text.Add(words::kDevice, wishes.devices);
  text.Add(words::kGraphs, wishes.graphs);
  text.Add(words::kCaches, wishes.caches);
  text.Add(words::kClocks, wishes.clocks);
  text.Add(words::kKill, uint32_t{wishes.ends_program});
  text.AddLines(wishes.range_lines);
  if (!wishes.code_folder.empty()) {
    text.Add(words::kSampling, std::to_string(wishes.sampling_period));
    text.Add(words::kCodeFolder, wishes.code_folder);
  }
  text.Add(words::kHangLimit, std::to_string(wishes.hang_limit_s));
  return text.Take();
}

LaunchOptions CounterLaunch(const CounterWishes& wishes) {
  LaunchOptions options;
  options.trace_cuda = options.trace_osrt = options.trace_mpi = options.trace_gemm = options.trace_nccl = false;
  options.collect = CollectorOptions::None();
  options.counters = CounterRequest(wishes);
  return options;
}

}  // namespace gprof::cli

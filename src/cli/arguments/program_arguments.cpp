#include "cli/arguments/program_arguments.h"

#include <string.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "cli/arguments/nsys_options.h"
#include "cli/arguments/options.h"
#include "cli/recording/compress_trace.h"
#include "cli/recording/name_frames.h"
#include "cli/talk.h"
#include "collect/host/samples/sample_rings.h"
#include "gprof/error.h"
#include "gprof/trace/env.h"
#include "launch/calibrate/machine_calibration.h"

namespace gprof::cli {
namespace {

using Variables = std::vector<std::pair<std::string, std::string>>;

bool IsVariableName(std::string_view name) {
  const auto is_good = [](char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
  };
  return !name.empty() && std::all_of(name.begin(), name.end(), is_good);
}

// "A=1,B=2" as Nsight Systems has it. A comma that no NAME= follows belongs to the value.
Variables ReadVariables(const std::string& text) {
  Variables variables;
  for (const std::string& piece : SplitList(text)) {
    const std::size_t equals = piece.find('=');
    if (equals != std::string::npos && IsVariableName(piece.substr(0, equals))) {
      variables.emplace_back(piece.substr(0, equals), piece.substr(equals + 1));
    } else if (!variables.empty()) {
      variables.back().second += "," + piece;
    } else {
      throw Error(ExitCode::kUsage, "-e needs NAME=VALUE, not '" + text + "'");
    }
    if (variables.back().first.starts_with("GPROF_")) {
      throw Error(ExitCode::kUsage, "-e cannot set " + variables.back().first,
                  "GPROF_* variables are reserved for the tracer; see gprof-cli help profile for the options");
    }
  }
  return variables;
}

[[noreturn]] void RefuseDomain(const std::string& name) {
  std::vector<std::string> names;
  for (const NsysTrace& trace : NsysTraces()) names.emplace_back(trace.name);
  throw Error(ExitCode::kUsage, "-t: unknown value '" + name + "'",
              NearestHint(name, names,
                          "use cuda, nvtx, osrt, mpi, gemm, nccl, ucx, openmp, openacc, cublas, cudnn, cusolver, "
                          "cusparse, cufft, a list of them, or none"));
}

// What becomes NVTX ranges, and NCCL, whose payloads of NVTX say more.
bool IsOfRanges(NsysDomain domain) {
  return domain == NsysDomain::kNvtx || domain == NsysDomain::kNccl || domain == NsysDomain::kUcx ||
         domain == NsysDomain::kCuSparse || domain == NsysDomain::kCuFft;
}

}  // namespace

void ProgramArguments::AddFlushOption(CLI::App& app) {
  app.add_option("--flush-ms,--cuda-flush-interval", options_.flush_ms,
                 "maximum time in ms before a record is written to the file (default 500); limits data loss if the "
                 "machine crashes")
      ->type_name("MS")
      ->check(WholeNumber(0, 3'600'000))
      ->group("Output");
}

void ProgramArguments::AddCompressOption(CLI::App& app) {
  app.add_flag("--compress", is_compressed_,
               "compress the trace when APP exits (20 to 40% smaller); all commands read it")
      ->group("Output");
}

void ProgramArguments::AddTraceOptions(CLI::App& app) {
  constexpr char kGroup[] = "Trace options";
  app_ = &app;
  app.add_option("-t,--trace", trace_,
                 "what to trace: cuda, nvtx, osrt, mpi, gemm, nccl (default: these six), ucx, openmp, openacc, "
                 "cublas, cudnn, cusolver, cusparse, cufft, or none")
      ->type_name("LIST")
      ->group(kGroup);
  app.add_option("--osrt-threshold", osrt_threshold_ns_,
                 "shortest operating system call to trace, in ns (1000 with -t osrt; by default 10000 in threads that "
                 "call CUDA or NVTX, 100000 in others)")
      ->type_name("NS")
      ->check(WholeNumber(0, 1'000'000'000))
      ->group(kGroup);
  app.add_option("--osrt-functions", options_.osrt_functions,
                 "trace only these operating system functions, such as read,poll (default: all)")
      ->type_name("LIST")
      ->group(kGroup);
  app.add_flag("--osrt-file-access", options_.osrt_file_access, "also trace short calls on files")->group(kGroup);
  stacks_.AddOptions(app, kGroup);
  app.add_flag("--cuda-trace-all-apis", options_.all_apis, "also trace cheap query calls such as cudaGetDevice")
      ->group(kGroup);
  app.add_option(
         "--cuda-graph-trace", options_.graph_trace,
         "trace CUDA graphs as a whole (graph, default), per node (node, higher overhead), or per node while the "
         "overhead is low (auto)")
      ->type_name("graph|node|auto")
      ->group(kGroup);
  app.add_flag("--cuda-memory-usage", options_.memory_usage, "also trace allocations, frees and memory pools")
      ->group(kGroup);
  app.add_flag("--cuda-um-cpu-page-faults", cpu_page_faults_, "also trace managed-memory migrations and page faults")
      ->group(kGroup);
  app.add_flag("--cuda-um-gpu-page-faults", gpu_page_faults_,
               "same as --cuda-um-cpu-page-faults: either one records both")
      ->group(kGroup);
  AddPythonOptions(app, kGroup);
  AddCollectorOptions(app, kGroup);
  app.add_flag(
         "--yield-to-profiler", options_.yields_to_profiler,
         "leave GPU work to APP's own profiler (torch.profiler, JAX, Proton, CUPTI) while it records (default); with "
         "=no that profiler gets no GPU work")
      ->group(kGroup);
  app.add_option("--cupti", options_.cupti_path, "use this libcupti instead of the one found automatically")
      ->type_name("FILE")
      ->group(kGroup);
}

void ProgramArguments::AddPythonOptions(CLI::App& app, const std::string& group) {
  app.add_option("--python-backtrace", python_backtrace_,
                 "record the Python call stack of CUDA calls and long waits (default cuda)")
      ->type_name("cuda|none")
      ->check(OneOf({"cuda", "none", "false"}))
      ->group(group);
  app.add_option(
         "--pytorch", options_.pytorch,
         "record PyTorch operators with input sizes (ops, or the slower autograd-shapes-nvtx), modules, or the modules "
         "in CUDA graphs")
      ->type_name("ops|autograd-nvtx|autograd-shapes-nvtx|modules|graphs|none")
      ->group(group);
  app.add_flag("--pytorch-memory")
      ->description("record each allocation and free of PyTorch's GPU memory allocator")
      ->group(group);
  app.add_flag("--serving", options_.has_serving_hooks,
               "record requests and steps of LLM servers in Python: vLLM, SGLang, Transformers")
      ->group(group);
}

void ProgramArguments::AddCollectorOptions(CLI::App& app, const std::string& group) {
  app.add_flag("--only-trace", only_trace_,
               "record what -t names and nothing else: no CPU samples, context switches, Python stacks, NVML or host "
               "load, unless their own options ask for them")
      ->group(group);
  app.add_option("--host-load", host_load_,
                 "sample process CPU use, run-queue wait and memory, and system CPU use, this many times per second "
                 "(default 10)")
      ->type_name("on|off|HZ")
      ->group(group);
  AddSamplingOptions(app, group);
  app.add_option("--nvml", nvml_,
                 "sample power, clocks, temperature, memory, energy and utilisation of the GPUs, this many times per "
                 "second (default 10)")
      ->type_name("on|off|HZ")
      ->group(group);
  app.add_option("--gpu-metrics-devices,--gpu-metrics-device", gpu_metrics_devices_,
                 "sample hardware counters of these GPUs: numbers as in nvidia-smi, or UUIDs (default none)")
      ->type_name("none|all|cuda-visible|LIST")
      ->group(group);
  app.add_option("--gpu-metrics-frequency", options_.collect.gpu_metrics.hz,
                 "hardware counter samples per second (default 1000)")
      ->type_name("HZ")
      ->check(WholeNumber(10, 100'000))
      ->group(group);
  app.add_option(
         "--gpu-metrics-burst", gpu_metrics_burst_,
         "sample hardware counters for this long at random moments, and read them afterwards; 0 samples all the "
         "time (default 0, above 10,000 Hz 0.1)")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.0, 10.0).description(""))
      ->group(group);
  app.add_option("--gpu-metrics-set", options_.collect.gpu_metrics.set, "which hardware counters to sample")
      ->type_name("default|kernels|dram|compute|link")
      ->group(group);
  app.add_option("--gpu-metrics", gpu_metrics_, "sample these hardware metrics instead, named as in Nsight Compute")
      ->type_name("LIST")
      ->group(group);
}

void ProgramArguments::AddSamplingOptions(CLI::App& app, const std::string& group) {
  // Of PyTorch, three stacks of four are deeper than a quarter of that.
  options_.collect.sampling.stack_bytes = 32768;
  app.add_option(
         "-s,--sample", sample_,
         "take CPU samples of threads: launching for those that call CUDA or NVTX, process-tree for all threads of APP "
         "and its children, or none (default: launching, or process-tree if no thread calls these)")
      ->type_name("launching|process-tree|none")
      ->group(group);
  app.add_option("--cpuctxsw", switches_, "record context switches of these threads (default: same as -s)")
      ->type_name("launching|process-tree|none")
      ->group(group);
  app.add_option("--sampling-frequency", options_.collect.sampling.hz,
                 "samples per second of CPU time (default 1000; 200 in virtual machines, where each costs more)")
      ->type_name("HZ")
      ->check(CLI::Range(1.0, 20'000.0).description(""))
      ->group(group);
  app.add_option("--sample-method", sample_method_,
                 "how CPU samples are taken: perf (default), which the kernel must permit, or signal: by perf if it is "
                 "permitted, otherwise by a signal in the threads that call CUDA or NVTX")
      ->type_name("perf|signal")
      ->check(OneOf({"perf", "signal"}))
      ->group(group);
  app.add_option(
         "--python-sampling", python_sampling_,
         "sample running Python code by reading APP's memory: of the threads chosen by -s (true) or of all threads "
         "(process-tree). Default: true if CPU sampling is not permitted, otherwise only processes without CUDA")
      ->type_name("true|process-tree|false")
      ->check(OneOf({"true", "process-tree", "false"}))
      ->group(group);
  app.add_option("--python-sampling-frequency", options_.collect.python.hz,
                 "Python samples per second (default 1000 with --python-sampling, else 200)")
      ->type_name("HZ")
      ->check(CLI::Range(1.0, 2'000.0).description(""))
      ->group(group);
  app.add_option("-b,--backtrace", backtrace_,
                 "call stacks of samples: by unwind tables (dwarf, default), frame pointers (fp), or none")
      ->type_name("dwarf|fp|none")
      ->group(group);
  app.add_option("--samples-per-backtrace", options_.collect.sampling.samples_per_backtrace,
                 "record the function and call stack of every Nth sample only (default 1)")
      ->type_name("N")
      ->check(WholeNumber(1, 32))
      ->group(group);
  app.add_option("--stack-size", options_.collect.sampling.stack_bytes,
                 "bytes of stack copied per sample; frames beyond it are missing from the call stack (default 32768)")
      ->type_name("BYTES")
      ->check(WholeNumber(256, 65'528))
      ->group(group);
}

void ProgramArguments::AddProgramOptions(CLI::App& app, ShowOutput show) {
  constexpr char kGroup[] = "Program";
  show_ = show;
  app.add_option("-e,--env-var", variables_, "environment variable for APP; repeatable, or comma-separated")
      ->type_name("NAME=VALUE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false)
      ->group(kGroup);
  app.add_option("-w,--show-output", show_output_,
                 show == ShowOutput::kByDefault ? "false discards stdout and stderr of APP"
                                                : "true shows stdout and stderr of APP on stderr (default false)")
      ->type_name("true|false")
      ->check(OneOf({"true", "false"}))
      ->group(kGroup);
  app.add_option("--trace-children", trace_children_, "false traces only APP, not its child processes")
      ->type_name("true|false")
      ->check(OneOf({"true", "false"}))
      ->group(kGroup);
  app.add_flag("-q,--quiet", options_.is_quiet, "print only errors, including from the tracer inside APP")
      ->group(kGroup);
}

LaunchOptions ProgramArguments::Read(const std::string& usage) {
  options_.trace_children = trace_children_ == "true";  // unless an option of nsys says otherwise
  ReadTraceOptions();
  TakeProgram(usage);
  for (const std::string& text : variables_) {
    for (auto& variable : ReadVariables(text)) options_.variables.push_back(std::move(variable));
  }
  options_.program_output = OutputOf();
  const bool has_stacks = stacks_.AreWanted(options_);
  if (has_stacks || is_compressed_) {
    options_.finish_trace = [has_stacks, compresses = is_compressed_,
                             is_quiet = options_.is_quiet](const FinishedTrace& trace) {
      if (has_stacks) NameFrames(trace, is_quiet);
      if (compresses) CompressFinishedTrace(trace, is_quiet);
    };
  }
  return options_;
}

LaunchOptions ProgramArguments::ReadTraceOptions() {
  ReadTraceList();
  ReadOsrt();
  ReadGraphTrace();
  options_.managed_memory = cpu_page_faults_ || gpu_page_faults_;
  options_.python_stacks = (options_.trace_cuda || options_.trace_osrt) &&
                           (python_backtrace_.empty() ? !only_trace_ : python_backtrace_ == "cuda");
  stacks_.Read(&options_);
  ReadSampling();
  options_.collect.host_load_hz = HertzOf("--host-load", host_load_);
  options_.collect.nvml_hz = HertzOf("--nvml", nvml_);
  ReadGpuMetrics();
  ReadPytorch();
  nsys_.Read(&options_);
  options_.calibration = FindCalibration();
  options_.report_loss = Warn;
  if (options_.is_quiet) return options_;
  options_.warn = Warn;
  options_.say = Say;
  nsys_.Warn(Warn);
  return options_;
}

ProgramOutput ProgramArguments::OutputOf() const {
  if (show_ == ShowOutput::kByDefault) return show_output_ == "false" ? ProgramOutput::kHidden : ProgramOutput::kShown;
  return show_output_ == "true" ? ProgramOutput::kOnStderr : ProgramOutput::kHidden;
}

double ProgramArguments::HertzOf(const std::string& option, const std::string& value) const {
  constexpr double kByDefault = 10, kMost = 100;
  const bool is_default = app_->count(option) == 0;
  if (is_default ? !only_trace_ : value == "on") return kByDefault;
  if (is_default || value == "off") return 0;
  double hz = 0;
  const char* const end = value.data() + value.size();
  const auto [stop, error] = std::from_chars(value.data(), end, hz);
  if (error != std::errc() || stop != end || !(hz > 0 && hz <= kMost)) {
    throw Error(ExitCode::kUsage, option + ": unknown value '" + value + "'",
                "use on, off, or a sampling rate in Hz up to 100");
  }
  return hz;
}

CpuScope ProgramArguments::ScopeOf(const std::string& option, const std::string& word) {
  if (word == "none") return CpuScope::kNobody;
  if (word == "launching") return CpuScope::kLaunching;
  if (word == "system-wide") nsys_.Note(option + "=" + word, "only processes of the run are sampled");
  // `cpu` is what nsys called it up to 2021.
  if (word == "process-tree" || word == "system-wide" || word == "cpu") return CpuScope::kProcessTree;
  throw Error(ExitCode::kUsage, option + ": unknown value '" + word + "'", "use launching, process-tree or none");
}

// -t chooses APIs, as in nsys: what is sampled beside them has defaults of its own, which --only-trace turns off.
void ProgramArguments::ReadSampling() {
  SamplingOptions& sampling = options_.collect.sampling;
  const CpuScope by_default = only_trace_ ? CpuScope::kNobody : CpuScope::kLaunchingElseTree;
  sampling.was_asked_for = !sample_.empty() && sample_ != "none";
  sampling.samples = sample_.empty() ? by_default : ScopeOf("--sample", sample_);
  sampling.switches = switches_.empty() ? sampling.samples : ScopeOf("--cpuctxsw", switches_);
  sampling.stack_bytes = sampling.stack_bytes / 8 * 8;
  ReadPythonSampling();
  ReadSignalSampling();
  if (backtrace_ == "lbr") nsys_.Note("--backtrace=lbr", "call stacks are made from unwind tables instead");
  if (backtrace_ == "none") {
    sampling.backtrace = CpuBacktrace::kOff;
  } else if (backtrace_ == "fp") {
    sampling.backtrace = CpuBacktrace::kFramePointers;
  } else if (backtrace_ != "dwarf" && backtrace_ != "auto" && backtrace_ != "lbr") {
    throw Error(ExitCode::kUsage, "--backtrace: unknown value '" + backtrace_ + "'", "use dwarf, fp or none");
  }
}

// What the tracer does instead of the kernel.
void ProgramArguments::ReadSignalSampling() {
  SamplingOptions& sampling = options_.collect.sampling;
  sampling.by_signal = sample_method_ == "signal";
  if (!WantsSignalSamples(sampling)) return;
  const double hz = sampling.hz > 0 ? sampling.hz : 1e9 / kSignalPeriodNs;
  options_.variables.emplace_back(trace::env::kSignalSamples, std::to_string(static_cast<int64_t>(1e9 / hz)) + "," +
                                                                  std::to_string(sampling.stack_bytes));
}

void ProgramArguments::ReadPythonSampling() {
  SamplingOptions& sampling = options_.collect.sampling;
  PythonSamplingOptions& python = options_.collect.python;
  const bool is_wanted = !python_sampling_.empty() && python_sampling_ != "false";
  python.mode = is_wanted                                                            ? PythonSampling::kOn
                : !python_sampling_.empty() || sampling.samples == CpuScope::kNobody ? PythonSampling::kOff
                                                                                     : PythonSampling::kAsNeeded;
  const bool is_tree = python_sampling_ == "process-tree" || sampling.samples == CpuScope::kProcessTree;
  python.threads = is_tree           ? CpuScope::kProcessTree
                   : sample_.empty() ? CpuScope::kLaunchingElseTree
                                     : CpuScope::kLaunching;
  // A thread is not sampled twice unless both are asked for.
  if (is_wanted && sample_.empty()) sampling.samples = CpuScope::kNobody;
}

void ProgramArguments::ReadGpuMetrics() {
  GpuMetricsOptions& wanted = options_.collect.gpu_metrics;
  if (gpu_metrics_devices_ != "none") wanted.devices = gpu_metrics_devices_;
  constexpr std::string_view kSets[] = {"default", "kernels", "dram", "compute", "link"};
  if (std::find(std::begin(kSets), std::end(kSets), wanted.set) == std::end(kSets)) {
    nsys_.Note("--gpu-metrics-set=" + wanted.set,
               "the sets are default, kernels, dram, compute and link; default is sampled");
    wanted.set = kSets[0];
  }
  // No processor reads more than that in time.
  constexpr double kMostReadHz = 10'000, kUsualBurstSeconds = 0.1;
  wanted.burst_seconds = gpu_metrics_burst_.value_or(wanted.hz > kMostReadHz ? kUsualBurstSeconds : 0);
  if (!gpu_metrics_.empty()) wanted.metrics = SplitList(gpu_metrics_);
  wanted.cupti_path = options_.cupti_path;
  const auto is_device = [](const std::string& one) {
    return one.starts_with("GPU-") || (!one.empty() && one.find_first_not_of("0123456789") == std::string::npos);
  };
  const std::vector<std::string> devices = SplitList(gpu_metrics_devices_);
  const bool is_word =
      gpu_metrics_devices_ == "none" || gpu_metrics_devices_ == "all" || gpu_metrics_devices_ == "cuda-visible";
  if (is_word || (!devices.empty() && std::all_of(devices.begin(), devices.end(), is_device))) return;
  throw Error(ExitCode::kUsage, "--gpu-metrics-devices: unknown value '" + gpu_metrics_devices_ + "'",
              "use none, all, cuda-visible, or numbers as in nvidia-smi -L, or UUIDs");
}

void ProgramArguments::ReadTraceList() {
  options_.trace_cuda = options_.trace_nvtx = options_.trace_osrt = options_.trace_mpi = false;
  options_.trace_gemm = options_.trace_nccl = options_.trace_ucx = false;
  options_.trace_cusparse = options_.trace_cufft = false;
  options_.trace_openmp = options_.trace_openacc = false;
  bool wants_none = false;
  std::string missing;
  for (const std::string& name : SplitList(trace_)) {
    const NsysTrace* const known = FindNsysTrace(name);
    if (known == nullptr) RefuseDomain(name);
    options_.trace_cuda |= known->domain == NsysDomain::kCuda;
    options_.trace_nvtx |= IsOfRanges(known->domain);
    options_.trace_osrt |= known->domain == NsysDomain::kOsrt;
    options_.trace_mpi |= known->domain == NsysDomain::kMpi;
    options_.trace_gemm |= known->domain == NsysDomain::kGemm || name.starts_with("cublas");
    options_.trace_nccl |= known->domain == NsysDomain::kNccl;
    options_.trace_nccl_proxy |= name == "nccl-proxy";
    options_.trace_ucx |= known->domain == NsysDomain::kUcx;
    options_.trace_cusparse |= known->domain == NsysDomain::kCuSparse;
    options_.trace_cufft |= known->domain == NsysDomain::kCuFft;
    options_.trace_openmp |= known->domain == NsysDomain::kOpenMp;
    options_.trace_openacc |= known->domain == NsysDomain::kOpenAcc;
    wants_none |= known->domain == NsysDomain::kNone;
    if (!known->variables.empty()) {
      const Variables variables = ReadVariables(std::string(known->variables));
      options_.library_variables.insert(options_.library_variables.end(), variables.begin(), variables.end());
    }
    if (known->domain == NsysDomain::kUnavailable) missing = name;
    if (!known->sentence.empty()) nsys_.Note("-t " + name, known->sentence);
  }
  if (options_.TracesNothing() && !wants_none) {
    throw Error(ExitCode::kUsage,
                "-t " + trace_ + ": nothing to record: " + std::string(FindNsysTrace(missing)->sentence),
                "add cuda, nvtx, osrt, mpi, gemm or nccl to -t");
  }
}

// Who asks for these calls wants all that take long; by default those are enough that may starve a GPU.
void ProgramArguments::ReadOsrt() {
  constexpr uint64_t kAskedForNs = 1000;
  if (app_->count("--osrt-threshold") > 0) {
    options_.osrt_threshold_ns = osrt_threshold_ns_;
  } else if (app_->count("--trace") > 0 && options_.trace_osrt) {
    options_.osrt_threshold_ns = kAskedForNs;
  }
}

void ProgramArguments::ReadPytorch() {
  const std::string asked = std::exchange(options_.pytorch, "");
  for (const std::string& what : asked.empty() ? std::vector<std::string>() : SplitList(asked)) {
    if (what == "ops" || what == "autograd-nvtx" || what == "autograd-shapes-nvtx" || what == "graphs") {
      options_.pytorch += (options_.pytorch.empty() ? "" : ",") + what;
    } else if (what == "modules" || what == "functions-trace") {
      options_.pytorch += std::string(options_.pytorch.empty() ? "" : ",") + "modules";
    } else if (what.starts_with("functions-trace")) {
      nsys_.Note("--pytorch=" + what,
                 "no lists of functions and no sizes; modules and steps of optimizers are recorded");
      options_.pytorch += std::string(options_.pytorch.empty() ? "" : ",") + "modules";
    } else if (what != "none") {
      throw Error(ExitCode::kUsage, "--pytorch: unknown value '" + what + "'",
                  "use ops, autograd-nvtx, autograd-shapes-nvtx, modules, graphs, a list of them, or none");
    }
  }
  if (!options_.pytorch.empty() && !options_.trace_nvtx) {
    throw Error(ExitCode::kUsage, "--pytorch needs NVTX ranges", "add nvtx to -t");
  }
  if (app_->count("--pytorch-memory") > 0) options_.pytorch += options_.pytorch.empty() ? "memory" : ",memory";
}

// Nsight Systems has "node:host-only" for graphs that the host launches, which are those that are recorded.
void ProgramArguments::ReadGraphTrace() {
  constexpr std::string_view kOrigins[] = {":host-only", ":host-and-device"};
  std::string& what = options_.graph_trace;
  const std::string asked = what;
  for (const std::string_view origin : kOrigins) {
    if (what.ends_with(origin)) what.resize(what.size() - origin.size());
  }
  if (asked.ends_with(kOrigins[1])) {
    nsys_.Note("--cuda-graph-trace=" + asked, "graphs launched from the device are not recorded");
  }
  const std::string wrong = what.empty() && asked.empty() ? "" : OneOf({"graph", "node", "auto"})(what);
  if (!wrong.empty()) {
    throw Error(ExitCode::kUsage, "--cuda-graph-trace: " + wrong, "see gprof-cli help profile");
  }
}

void ProgramArguments::TakeProgram(const std::string& usage) {
  options_.command = app_->remaining();
  if (!options_.command.empty() && options_.command.front() == "--") options_.command.erase(options_.command.begin());
  if (options_.command.empty()) throw Error(ExitCode::kUsage, "no program to run", usage);
}

}  // namespace gprof::cli

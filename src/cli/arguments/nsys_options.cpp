#include "cli/arguments/nsys_options.h"

#include <algorithm>
#include <array>

namespace gprof::cli {
namespace {

using enum NsysMeaning;

constexpr std::string_view kBool = "true|false";

// Options with one sentence are warned of in one line.
constexpr std::string_view kByTime = "the CPU is sampled by time; use --sampling-frequency";
constexpr std::string_view kNoPython =
    "calls of Python functions are not traced; use --python-sampling, or mark them with NVTX ranges (pip install nvtx)";
constexpr std::string_view kNoKernelEvents = "Linux kernel events are not recorded";
constexpr std::string_view kNoCpuCounters = "CPU hardware counters are not sampled";
constexpr std::string_view kNoNetwork = "network adapters and switches are not sampled";
constexpr std::string_view kNoStorage = "storage and GPUDirect Storage are not recorded";
constexpr std::string_view kNoGraphics =
    "graphics and video APIs are not recorded; use nsys or Nsight Graphics for frames, CUDA work is recorded here";
constexpr std::string_view kNoShmem = "calls of OpenSHMEM are not recorded";
constexpr std::string_view kNoEmbedded =
    "only for embedded platforms (DRIVE, Jetson), with the nsys of their SDK; CUDA work is recorded here";
constexpr std::string_view kNoWindows = "only for Windows";
constexpr std::string_view kAllDomains = "all NVTX domains are recorded; report --nvtx selects ranges afterwards";
constexpr std::string_view kTorchRanges =
    "frameworks are not annotated; in PyTorch, torch.autograd.profiler.emit_nvtx() emits a range per operator";
constexpr std::string_view kNoFrames = "frames are not detected; limit the capture with -y and -d, or -c nvtx -p RANGE";

constexpr std::array kOptions = {
    NsysOption{"-o,--output", "FILE", kOurs, "",
               "used as is, no extension is added; default names count up: run.trace, run.2.trace"},
    NsysOption{"-f,--force-overwrite", kBool, kOurs, "", ""},
    NsysOption{"-t,--trace", "LIST", kOurs, "",
               "values in the next table; the default is cuda,nvtx,osrt,mpi,gemm,nccl"},
    NsysOption{"-y,--delay", "SEC", kOurs, "", ""},
    NsysOption{"-d,--duration", "SEC", kOurs, "",
               "the program keeps running; nsys ends it, as --kill sigterm does here"},
    NsysOption{"--kill", "none|sigkill|sigterm|N", kOurs, "", "the default with -d is none, where nsys has sigterm"},
    NsysOption{"-c,--capture-range", "none|cudaProfilerApi|nvtx", kOurs, "",
               "no hotkey; use --capture-signal, or launch, start and stop"},
    NsysOption{"--capture-range-end", "none|stop|stop-shutdown|repeat[:N]", kOurs, "",
               "the default is stop, where nsys has stop-shutdown"},
    NsysOption{"-p,--nvtx-capture", "RANGE@DOMAIN", kOurs, "", ""},
    NsysOption{"-e,--env-var", "NAME=VALUE,...", kOurs, "", ""},
    NsysOption{"-w,--show-output", kBool, kOurs, "", ""},
    NsysOption{"--cuda-graph-trace", "graph|node[:ORIGIN]", kOurs, "", "the launch origin host-only is supported"},
    NsysOption{"--cuda-memory-usage", kBool, kOurs, "", ""},
    NsysOption{"--cuda-um-cpu-page-faults", kBool, kOurs, "", "also records GPU page faults"},
    NsysOption{"--cuda-um-gpu-page-faults", kBool, kOurs, "", "also records CPU page faults"},
    NsysOption{"--cuda-trace-all-apis", kBool, kOurs, "", ""},
    NsysOption{"--cuda-flush-interval", "MS", kOurs, "", "the same as --flush-ms; 0 is the default of 500 ms"},
    NsysOption{"--gpu-metrics-devices,--gpu-metrics-device", "none|all|cuda-visible|LIST", kOurs, "",
               "numbers as in nvidia-smi, or UUIDs"},
    NsysOption{"--gpu-metrics-frequency", "HZ", kOurs, "", "the default is 1,000 Hz, where nsys has 10,000"},
    NsysOption{"--gpu-metrics-set", "NAME", kOurs, "",
               "default, kernels, dram, compute or link; --gpu-metrics takes single metrics"},
    NsysOption{"--stats", kBool, kOurs, "", "prints the tables of gprof-cli stats on stdout"},
    NsysOption{"--export", "LIST", kOurs, "", "sqlite, jsonlines, json, and the formats of gprof-cli export --list"},
    NsysOption{"--python-backtrace", "none|cuda", kOurs, "", "the default is cuda"},
    NsysOption{"--pytorch", "autograd-nvtx|autograd-shapes-nvtx|functions-trace", kOurs, "",
               "functions-trace records modules and steps of optimizers; a list of functions is not read"},
    NsysOption{"--process-scope", "main|process-tree|system-wide", kOurs, "", "main is --trace-children false"},

    NsysOption{"-x,--stop-on-exit", kBool, kUnavailable, "true",
               "recording ends with the program; child processes left running keep writing to the trace"},
    NsysOption{"--wait", "primary|all", kUnavailable, "primary",
               "profile returns when the program exits; child processes left running keep writing to the trace"},
    NsysOption{"-n,--inherit-environment", kBool, kRefused, "true",
               "clear the environment first: env -i NAME=VALUE gprof-cli profile ./app"},
    NsysOption{"--run-as", "USER", kRefused, "", "run gprof-cli as that user: sudo -u USER gprof-cli profile ./app"},
    NsysOption{"--command-file", "FILE", kRefused, "", "let the shell expand it: gprof-cli profile $(cat FILE) ./app"},
    NsysOption{"--session-new", "NAME", kUnavailable, "",
               "profile runs without a session; use gprof-cli launch --session NAME"},
    NsysOption{"-Y,--start-later", kBool, kRefused, "false",
               "start the program with gprof-cli launch, and the recording with gprof-cli start"},
    NsysOption{"--trace-fork-before-exec", kBool, kInert, "", "forked processes are always recorded"},
    NsysOption{"--flush-on-cudaprofilerstop", kBool, kInert, "", "the trace is always written at the end of a capture"},
    NsysOption{"--cuda-event-trace", kBool, kInert, "", "event dependencies are always recorded"},
    NsysOption{"--cuda-trace-scope", "process-tree|system-wide", kUnavailable, "process-tree,none",
               "only processes of the run are recorded"},
    NsysOption{"--discard-environment", kBool, kInert, "", "environment variables are never stored in traces"},
    NsysOption{"--nvtx-domain-include", "LIST", kUnavailable, "", kAllDomains},
    NsysOption{"--nvtx-domain-exclude", "LIST", kUnavailable, "", kAllDomains},
    NsysOption{"--hotkey-capture", "KEY", kRefused, "",
               "use a signal instead, --capture-signal SIGUSR1, or gprof-cli launch, start and stop"},
    NsysOption{"--duration-frames", "N", kRefused, "", kNoFrames},
    NsysOption{"--start-frame-index", "N", kRefused, "", kNoFrames},
    NsysOption{"--enable", "PLUGIN", kUnavailable, "none", "Nsight Systems plug-ins are not supported"},

    NsysOption{"-s,--sample", "none|process-tree|system-wide", kOurs, "",
               "also launching: threads that call CUDA or NVTX, the default where there are any; "
               "cpu and system-wide are process-tree"},
    NsysOption{"-b,--backtrace", "none|auto|fp|lbr|dwarf", kOurs, "", "auto and lbr are dwarf"},
    NsysOption{"--samples-per-backtrace", "N", kOurs, "", "a sample without a call stack has no function either"},
    NsysOption{"--sampling-frequency", "HZ", kOurs, "", "1000 by default, 200 in virtual machines"},
    NsysOption{"--sampling-period", "EVENTS", kUnavailable, "", kByTime},
    NsysOption{"--sampling-trigger", "LIST", kUnavailable, "", kByTime},
    NsysOption{"--cpuctxsw", "none|process-tree|system-wide", kOurs, "", "also launching; the default is that of -s"},
    NsysOption{"--resolve-symbols", kBool, kInert, "", "functions are always named on the machine that recorded them"},
    NsysOption{
        "--debug-symbols", "PATH", kUnavailable, "",
        "functions are named by the debug files in /usr/lib/debug; gprof-cli symbolize --debug-dir PATH uses others"},
    NsysOption{"--show-source-info", kBool, kInert, "",
               "source lines are recorded where a program was compiled with -g"},
    NsysOption{"--cudabacktrace", "none|all|kernel|memory|sync|other", kOurs, "",
               "needs no CPU sampling; a threshold of 0 is affordable"},
    NsysOption{"--python-sampling", kBool, kOurs, "",
               "by reading the program's memory from outside; also in place of CPU samples where perf is refused"},
    NsysOption{"--python-sampling-frequency", "HZ", kOurs, "", "the default is 1000, as in nsys"},
    NsysOption{"--python-functions-trace", "FILE", kUnavailable, "none", kNoPython},
    NsysOption{"--python-nvtx-annotations", "FILE", kUnavailable, "none", kNoPython},
    NsysOption{"--dask", "LIST", kUnavailable, "none", kTorchRanges},

    NsysOption{
        "--osrt-threshold", "NS", kOurs, "",
        "the default is 1000 with -t osrt; without -t, 10000 in threads that call CUDA or NVTX, 100000 in others"},
    NsysOption{"--osrt-backtrace-threshold", "NS", kOurs, "", "the default is 80000, as in nsys"},
    NsysOption{"--osrt-backtrace-depth", "N", kOurs, "", "the default is 24, as in nsys"},
    NsysOption{"--osrt-backtrace-stack-size", "BYTES", kOurs, "",
               "the default is 65536; the stack is read where it is, not copied"},
    NsysOption{"--osrt-file-access", kBool, kOurs, "", "records every call on a file; the table os_files sums them"},
    NsysOption{"--syscall", "none|process-tree|system-wide", kUnavailable, "none", kNoKernelEvents},
    NsysOption{"--ftrace", "LIST", kUnavailable, "none", kNoKernelEvents},
    NsysOption{"--ftrace-keep-user-config", kBool, kUnavailable, "false", kNoKernelEvents},
    NsysOption{"--os-events", "LIST", kUnavailable, "none", kNoKernelEvents},

    NsysOption{"--gpuctxsw", kBool, kUnavailable, "false", "GPU context switches are not recorded"},
    NsysOption{"--gpu-video-device", "none|all|LIST", kUnavailable, "none", kNoGraphics},
    NsysOption{"--cpu-core-events", "LIST", kUnavailable, "none", kNoCpuCounters},
    NsysOption{"--cpu-core-metrics", "LIST", kUnavailable, "none", kNoCpuCounters},
    NsysOption{"--cpu-socket-events", "LIST", kUnavailable, "none", kNoCpuCounters},
    NsysOption{"--cpu-socket-metrics", "LIST", kUnavailable, "none", kNoCpuCounters},
    NsysOption{"--event-sample", "none|system-wide", kUnavailable, "none", kNoCpuCounters},
    NsysOption{"--event-sampling-interval", "MS", kUnavailable, "", kNoCpuCounters},
    NsysOption{"--event-sampling-multiplex-interval", "MS", kUnavailable, "", kNoCpuCounters},

    NsysOption{"--mpi-impl", "openmpi|mpich", kInert, "", "the MPI library in use is recognised"},
    NsysOption{"--nccl-trace", "LIST", kUnavailable, "none",
               "operations of NCCL are recorded by -t nccl, the work of its proxy threads by -t nccl-proxy; its "
               "network plug-ins are not"},
    NsysOption{"--nic-metrics", "LIST", kUnavailable, "none,false", kNoNetwork},
    NsysOption{"--dts-api-port", "PORT", kUnavailable, "", kNoNetwork},
    NsysOption{"--ib-net-info-devices", "LIST", kUnavailable, "none", kNoNetwork},
    NsysOption{"--ib-net-info-files", "LIST", kUnavailable, "none", kNoNetwork},
    NsysOption{"--ib-net-info-output", "FOLDER", kUnavailable, "", kNoNetwork},
    NsysOption{"--ib-switch-metrics-device", "LIST", kUnavailable, "none", kNoNetwork},
    NsysOption{"--ib-switch-congestion-device", "LIST", kUnavailable, "none", kNoNetwork},
    NsysOption{"--ib-switch-congestion-nic-device", "LIST", kUnavailable, "none", kNoNetwork},
    NsysOption{"--ib-switch-congestion-percent", "N", kUnavailable, "", kNoNetwork},
    NsysOption{"--ib-switch-congestion-threshold-high", "N", kUnavailable, "", kNoNetwork},
    NsysOption{"--storage-metrics", "LIST", kUnavailable, "none", kNoStorage},
    NsysOption{"--gds-metrics", "LIST", kUnavailable, "none", kNoStorage},
    NsysOption{"--gds-libs-path", "PATH", kUnavailable, "", kNoStorage},

    NsysOption{"--opengl-gpu-workload", kBool, kUnavailable, "false", kNoGraphics},
    NsysOption{"--vulkan-gpu-workload", "none|individual|batch", kUnavailable, "none,false", kNoGraphics},
    NsysOption{"--vsync", kBool, kUnavailable, "false", kNoGraphics},
    NsysOption{"--dx12-gpu-workload", "none|individual|batch", kUnavailable, "none,false", kNoWindows},
    NsysOption{"--dx12-wait-calls", kBool, kUnavailable, "false", kNoWindows},
    NsysOption{"--wddm-additional-events", kBool, kUnavailable, "false", kNoWindows},
    NsysOption{"--wddm-backtraces", kBool, kUnavailable, "false", kNoWindows},
    NsysOption{"--isr", kBool, kUnavailable, "false", kNoWindows},
    NsysOption{"--etw-provider", "LIST", kUnavailable, "none", kNoWindows},
    NsysOption{"--reflex-sdk", kBool, kUnavailable, "false", kNoWindows},
    NsysOption{"--accelerator-trace", "none|nvmedia|tegra-accelerators", kUnavailable, "none", kNoEmbedded},
    NsysOption{"--soc-metrics", kBool, kUnavailable, "false", kNoEmbedded},
    NsysOption{"--xhv-trace", "FILE", kUnavailable, "none", kNoEmbedded},
    NsysOption{"--qnx-kernel-events", "LIST", kUnavailable, "none", kNoEmbedded},
};

constexpr std::array kTraces = {
    NsysTrace{"cuda", NsysDomain::kCuda, ""},
    NsysTrace{"cuda-sw", NsysDomain::kCuda, ""},
    NsysTrace{"cuda-hw", NsysDomain::kCuda, "hardware-based tracing is not used; CUDA is recorded in software"},
    NsysTrace{"nvtx", NsysDomain::kNvtx, ""},
    NsysTrace{"nccl", NsysDomain::kNccl, ""},
    NsysTrace{"nccl-proxy", NsysDomain::kNccl, ""},
    NsysTrace{"none", NsysDomain::kNone, ""},
    NsysTrace{"osrt", NsysDomain::kOsrt, ""},
    NsysTrace{"python-gil", NsysDomain::kOsrt, ""},
    NsysTrace{"cublas", NsysDomain::kNvtx, "", "CUBLAS_NVTX_LEVEL=1,CUBLASLT_NVTX_LEVEL=1,CUBLASXT_NVTX_LEVEL=1"},
    NsysTrace{"cublas-verbose", NsysDomain::kNvtx, "",
              "CUBLAS_NVTX_LEVEL=2,CUBLASLT_NVTX_LEVEL=2,CUBLASXT_NVTX_LEVEL=2"},
    NsysTrace{"cudnn", NsysDomain::kNvtx, "", "CUDNN_NVTX_LEVEL=1"},
    NsysTrace{"cusolver", NsysDomain::kNvtx, "", "CUSOLVERDN_NVTX_LEVEL=1"},
    NsysTrace{"cusolver-verbose", NsysDomain::kNvtx, "", "CUSOLVERDN_NVTX_LEVEL=2"},
    NsysTrace{"cusparse", NsysDomain::kCuSparse, ""},
    NsysTrace{"cusparse-verbose", NsysDomain::kNvtx, "", "CUSPARSE_NVTX_LEVEL=2"},
    NsysTrace{"mpi", NsysDomain::kMpi, ""},
    NsysTrace{"gemm", NsysDomain::kGemm, ""},
    NsysTrace{"cufft", NsysDomain::kCuFft, ""},
    NsysTrace{"ucx", NsysDomain::kUcx, ""},
    NsysTrace{"oshmem", NsysDomain::kUnavailable, kNoShmem},
    NsysTrace{"openacc", NsysDomain::kOpenAcc, ""},
    NsysTrace{"openmp", NsysDomain::kOpenMp, ""},
    NsysTrace{"gds", NsysDomain::kUnavailable, kNoStorage},
    NsysTrace{"s3", NsysDomain::kUnavailable, kNoStorage},
    NsysTrace{"syscall", NsysDomain::kUnavailable, kNoKernelEvents},
    NsysTrace{"opengl", NsysDomain::kUnavailable, kNoGraphics},
    NsysTrace{"opengl-annotations", NsysDomain::kUnavailable, kNoGraphics},
    NsysTrace{"vulkan", NsysDomain::kUnavailable, kNoGraphics},
    NsysTrace{"vulkan-annotations", NsysDomain::kUnavailable, kNoGraphics},
    NsysTrace{"nvvideo", NsysDomain::kUnavailable, kNoGraphics},
    NsysTrace{"openxr", NsysDomain::kUnavailable, kNoGraphics},
    NsysTrace{"openxr-annotations", NsysDomain::kUnavailable, kNoGraphics},
    NsysTrace{"dx11", NsysDomain::kUnavailable, kNoWindows},
    NsysTrace{"dx12", NsysDomain::kUnavailable, kNoWindows},
    NsysTrace{"wddm", NsysDomain::kUnavailable, kNoWindows},
    NsysTrace{"tegra-accelerators", NsysDomain::kUnavailable, kNoEmbedded},
    NsysTrace{"nvmedia", NsysDomain::kUnavailable, kNoEmbedded},
    NsysTrace{"tensorrt", NsysDomain::kNvtx,
              "TensorRT names its layers in NVTX ranges; build engines with --profilingVerbosity=detailed"},
};

std::string Code(std::string_view text) {
  std::string code = "`";
  for (const char c : text) code += c == '|' ? std::string("\\|") : std::string(1, c);
  return code + "`";
}

std::string SilentText(const NsysOption& option) {
  if (option.silent.empty()) return "";
  std::string words;
  for (const char c : option.silent) words += c == ',' ? std::string("`, `") : std::string(1, c);
  return "`" + words + "`: ignored; otherwise ";
}

}  // namespace

bool NsysOption::IsSilent(std::string_view value) const {
  for (std::string_view rest = silent; !rest.empty();) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    if (rest.substr(0, comma) == value) return true;
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return false;
}

std::span<const NsysOption> NsysOptions() { return kOptions; }
std::span<const NsysTrace> NsysTraces() { return kTraces; }

const NsysTrace* FindNsysTrace(std::string_view name) {
  const auto* found =
      std::find_if(kTraces.begin(), kTraces.end(), [name](const auto& one) { return one.name == name; });
  return found == kTraces.end() ? nullptr : found;
}

std::string_view NameOf(NsysMeaning meaning) {
  switch (meaning) {
    case kOurs:
      return "accepted";
    case kInert:
      return "ignored";
    case kUnavailable:
      return "warning";
    case kRefused:
      return "refused";
  }
  return "";
}

std::string NsysOptionsMarkdown() {
  std::string text = "| `nsys profile` | `gprof-cli profile` | |\n|---|---|---|\n";
  for (const NsysOption& option : kOptions) {
    std::string names(option.names);
    if (const std::size_t comma = names.find(','); comma != std::string::npos) names.replace(comma, 1, ", ");
    text += "| " + Code(names + " " + std::string(option.values)) + " | " + SilentText(option) +
            std::string(NameOf(option.meaning)) + " | " + std::string(option.sentence) + " |\n";
  }
  text += "\n| `-t` | | |\n|---|---|---|\n";
  for (const NsysTrace& trace : kTraces) {
    const bool is_missing = trace.domain == NsysDomain::kUnavailable;
    const std::string_view sense = trace.domain == NsysDomain::kCuda       ? "cuda"
                                   : trace.domain == NsysDomain::kNvtx     ? "nvtx"
                                   : trace.domain == NsysDomain::kOsrt     ? "osrt"
                                   : trace.domain == NsysDomain::kMpi      ? "mpi"
                                   : trace.domain == NsysDomain::kGemm     ? "gemm"
                                   : trace.domain == NsysDomain::kNccl     ? "nccl"
                                   : trace.domain == NsysDomain::kUcx      ? "ucx"
                                   : trace.domain == NsysDomain::kCuSparse ? "cusparse"
                                   : trace.domain == NsysDomain::kCuFft    ? "cufft"
                                   : trace.domain == NsysDomain::kOpenMp   ? "openmp"
                                   : trace.domain == NsysDomain::kOpenAcc  ? "openacc"
                                                                           : "none";
    const std::string remark = trace.variables.empty() ? std::string(trace.sentence) : "sets " + Code(trace.variables);
    text += "| " + Code(trace.name) + " | " + (is_missing ? "warning" : "accepted as `" + std::string(sense) + "`") +
            " | " + remark + " |\n";
  }
  return text;
}

}  // namespace gprof::cli

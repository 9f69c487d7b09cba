// Command lines that people type for `nsys profile`, and what becomes of each.
#include "cli/arguments/nsys_options.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "cli/arguments/capture_arguments.h"
#include "cli/arguments/options.h"
#include "cli/arguments/program_arguments.h"
#include "cli/commands/command.h"
#include "cli/entry/help.h"
#include "cli/recording/after_run.h"
#include "gprof/error.h"

namespace gprof::cli {
namespace {

struct Settings {
  LaunchOptions launch;
  CaptureOptions capture;
  std::string output;
  bool may_overwrite = false, wants_more = false;
  std::string said;     // on stderr
  std::string refusal;  // with its hint

  // The program gets that variable; with an empty value, whatever it is.
  bool Has(const std::string& name, const std::string& value) const {
    return std::any_of(launch.variables.begin(), launch.variables.end(), [&](const auto& variable) {
      return variable.first == name && (value.empty() || variable.second == value);
    });
  }

  // What a recording depends on.
  bool operator==(const Settings& other) const {
    const LaunchOptions &a = launch, &b = other.launch;
    return a.trace_cuda == b.trace_cuda && a.trace_nvtx == b.trace_nvtx && a.trace_osrt == b.trace_osrt &&
           a.trace_mpi == b.trace_mpi && a.osrt_threshold_ns == b.osrt_threshold_ns &&
           a.osrt_file_access == b.osrt_file_access && a.all_apis == b.all_apis &&
           a.program_output == b.program_output && a.graph_trace == b.graph_trace && a.flush_ms == b.flush_ms &&
           a.memory_usage == b.memory_usage && a.managed_memory == b.managed_memory &&
           a.trace_children == b.trace_children && a.variables == b.variables && a.command == b.command &&
           capture.begin == other.capture.begin && capture.end == other.capture.end &&
           capture.nvtx_range == other.capture.nvtx_range && capture.delay_ns == other.capture.delay_ns &&
           capture.duration_ns == other.capture.duration_ns && capture.kill_signal == other.capture.kill_signal &&
           output == other.output && may_overwrite == other.may_overwrite && wants_more == other.wants_more;
  }
};

// Reads a command line as `profile` does.
Settings Read(const std::string& line) {
  std::istringstream stream(line + " ./app --its own");
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  Settings settings;
  ProgramArguments program;
  CaptureArguments capture;
  AfterRun after;
  CLI::App app;
  app.prefix_command();
  app.add_option("-o,--output", settings.output);
  app.add_flag("-f,--force-overwrite", settings.may_overwrite);
  after.AddOptions(app);
  program.AddFlushOption(app);
  program.AddTraceOptions(app);
  capture.AddOptions(app);
  program.AddProgramOptions(app);
  program.AddNsysOptions(app);
  testing::internal::CaptureStderr();
  try {
    words = WithFlagValuesJoined(app, words);
    std::reverse(words.begin(), words.end());
    app.parse(words);
    settings.launch = program.Read("");
    settings.capture = capture.Read(settings.launch.trace_cuda, settings.launch.trace_nvtx);
    after.Check();
    settings.wants_more = after.IsWanted();
  } catch (const Error& error) {
    settings.refusal = std::string(error.what()) + "; " + error.hint();
  } catch (const CLI::ParseError& error) {
    settings.refusal = error.what();
  }
  settings.said = testing::internal::GetCapturedStderr();
  return settings;
}

using Effect = std::function<bool(const Settings&)>;

struct Taken {
  const char* line;
  Effect has_effect;
};

const std::vector<Taken>& TakenLines() {
  static const std::vector<Taken> lines = {
      {"-o report", [](auto& s) { return s.output == "report"; }},
      {"--output=report.trace", [](auto& s) { return s.output == "report.trace"; }},
      {"--output report-%p", [](auto& s) { return s.output == "report-%p"; }},
      {"-f true", [](auto& s) { return s.may_overwrite; }},
      {"--force-overwrite=true", [](auto& s) { return s.may_overwrite; }},
      {"--force-overwrite true", [](auto& s) { return s.may_overwrite; }},
      {"-t cuda", [](auto& s) { return s.launch.trace_cuda && !s.launch.trace_nvtx; }},
      {"--trace=nvtx", [](auto& s) { return !s.launch.trace_cuda && s.launch.trace_nvtx; }},
      {"-t none", [](auto& s) { return s.launch.TracesNothing(); }},
      {"-t cuda,nvtx", [](auto& s) { return s.launch.trace_cuda && s.launch.trace_nvtx && !s.launch.trace_osrt; }},
      {"-t cuda,nvtx,osrt", [](auto& s) { return s.launch.trace_osrt && s.launch.osrt_threshold_ns == 1000; }},
      {"-t osrt", [](auto& s) { return s.launch.trace_osrt && !s.launch.trace_cuda && !s.launch.trace_nvtx; }},
      {"--trace=cuda,python-gil", [](auto& s) { return s.launch.trace_osrt && !s.launch.trace_nvtx; }},
      {"--osrt-threshold=10000", [](auto& s) { return s.launch.trace_osrt && s.launch.osrt_threshold_ns == 10000; }},
      {"-t osrt --osrt-threshold 500", [](auto& s) { return s.launch.osrt_threshold_ns == 500; }},
      {"-s process-tree",
       [](auto& s) {
         const auto& sampling = s.launch.collect.sampling;
         return sampling.samples == CpuScope::kProcessTree && sampling.switches == CpuScope::kProcessTree;
       }},
      {"-s cpu", [](auto& s) { return s.launch.collect.sampling.samples == CpuScope::kProcessTree; }},
      {"-s none --cpuctxsw=process-tree",
       [](auto& s) {
         const auto& sampling = s.launch.collect.sampling;
         return sampling.samples == CpuScope::kNobody && sampling.switches == CpuScope::kProcessTree;
       }},
      {"--backtrace=fp", [](auto& s) { return s.launch.collect.sampling.backtrace == CpuBacktrace::kFramePointers; }},
      {"-b dwarf --sampling-frequency=500", [](auto& s) { return s.launch.collect.sampling.hz == 500; }},
      {"--samples-per-backtrace=4", [](auto& s) { return s.launch.collect.sampling.samples_per_backtrace == 4; }},
      {"--gpu-metrics-devices=all", [](auto& s) { return s.launch.collect.gpu_metrics.devices == "all"; }},
      {"--gpu-metrics-frequency=200", [](auto& s) { return s.launch.collect.gpu_metrics.hz == 200; }},
      {"--python-backtrace=cuda", [](auto& s) { return s.launch.python_stacks; }},
      {"-t cuda,nvtx --python-backtrace=none", [](auto& s) { return !s.launch.python_stacks; }},
      {"-t cuda,nvtx",
       [](auto& s) {
         const auto& collect = s.launch.collect;
         return s.launch.python_stacks && collect.sampling.samples == CpuScope::kLaunchingElseTree &&
                collect.nvml_hz > 0 && collect.host_load_hz > 0;
       }},
      {"-t cuda,nvtx,osrt --only-trace",
       [](auto& s) {
         const auto& collect = s.launch.collect;
         return !s.launch.python_stacks && collect.sampling.samples == CpuScope::kNobody &&
                collect.sampling.switches == CpuScope::kNobody && collect.python.mode == PythonSampling::kOff &&
                collect.nvml_hz == 0 && collect.host_load_hz == 0;
       }},
      {"--only-trace --nvml=on -s process-tree",
       [](auto& s) {
         const auto& collect = s.launch.collect;
         return collect.nvml_hz > 0 && collect.host_load_hz == 0 && collect.sampling.samples == CpuScope::kProcessTree;
       }},
      {"--osrt-file-access=true", [](auto& s) { return s.launch.osrt_file_access; }},
      {"--trace=cuda-sw", [](auto& s) { return s.launch.trace_cuda && !s.launch.trace_nvtx; }},
      {"-t nccl", [](auto& s) { return !s.launch.trace_cuda && s.launch.trace_nvtx && s.launch.trace_nccl; }},
      {"-t nccl-proxy", [](auto& s) { return s.launch.trace_nccl && s.launch.trace_nccl_proxy; }},
      {"-t openmp,openacc", [](auto& s) { return s.launch.trace_openmp && s.launch.trace_openacc; }},
      {"-y 5", [](auto& s) { return s.capture.delay_ns == 5'000'000'000; }},
      {"--delay=5", [](auto& s) { return s.capture.delay_ns == 5'000'000'000; }},
      {"-d 10", [](auto& s) { return s.capture.duration_ns == 10'000'000'000 && s.capture.kill_signal == 0; }},
      {"--duration=10", [](auto& s) { return s.capture.duration_ns == 10'000'000'000; }},
      {"-d 10 --kill=sigterm", [](auto& s) { return s.capture.kill_signal == SIGTERM; }},
      {"-d 10 --kill sigkill", [](auto& s) { return s.capture.kill_signal == SIGKILL; }},
      {"-d 10 --kill=2", [](auto& s) { return s.capture.kill_signal == SIGINT; }},
      {"-c cudaProfilerApi", [](auto& s) { return s.capture.begin == "cudaProfilerApi"; }},
      {"--capture-range=cudaProfilerApi", [](auto& s) { return s.capture.begin == "cudaProfilerApi"; }},
      {"-c nvtx -p step@train", [](auto& s) { return s.capture.nvtx_range == "step@train"; }},
      {"--capture-range=nvtx --nvtx-capture=step", [](auto& s) { return s.capture.nvtx_range == "step"; }},
      {"-c cudaProfilerApi --capture-range-end=stop-shutdown",
       [](auto& s) { return s.capture.kill_signal == SIGTERM; }},
      {"-c cudaProfilerApi --capture-range-end=repeat:3", [](auto& s) { return s.capture.end == "repeat:3"; }},
      {"-c cudaProfilerApi --capture-range-end=none", [](auto& s) { return s.capture.end == "none"; }},
      {"-e A=1,B=2", [](auto& s) { return s.Has("A", "1") && s.Has("B", "2"); }},
      {"--env-var=A=1", [](auto& s) { return s.Has("A", "1"); }},
      {"-t osrt --osrt-backtrace-threshold=5000 --osrt-backtrace-depth 7 --osrt-backtrace-stack-size=6144",
       [](auto& s) { return s.Has("GPROF_OSRT_STACKS", "5000,7,6144"); }},
      {"--osrt-backtrace-depth=0", [](auto& s) { return !s.Has("GPROF_OSRT_STACKS", ""); }},
      {"-t osrt", [](auto& s) { return s.Has("GPROF_OSRT_STACKS", "80000,24,65536"); }},
      {"--cudabacktrace=all",
       [](auto& s) { return s.Has("GPROF_CUDA_STACKS", "kernel:80000,memory:80000,other:80000,sync:80000"); }},
      {"--cudabacktrace=kernel:1000,sync",
       [](auto& s) { return s.Has("GPROF_CUDA_STACKS", "kernel:1000,sync:80000"); }},
      {"--cudabacktrace none", [](auto& s) { return !s.Has("GPROF_CUDA_STACKS", ""); }},
      {"-w false", [](auto& s) { return s.launch.program_output == ProgramOutput::kHidden; }},
      {"--show-output=false", [](auto& s) { return s.launch.program_output == ProgramOutput::kHidden; }},
      {"--cuda-graph-trace=node", [](auto& s) { return s.launch.graph_trace == "node"; }},
      {"--cuda-graph-trace=graph", [](auto& s) { return s.launch.graph_trace == "graph"; }},
      {"--cuda-graph-trace=node:host-only", [](auto& s) { return s.launch.graph_trace == "node"; }},
      {"--cuda-memory-usage=true", [](auto& s) { return s.launch.memory_usage; }},
      {"--cuda-memory-usage true", [](auto& s) { return s.launch.memory_usage; }},
      {"--cuda-um-cpu-page-faults=true", [](auto& s) { return s.launch.managed_memory; }},
      {"--cuda-um-gpu-page-faults=true", [](auto& s) { return s.launch.managed_memory; }},
      {"--cuda-trace-all-apis=true", [](auto& s) { return s.launch.all_apis; }},
      {"--cuda-flush-interval=200", [](auto& s) { return s.launch.flush_ms == 200; }},
      {"--stats=true", [](auto& s) { return s.wants_more; }},
      {"--stats true", [](auto& s) { return s.wants_more; }},
      {"--export=sqlite", [](auto& s) { return s.wants_more; }},
      {"--export=sqlite,jsonlines,json", [](auto& s) { return s.wants_more; }},
      {"--process-scope=main", [](auto& s) { return !s.launch.trace_children; }},
  };
  return lines;
}

// What they ask for is so anyway.
constexpr const char* kSilentLines[] = {
    "--resolve-symbols=true",
    "-s none",
    "--sample=none",
    "--sample none",
    "--cpuctxsw=none",
    "--cpuctxsw none",
    "-b none",
    "--backtrace=none",
    "-x true",
    "--stop-on-exit=true",
    "--stop-on-exit true",
    "-w true",
    "--show-output=true",
    "--wait=primary",
    "-n true",
    "--inherit-environment=true",
    "-Y false",
    "--start-later=false",
    "--trace-fork-before-exec=true",
    "--trace-fork-before-exec=false",
    "--flush-on-cudaprofilerstop=true",
    "--flush-on-cudaprofilerstop=false",
    "--cuda-event-trace=false",
    "--cuda-event-trace=true",
    "--cuda-trace-scope=process-tree",
    "--process-scope=process-tree",
    "--discard-environment=true",
    "--mpi-impl=openmpi",
    "--stats=false",
    "--export=none",
    "-f false",
    "--cuda-memory-usage=false",
    "--cuda-flush-interval=0",
    "--cudabacktrace=none",
    "--cudabacktrace=false",
    "--python-backtrace=none",
    "--python-sampling=false",
    "--pytorch=none",
    "--dask=none",
    "--gpu-metrics-devices=none",
    "--gpu-metrics-device=none",
    "--gpuctxsw=false",
    "--gpu-video-device=none",
    "--nic-metrics=false",
    "--storage-metrics=none",
    "--osrt-file-access=false",
    "--resolve-symbols=false",
    "--show-source-info=false",
    "--syscall=none",
    "--ftrace=none",
    "--event-sample=none",
    "--cpu-core-metrics=none",
    "--opengl-gpu-workload=false",
    "--vulkan-gpu-workload=none",
    "--vsync=false",
    "--isr=false",
    "--enable=none",
    "--kill=none",
    "--capture-range=none",
};

struct Said {
  const char* line;
  const char* words;  // some of them
};

// The capture is still the one that was asked for, less what is named.
constexpr Said kWarningLines[] = {
    {"-t cuda,nvtx,opengl", "-t opengl: graphics and video APIs are not recorded"},
    {"-t cuda,nvtx,nvmedia", "-t nvmedia: only for embedded platforms"},
    {"--accelerator-trace=nvmedia", "--accelerator-trace=nvmedia: only for embedded platforms"},
    {"-t cuda,nvtx,mpi,oshmem", "-t oshmem: calls of OpenSHMEM"},
    {"-t cuda,nvtx,ucx,oshmem", "-t oshmem: calls"},
    {"-t cuda,nvtx,gds", "-t gds: storage"},
    {"-t cuda,nvtx,opengl,vulkan", "-t opengl, -t vulkan"},
    {"-t cuda-hw,nvtx", "-t cuda-hw: hardware-based tracing is not used"},
    {"--sample=system-wide", "--sample=system-wide: only processes of the run"},
    {"--sampling-period=100000", "--sampling-period=100000: the CPU is sampled by time"},
    {"--pytorch=autograd-nvtx,functions-trace:f.json", "--pytorch=functions-trace:f.json: no lists"},
    {"--dask=functions-trace", "--dask=functions-trace: frameworks"},
    {"--python-functions-trace=f.json", "NVTX ranges"},
    {"--gpu-metrics-device=0 --gpu-metrics-frequency=10000 --gpu-metrics-set=gh100",
     "--gpu-metrics-set=gh100: the sets are default"},
    {"--gpuctxsw=true", "--gpuctxsw=true: GPU context switches"},
    {"--nic-metrics=true", "--nic-metrics=true: network"},
    {"--ib-switch-metrics-device=1", "--ib-switch-metrics-device=1: network"},
    {"--storage-metrics=all", "--storage-metrics=all: storage"},
    {"--cpu-core-events=2", "--cpu-core-events=2: CPU hardware counters"},
    {"--os-events=1", "--os-events=1: Linux kernel events"},
    {"--ftrace=sched/sched_switch", "Linux kernel events"},
    {"--syscall=process-tree", "Linux kernel events"},
    {"--nccl-trace=all", "recorded by -t nccl"},
    {"--nvtx-domain-include=default", "all NVTX domains are recorded"},
    {"--nvtx-domain-exclude=default", "all NVTX domains are recorded"},
    {"--session-new=s1", "gprof-cli launch --session NAME"},
    {"-x false", "--stop-on-exit=false: recording ends with the program"},
    {"--stop-on-exit=false", "--stop-on-exit=false: recording ends with the program"},
    {"--wait=all", "--wait=all: profile returns when the program exits"},
    {"--cuda-trace-scope=system-wide", "only processes of the run"},
    {"--process-scope=system-wide", "only processes of the run"},
    {"--cuda-graph-trace=node:host-and-device", "graphs launched from the device"},
    {"--vulkan-gpu-workload=individual", "graphics"},
    {"--enable=network_interface", "plug-ins"},
};

constexpr Said kRefusedLines[] = {
    {"-t opengl", "CUDA work is recorded here; add cuda, nvtx, osrt, mpi, gemm or nccl to -t"},
    {"-t opengl,vulkan", "nothing to record"},
    {"-t cuda,nvxt", "did you mean nvtx?"},
    {"-Y true", "gprof-cli launch"},
    {"--start-later=true", "gprof-cli start"},
    {"-n false", "env -i"},
    {"--inherit-environment=false", "env -i"},
    {"--run-as=nobody", "sudo -u"},
    {"--command-file=options.txt", "$(cat FILE)"},
    {"-c hotkey", "--capture-signal SIGUSR1"},
    {"--hotkey-capture=F11", "--capture-signal SIGUSR1"},
    {"--duration-frames=100", "-c nvtx -p RANGE"},
    {"--start-frame-index=100", "-c nvtx -p RANGE"},
    {"--gpu-metrics-devices=help", "nvidia-smi -L"},
    {"--kill=sigterm", "add -d SEC"},
    {"-p step", "add -c nvtx"},
    {"--export=sqllite", "did you mean sqlite?"},
    {"--cuda-graph-trace=nodes", "graph, node or auto"},
    {"--cudabacktrace=kernels", "use kernel, memory, sync, other, all"},
    {"--cudabacktrace=sync:soon", "use kernel, memory, sync, other, all"},
    {"-t nvtx --cudabacktrace=all", "add cuda to -t"},
    {"-y 1 -c cudaProfilerApi", "cannot be combined"},
};

TEST(NsysOptions, WhatHasAMeaningHereIsTakenSilently) {
  for (const Taken& taken : TakenLines()) {
    const Settings settings = Read(taken.line);
    EXPECT_EQ(settings.refusal, "") << taken.line;
    EXPECT_EQ(settings.said, "") << taken.line;
    EXPECT_TRUE(taken.has_effect(settings)) << taken.line;
    EXPECT_EQ(settings.launch.command, (std::vector<std::string>{"./app", "--its", "own"})) << taken.line;
  }
}

TEST(NsysOptions, WhatIsSoAnywayIsIgnoredSilently) {
  const Settings usual = Read("");
  for (const char* const line : kSilentLines) {
    const Settings settings = Read(line);
    EXPECT_EQ(settings.refusal, "") << line;
    EXPECT_EQ(settings.said, "") << line;
    EXPECT_TRUE(settings == usual) << line;
  }
}

TEST(NsysOptions, WhatIsNotThereIsWarnedOfOnce) {
  const Settings usual = Read("");
  for (const Said& warning : kWarningLines) {
    const Settings settings = Read(warning.line);
    EXPECT_EQ(settings.refusal, "") << warning.line;
    EXPECT_NE(settings.said.find(warning.words), std::string::npos) << warning.line << ": " << settings.said;
    EXPECT_TRUE(settings.launch.trace_cuda && settings.launch.trace_nvtx) << warning.line;
    EXPECT_EQ(settings.launch.command, usual.launch.command) << warning.line;
    EXPECT_EQ(Read("-q " + std::string(warning.line)).said, "") << warning.line;
  }
}

TEST(NsysOptions, WhatIsTheSameIsOneWarning) {
  const std::string said = Read("-s process-tree -b lbr --resolve-symbols=true -t cuda,nvtx,opengl,vulkan").said;
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 2) << said;
}

TEST(NsysOptions, WhatCannotBeHadIsRefusedWithTheWayOut) {
  for (const Said& refusal : kRefusedLines) {
    EXPECT_NE(Read(refusal.line).refusal.find(refusal.words), std::string::npos)
        << refusal.line << ": " << Read(refusal.line).refusal;
  }
}

// Every row is spelled by a line above or taken with a value here, and does what it says.
TEST(NsysOptions, EveryOptionOfTheTableDoesWhatItSays) {
  CLI::App app;
  const CommandInfo* const profile = FindCommand("profile");
  const std::unique_ptr<Command> command = profile->make();
  PrepareApp(*profile, *command, app);
  for (const NsysOption& option : NsysOptions()) {
    const std::string name(option.LongName());
    EXPECT_NE(app.get_option_no_throw(name), nullptr) << name;
    if (option.meaning == NsysMeaning::kOurs) continue;
    EXPECT_FALSE(option.sentence.empty()) << name;
    const std::string value = option.IsFlag() ? option.IsSilent("true") ? "false" : "true" : "something";
    const Settings settings = Read(name + "=" + value);
    EXPECT_EQ(settings.refusal.empty(), option.meaning != NsysMeaning::kRefused) << name << settings.refusal;
    EXPECT_EQ(settings.said.find(option.sentence) != std::string::npos, option.meaning == NsysMeaning::kUnavailable)
        << name << ": " << settings.said;
  }
}

// Help shows what is ours and leaves out the rest.
TEST(NsysOptions, HelpHasWhatIsOurs) {
  const std::string help = RenderHelp(*FindCommand("profile"), HelpLength::kAll, Terminal{});
  const std::set<std::string> hidden = {"--process-scope"};
  for (const NsysOption& option : NsysOptions()) {
    const std::string name(option.LongName());
    const bool is_shown = option.meaning == NsysMeaning::kOurs && hidden.count(name) == 0;
    EXPECT_EQ(help.find(name + " ") != std::string::npos || help.find(name + "\n") != std::string::npos, is_shown)
        << name;
  }
}

TEST(NsysOptions, ThePageHasTheTables) {
  std::ifstream file(GPROF_SOURCE_DIR "/docs/coming-from/nsys.md");
  std::stringstream page;
  page << file.rdbuf();
  EXPECT_NE(page.str().find(NsysOptionsMarkdown()), std::string::npos)
      << "write it anew: tests/bin/nsys_doc --update docs/coming-from/nsys.md";
}

}  // namespace
}  // namespace gprof::cli

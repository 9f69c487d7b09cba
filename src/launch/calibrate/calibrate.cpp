#include "launch/calibrate/calibrate.h"

#include <ctime>
#include <fstream>
#include <sstream>

#include "base/machine/scratch_folder.h"
#include "gprof/error.h"
#include "launch/run/launch.h"

namespace gprof {
namespace {

MachineCalibration RunLoad(std::vector<std::string> command, const char* word, const std::string& graph_trace) {
  const ScratchFolder folder("calibrate");
  const std::string out = folder.path() + "/costs";
  command.insert(command.end(), {word, out});
  LaunchOptions options;
  options.command = std::move(command);
  options.output = folder.path() + "/run.trace";
  options.trace_osrt = options.trace_mpi = options.trace_gemm = false;
  options.graph_trace = graph_trace;
  options.capture.begin = "cudaProfilerApi";
  options.capture.end = "repeat";
  options.collect = CollectorOptions::None();
  options.is_quiet = true;
  options.program_output = ProgramOutput::kOnStderr;
  const LaunchResult result = RunTraced(options);
  std::ifstream in(out, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  MachineCalibration measured = ParseCalibration(text.str());
  if (result.exit_code != 0 || measured.costs.empty()) {
    throw Error(ExitCode::kUnreadable, "nothing was measured: the load exited with " + std::to_string(result.exit_code),
                "run gprof-cli doctor to see what does not work here");
  }
  return measured;
}

}  // namespace

MachineCalibration Calibrate(const std::vector<std::string>& load_command) {
  MachineCalibration result = RunLoad(load_command, "operations", "graph");
  for (const OperationCost& cost : RunLoad(load_command, "nodes", "node").costs) result.costs.push_back(cost);
  result.driver = ThisDriver();
  result.measured_unix_s = static_cast<int64_t>(std::time(nullptr));
  return result;
}

}  // namespace gprof

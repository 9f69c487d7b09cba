#include "launch/calibrate/machine_calibration.h"

#include <sys/utsname.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "base/text.h"
#include "gprof/error.h"
#include "gprof/trace/calibration_file.h"
#include "gprof/trace/env.h"
#include "launch/doctor/kernel_module.h"

namespace gprof {
namespace {

namespace file = trace::calibration_file;
namespace fs = std::filesystem;

std::string ReadText(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::string text(file::kMostBytes, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  return text;
}

// "NVIDIA H200" of every GPU of the machine; none where the driver does not tell, as in some containers.
std::set<std::string> GpuModels(const std::string& proc) {
  constexpr std::string_view kKey = "Model:";
  std::set<std::string> models;
  std::error_code ignored;
  for (const auto& gpu : fs::directory_iterator(proc + "/driver/nvidia/gpus", ignored)) {
    std::ifstream in(gpu.path() / "information");
    for (std::string line; std::getline(in, line);) {
      if (!line.starts_with(kKey)) continue;
      const std::size_t at = line.find_first_not_of(" \t", kKey.size());
      if (at != std::string::npos) models.insert(line.substr(at));
    }
  }
  return models;
}

trace::RecordedOperation OperationOf(const std::string& name) {
  const auto* const end = std::end(trace::kRecordedOperationNames);
  const auto* const at = std::find(std::begin(trace::kRecordedOperationNames), end, name);
  return at == end ? trace::RecordedOperation::kUnknown
                   : static_cast<trace::RecordedOperation>(at - std::begin(trace::kRecordedOperationNames));
}

std::string FileName(const MachineCalibration& calibration) {
  std::string name = calibration.machine + "-" + calibration.gpu + ".txt";
  std::replace_if(
      name.begin(), name.end(),
      [](unsigned char c) { return std::isalnum(c) == 0 && c != '-' && c != '.' && c != '_'; }, '_');
  return name;
}

}  // namespace

std::string ThisHost() {
  utsname host;
  return uname(&host) == 0 ? host.nodename : "";
}

std::string ThisDriver(const std::string& proc) {
  return KernelModuleVersion(ReadText(proc + "/driver/nvidia/version"));
}

std::string CostLine(const OperationCost& cost) {
  std::ostringstream line;
  line << trace::kRecordedOperationNames[static_cast<std::size_t>(cost.operation)] << ' ' << cost.threads << ' '
       << cost.call_ns << ' ' << cost.cold_call_ns << ' ' << cost.gpu_ns;
  return line.str();
}

std::string ToText(const MachineCalibration& calibration) {
  std::ostringstream text;
  text << file::kMachine << ' ' << calibration.machine << '\n'
       << file::kGpu << ' ' << calibration.gpu << '\n'
       << file::kDriver << ' ' << calibration.driver << '\n'
       << file::kMeasured << ' ' << calibration.measured_unix_s << '\n';
  for (const OperationCost& cost : calibration.costs) text << file::kCost << ' ' << CostLine(cost) << '\n';
  return text.str();
}

MachineCalibration ParseCalibration(const std::string& text) {
  MachineCalibration calibration;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::string word = line.substr(0, line.find(' '));
    const std::string value = line.size() > word.size() ? line.substr(word.size() + 1) : "";
    if (word == file::kMachine) calibration.machine = value;
    if (word == file::kGpu) calibration.gpu = value;
    if (word == file::kDriver) calibration.driver = value;
    if (word == file::kMeasured) calibration.measured_unix_s = std::strtoll(value.c_str(), nullptr, 10);
    if (word != file::kCost) continue;
    OperationCost cost;
    std::string name;
    std::istringstream numbers(value);
    numbers >> name >> cost.threads >> cost.call_ns >> cost.cold_call_ns >> cost.gpu_ns;
    cost.operation = OperationOf(name);
    if (numbers && cost.operation != trace::RecordedOperation::kUnknown) calibration.costs.push_back(cost);
  }
  return calibration;
}

std::string CalibrationFolder() {
  std::string state = EnvironmentText({"XDG_STATE_HOME"});
  if (state.empty() && !EnvironmentText({"HOME"}).empty()) state = EnvironmentText({"HOME"}) + "/.local/state";
  return state.empty() ? "" : state + "/gprof-cli/calibration";
}

std::string SaveCalibration(const MachineCalibration& calibration) {
  const std::string named = EnvironmentText({trace::env::kCalibration});
  const fs::path folder = named.empty() ? fs::path(CalibrationFolder()) : fs::absolute(named).parent_path();
  const fs::path path = named.empty() ? folder / FileName(calibration) : fs::absolute(named);
  const fs::path part = path.string() + ".part";
  std::error_code error;
  fs::create_directories(folder, error);
  std::ofstream out(part, std::ios::binary);
  out << ToText(calibration);
  out.close();
  if (out) fs::rename(part, path, error);
  if (!out || error) {
    throw Error(ExitCode::kUnreadable, "cannot write '" + path.string() + "'",
                "set GPROF_CALIBRATION to another file for the result");
  }
  return path.string();
}

std::string FindCalibration(const std::string& proc) {
  if (const char* const named = std::getenv(trace::env::kCalibration); named != nullptr)
    return *named == 0 ? "" : fs::absolute(named).string();
  const std::string host = ThisHost(), driver = ThisDriver(proc);
  const std::set<std::string> models = GpuModels(proc);
  std::string path;
  int64_t newest_unix_s = -1;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(CalibrationFolder(), ignored)) {
    if (entry.path().extension() != ".txt") continue;
    const MachineCalibration calibration = ParseCalibration(ReadText(entry.path()));
    if (calibration.machine != host || calibration.measured_unix_s <= newest_unix_s) continue;
    if (!models.empty() && models.count(calibration.gpu) == 0) continue;
    if (!driver.empty() && calibration.driver != driver) continue;
    newest_unix_s = calibration.measured_unix_s;
    path = fs::absolute(entry.path()).string();
  }
  return path;
}

}  // namespace gprof

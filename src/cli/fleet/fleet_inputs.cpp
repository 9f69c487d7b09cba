#include "cli/fleet/fleet_inputs.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <sstream>
#include <string_view>
#include <system_error>

#include "base/input_file.h"
#include "base/text.h"
#include "gprof/error.h"
#include "gprof/trace/rank_variables.h"
#include "import/kineto/kineto.h"
#include "trace/file/mapped_file.h"

namespace gprof::cli {
namespace {

namespace fs = std::filesystem;

bool EndsInOneOf(const std::string& path, std::initializer_list<std::string_view> endings) {
  return std::any_of(endings.begin(), endings.end(), [&](std::string_view end) { return path.ends_with(end); });
}

bool BeginsAsKineto(const std::string& path) {
  try {
    return IsKineto(MappedFile(path).bytes());
  } catch (const FileError&) {
    return true;  // The verdict names it as unreadable.
  }
}

std::vector<std::string> FilesOf(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.is_regular_file(error)) files.push_back(entry.path());
  }
  if (error) throw Error(ExitCode::kUnreadable, "cannot read folder '" + folder + "': " + error.message());
  return files;
}

// Where no name tells, contents do. Beside traces that have a name, other JSON may be an export of them.
void AddFolder(const std::string& folder, std::vector<std::string>* paths) {
  std::vector<std::string> traces, partials, others;
  for (const std::string& file : FilesOf(folder)) {
    if (EndsInOneOf(file, {".trace", ".pt.trace.json", ".pt.trace.json.gz"})) traces.push_back(file);
    if (EndsInOneOf(file, {".gpart"})) partials.push_back(file);
    if (EndsInOneOf(file, {".json", ".json.gz"})) others.push_back(file);
  }
  if (traces.empty()) std::copy_if(others.begin(), others.end(), std::back_inserter(traces), BeginsAsKineto);
  if (traces.empty() && partials.empty()) {
    throw Error(ExitCode::kUnreadable, "no traces in '" + folder + "'",
                "looked for *.trace, *.gpart, and *.json and *.json.gz of torch.profiler or Chrome");
  }
  paths->insert(paths->end(), traces.begin(), traces.end());
  paths->insert(paths->end(), partials.begin(), partials.end());
}

void AddList(const std::string& list, std::vector<std::string>* paths) {
  std::istringstream lines(ReadInputFile(list));
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty()) paths->push_back(line);
  }
}

std::optional<uint32_t> NumberOf(std::string_view text) {
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::string Job() {
  std::string job;
  for (const char* name : {"SLURM_JOB_ID", "SLURM_STEP_ID", "PMIX_NAMESPACE"}) {
    for (const char c : EnvironmentText({name})) {
      if (std::isalnum(static_cast<unsigned char>(c)) != 0) job += c;
    }
  }
  return job.empty() ? "job" : job;
}

}  // namespace

std::vector<std::string> FleetInputs(const std::vector<std::string>& words) {
  std::vector<std::string> paths;
  for (const std::string& word : words) {
    std::error_code error;
    if (fs::is_directory(word, error)) {
      AddFolder(word, &paths);
    } else if (word.ends_with(".txt")) {
      AddList(word, &paths);
    } else {
      paths.push_back(word);
    }
  }
  std::sort(paths.begin(), paths.end());
  paths.erase(std::unique(paths.begin(), paths.end()), paths.end());
  return paths;
}

Shard ReadShard(const std::string& text) {
  const size_t slash = text.find('/');
  if (slash != std::string::npos) {
    const auto index = NumberOf(std::string_view(text).substr(0, slash));
    const auto count = NumberOf(std::string_view(text).substr(slash + 1));
    if (index && count && *index < *count) return {*index, *count};
  }
  throw Error(ExitCode::kUsage, "--shard " + text + " is not I/N with I below N", "--shard 0/4 is the first of four");
}

std::vector<std::string> PathsOf(const Shard& shard, const std::vector<std::string>& paths) {
  std::vector<std::string> chosen;
  for (size_t i = shard.index; i < paths.size(); i += shard.count) chosen.push_back(paths[i]);
  return chosen;
}

MpiPlace FindMpiPlace() {
  const trace::Rank found = trace::FindRank();
  if (found.rank >= 0 && found.rank < found.world_size) {
    return {{static_cast<uint32_t>(found.rank), static_cast<uint32_t>(found.world_size)}, Job()};
  }
  throw Error(ExitCode::kUsage, "--engine mpi was not started by mpirun or srun",
              "mpirun -n 4 gprof-cli ranks TRACES --engine mpi -o FOLDER");
}

}  // namespace gprof::cli

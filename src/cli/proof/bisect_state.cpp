#include "cli/proof/bisect_state.h"

#include <algorithm>
#include <filesystem>

#include "base/input_file.h"
#include "base/json_style.h"
#include "cli/talk.h"
#include "gprof/error.h"

namespace gprof::cli {
namespace {

constexpr char kSchema[] = "gprof.bisect-state/1";

BisectState StateOf(const Json& json) {
  BisectState state;
  state.question = json.at("question");
  state.figure = json.at("figure");
  for (const Json& run : json.at("runs")) {
    state.runs.push_back({run.at("version"), run.at("value"), run.at("wall_ns"), run.at("trace")});
  }
  for (const Json& skip : json.at("skipped")) state.skipped.push_back({skip.at("version"), skip.at("why")});
  for (const Json& build : json.at("builds")) state.builds.push_back({build.at("version"), build.at("wall_ns")});
  return state;
}

}  // namespace

const BisectBuild* BisectState::BuildOf(uint32_t version) const {
  const auto found =
      std::find_if(builds.begin(), builds.end(), [&](const BisectBuild& build) { return build.version == version; });
  return found == builds.end() ? nullptr : &*found;
}

std::optional<BisectState> ReadBisectState(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return std::nullopt;
  try {
    const Json json = Json::parse(ReadInputFile(path));
    if (json.at("schema") == kSchema) return StateOf(json);
  } catch (const Json::exception&) {  // said below
  }
  throw Error(ExitCode::kUnreadable, "'" + path + "' is not the state of a bisection",
              "start over with --restart, or choose another folder with -o");
}

void WriteBisectState(const std::string& path, const BisectState& state) {
  Json runs = Json::array(), skipped = Json::array(), builds = Json::array();
  for (const BisectRun& run : state.runs) {
    runs.push_back({{"version", run.version}, {"value", run.value}, {"wall_ns", run.wall_ns}, {"trace", run.trace}});
  }
  for (const BisectSkip& skip : state.skipped) skipped.push_back({{"version", skip.version}, {"why", skip.why}});
  for (const BisectBuild& build : state.builds) {
    builds.push_back({{"version", build.version}, {"wall_ns", build.wall_ns}});
  }
  const Json json = {{"schema", kSchema}, {"question", state.question}, {"figure", state.figure},
                     {"runs", runs},      {"skipped", skipped},         {"builds", builds}};
  WriteFile(path, CompactText(json) + "\n");
}

}  // namespace gprof::cli

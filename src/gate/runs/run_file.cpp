#include "gate/runs/run_file.h"

#include <array>
#include <filesystem>
#include <limits>
#include <set>
#include <utility>

#include "base/input_file.h"
#include "base/json_style.h"
#include "gprof/error.h"
#include "gprof/version.h"

namespace gprof {
namespace {

constexpr std::string_view kFamily = "gprof.runs/";
constexpr std::array<std::pair<RunOutcome, std::string_view>, 3> kOutcomes = {{
    {RunOutcome::kGood, "good"},
    {RunOutcome::kFailed, "failed"},
    {RunOutcome::kInterrupted, "interrupted"},
}};

// Reads the values of one document; what is wrong is said with the place it stands at.
class Reader {
 public:
  explicit Reader(std::string path) : path_(std::move(path)) {}

  [[noreturn]] void Fail(const std::string& what) const {
    throw Error(ExitCode::kUnreadable, "'" + path_ + "' is not a valid run file: " + what,
                "create it with gprof-cli profile --repeat");
  }

  const Json& Member(const Json& object, const char* key, const std::string& place) const {
    if (!object.is_object()) Fail(place + " is not an object");
    const auto found = object.find(key);
    if (found == object.end()) Fail(place + " has no '" + key + "'");
    return *found;
  }

  int64_t Number(const Json& object, const char* key, const std::string& place, int64_t least, int64_t most) const {
    const Json& value = Member(object, key, place);
    // A number beyond int64 is unsigned in the parser's eyes and would wrap.
    const bool is_huge = value.is_number_unsigned() &&
                         value.get<uint64_t>() > static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
    const int64_t number = value.is_number_integer() && !is_huge ? value.get<int64_t>() : 0;
    if (!value.is_number_integer() || is_huge || number < least || number > most) {
      Fail("'" + std::string(key) + "' of " + place + " is not an integer from " + std::to_string(least) + " to " +
           std::to_string(most));
    }
    return number;
  }

  std::string Text(const Json& object, const char* key, const std::string& place) const {
    const Json& value = Member(object, key, place);
    if (!value.is_string()) Fail("'" + std::string(key) + "' of " + place + " is not a string");
    return value.get<std::string>();
  }

  // Relative to the folder of the document; null is empty.
  std::string Path(const Json& object, const char* key, const std::string& place) const {
    if (Member(object, key, place).is_null()) return {};
    const std::string text = Text(object, key, place);
    if (text.empty() || text.find('\0') != std::string::npos)
      Fail("'" + std::string(key) + "' of " + place + " is not a path");
    return (std::filesystem::path(path_).parent_path() / text).string();
  }

  bool Flag(const Json& object, const char* key, const std::string& place) const {
    const Json& value = Member(object, key, place);
    if (!value.is_boolean()) Fail("'" + std::string(key) + "' of " + place + " is neither true nor false");
    return value.get<bool>();
  }

  RunOutcome Outcome(const Json& object, const std::string& place) const {
    const std::string text = Text(object, "outcome", place);
    for (const auto& [outcome, name] : kOutcomes) {
      if (name == text) return outcome;
    }
    Fail("'outcome' of " + place + " is '" + text + "', not good, failed or interrupted");
  }

 private:
  std::string path_;
};

constexpr int64_t kMostRuns = 1'000'000;

RecordedRun ReadRun(const Reader& reader, const Json& json, const std::string& place) {
  RecordedRun run;
  run.trace = reader.Path(json, "trace", place);
  run.is_warm_up = reader.Flag(json, "warm_up", place);
  run.number = static_cast<uint32_t>(reader.Number(json, "number", place, 1, kMostRuns));
  run.order = static_cast<uint32_t>(reader.Number(json, "order", place, 1, 4 * kMostRuns));
  run.outcome = reader.Outcome(json, place);
  run.exit_code = static_cast<int>(reader.Number(json, "exit_code", place, 0, 255));
  run.signal = static_cast<int>(reader.Number(json, "signal", place, 0, 127));
  run.start_unix_ns = reader.Number(json, "start_unix_ns", place, 0, std::numeric_limits<int64_t>::max());
  run.wall_ns = reader.Number(json, "wall_ns", place, 0, std::numeric_limits<int64_t>::max());
  return run;
}

// A run that is there twice would count twice, and make figures surer than they are.
void RefuseRepeatedRuns(const Reader& reader, const RunFile& file) {
  std::set<std::string> traces;
  std::set<std::pair<bool, uint32_t>> numbers;
  for (const RecordedRun& run : file.runs) {
    if (!run.trace.empty() && !traces.insert(run.trace).second) {
      reader.Fail("two runs share the trace '" + run.trace + "'");
    }
    if (!numbers.emplace(run.is_warm_up, run.number).second) {
      reader.Fail(std::string("there are two ") + (run.is_warm_up ? "warm-up runs" : "runs") + " with number " +
                  std::to_string(run.number));
    }
  }
}

void CheckSchema(const Reader& reader, const Json& json, const std::string& path) {
  const std::string schema = reader.Text(json, "schema", "the document");
  if (schema == kRunFileSchema) return;
  if (schema.starts_with(kFamily)) {
    throw Error(ExitCode::kUnreadable,
                "'" + path + "' has schema " + schema + "; this gprof-cli reads " + std::string(kRunFileSchema),
                "use a newer gprof-cli");
  }
  reader.Fail("its schema is '" + schema + "', not " + std::string(kRunFileSchema));
}

Json Parsed(const Reader& reader, std::string_view text) {
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& error) {
    reader.Fail("invalid JSON at byte " + std::to_string(error.byte));
  } catch (const Json::exception&) {  // 1e400
    reader.Fail("a number in it is too large");
  }
}

// null for an empty path.
Json RelativeTo(const std::filesystem::path& folder, const std::string& path) {
  if (path.empty()) return nullptr;
  const std::filesystem::path relative = std::filesystem::path(path).lexically_normal().lexically_relative(
      folder.empty() ? std::filesystem::path(".") : folder.lexically_normal());
  return relative.empty() ? path : relative.string();
}

Json RunJson(const RecordedRun& run, const std::filesystem::path& folder) {
  std::string_view outcome;
  for (const auto& [each, name] : kOutcomes) {
    if (each == run.outcome) outcome = name;
  }
  return {{"trace", RelativeTo(folder, run.trace)},
          {"warm_up", run.is_warm_up},
          {"number", run.number},
          {"order", run.order},
          {"outcome", outcome},
          {"exit_code", run.exit_code},
          {"signal", run.signal},
          {"start_unix_ns", run.start_unix_ns},
          {"wall_ns", run.wall_ns}};
}

}  // namespace

RunFile ReadRunFile(const std::string& path) { return ParseRunFile(ReadInputFile(path), path); }

RunFile ParseRunFile(std::string_view text, const std::string& path) {
  const Reader reader(path);
  const Json json = Parsed(reader, text);
  const std::string place = "the document";
  CheckSchema(reader, json, path);
  RunFile file;
  file.path = path;
  file.label = reader.Text(json, "label", place);
  file.counterpart = reader.Path(json, "counterpart", place);
  file.planned_runs = static_cast<uint32_t>(reader.Number(json, "planned_runs", place, 0, kMostRuns));
  file.planned_warm_ups = static_cast<uint32_t>(reader.Number(json, "planned_warm_ups", place, 0, kMostRuns));
  const Json& command = reader.Member(json, "command", place);
  if (!command.is_array()) reader.Fail("'command' is not a list");
  for (const Json& word : command) {
    if (!word.is_string()) reader.Fail("'command' has an entry that is not a string");
    file.command.push_back(word.get<std::string>());
  }
  const Json& runs = reader.Member(json, "runs", place);
  if (!runs.is_array()) reader.Fail("'runs' is not a list");
  for (const Json& run : runs) {
    file.runs.push_back(ReadRun(reader, run, "runs[" + std::to_string(file.runs.size()) + "]"));
  }
  RefuseRepeatedRuns(reader, file);
  return file;
}

std::string RunFileText(const RunFile& file) {
  const std::filesystem::path folder = std::filesystem::path(file.path).parent_path();
  Json json = {{"schema", kRunFileSchema},
               {"gprof_cli", kVersion},
               {"label", file.label},
               {"counterpart", RelativeTo(folder, file.counterpart)},
               {"command", file.command},
               {"planned_runs", file.planned_runs},
               {"planned_warm_ups", file.planned_warm_ups},
               {"runs", Json::array()}};
  for (const RecordedRun& run : file.runs) json["runs"].push_back(RunJson(run, folder));
  // Arguments may be no UTF-8.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace gprof

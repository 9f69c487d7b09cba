#include "gate/runs/run_set.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>

#include "base/input_file.h"
#include "base/units.h"
#include "fleet/partial/partial_file.h"
#include "fleet/read_input.h"
#include "gate/baseline/baseline.h"
#include "gate/runs/measurement_json.h"
#include "gate/runs/report_document.h"
#include "gate/runs/run_file.h"
#include "gprof/error.h"
#include "import/read_trace.h"
#include "trace/file/file_kind.h"
#include "trace/reshape/merge.h"

namespace gprof {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kHowToName = "give traces, folders of traces, run files, baselines or JSON reports";

// Documents of ours begin with their schema, so that a look at the beginning of a file tells them from large captures.
std::string SchemaOf(const std::string& path) {
  constexpr std::size_t kLooked = 4096;
  const std::string head = StartOfInputFile(path, kLooked);
  const std::size_t brace = head.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  if (brace == std::string::npos || (head[brace] != '{' && head[brace] != '/')) return "";
  const std::size_t key = head.find("\"schema\"");
  if (key == std::string::npos) return "";
  std::size_t at = head.find_first_not_of(" \t\r\n", key + 8);
  if (at == std::string::npos || head[at] != ':') return "";
  at = head.find_first_not_of(" \t\r\n", at + 1);
  if (at == std::string::npos || head[at] != '"') return "";
  const std::size_t end = head.find('"', at + 1);
  const std::string schema = end == std::string::npos ? "" : head.substr(at + 1, end - at - 1);
  return schema.starts_with("gprof.") ? schema : "";
}

bool IsTraceFile(const std::string& path) { return StartOfInputFile(path, ChunkMagic().size()) == ChunkMagic(); }

struct FilesOfFolder {
  std::vector<std::string> traces, partials, run_files;
  int64_t others = 0;
};

FilesOfFolder FilesIn(const std::string& folder) {
  FilesOfFolder files;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (!at->is_regular_file(error)) continue;
    const std::string path = at->path().string();
    if (IsTraceFile(path)) {
      files.traces.push_back(path);
    } else if (IsPartialFile(path)) {
      files.partials.push_back(path);
    } else if (SchemaOf(path).starts_with("gprof.runs/")) {
      files.run_files.push_back(path);
    } else {
      ++files.others;
    }
  }
  if (error) throw Error(ExitCode::kUnreadable, "cannot read the folder '" + folder + "': " + error.message());
  return files;
}

class Loader {
 public:
  explicit Loader(const RunSetOptions& options) : options_(options) {}

  void AddPath(const std::string& path) {
    std::error_code error;
    if (!fs::exists(path, error)) {
      throw Error(ExitCode::kUnreadable, "no such file: '" + path + "'", std::string(kHowToName));
    }
    if (fs::is_directory(path, error)) return AddFolder(path);
    const std::string schema = SchemaOf(path);
    if (schema.empty()) return AddTrace(path);
    NoteFile(path);
    if (schema.starts_with("gprof.runs/")) return AddRunFile(ReadRunFile(path));
    if (schema.starts_with("gprof.baseline/")) return AddDocument(ParseBaseline(ReadInputFile(path), path).set.runs);
    if (schema.starts_with("gprof.report/")) return AddDocument({MeasurementOfReport(ReadInputFile(path), path)});
    throw Error(ExitCode::kUsage, "'" + path + "' holds no runs: it is of the kind " + schema,
                schema.starts_with("gprof.budget/") ? "use it with --budget" : std::string(kHowToName));
  }

  RunSet Finish(const std::vector<std::string>& paths) {
    if (!partials_.empty()) AddPartials();
    if (!traces_.empty())
      AddRun(traces_.size() == 1 ? std::move(traces_.front()) : MergeTraces(std::move(traces_)), merged_);
    if (set_.runs.empty()) {
      std::string why;
      for (const std::string& note : set_.notes) why += (why.empty() ? ": " : "; ") + note;
      throw Error(ExitCode::kInconclusive, "no runs to compare or check" + why, std::string(kHowToName));
    }
    set_.name = paths.front();
    if (paths.size() > 1) set_.name += " and " + std::to_string(paths.size() - 1) + " more";
    for (Measurement& run : set_.runs) {
      if (run.fingerprint.commit.empty()) run.fingerprint.commit = options_.commit;
    }
    return std::move(set_);
  }

 private:
  // A run that counts twice would make a set look surer than it is.
  void NoteFile(const std::string& path) {
    std::error_code error;
    if (!files_.insert(fs::weakly_canonical(path, error)).second && !error) {
      throw Error(ExitCode::kUsage, "'" + path + "' is given twice", "remove the duplicate");
    }
  }

  void AddTrace(const std::string& path) {
    NoteFile(path);
    if (options_.merges && IsPartialFile(path)) {
      partials_.push_back(path);
      return;
    }
    if (options_.merges) {
      traces_.push_back(ReadTrace(path));
      merged_.push_back(path);
    } else {
      Input input = ReadInput(path);
      CheckRanks(HeadOf(input));
      AddRun(std::move(input), {path});
    }
  }

  void AddPartials() {
    std::vector<std::string> all = merged_;
    all.insert(all.end(), partials_.begin(), partials_.end());
    RefuseMixture(all);
    AddRun(ReadPartials(partials_), {});
  }

  // Ranks that are taken for runs would be compared with each other.
  void CheckRanks(const TraceHead& trace) {
    std::set<int32_t> ranks;
    for (const Process& process : trace.processes) {
      if (process.rank >= 0 && process.world_size > 1) ranks.insert(process.rank);
    }
    if (ranks.empty()) return;
    if (ranks_.empty()) ranks_ = ranks;
    if (ranks == ranks_) return;
    throw Error(ExitCode::kUsage,
                "'" + trace.path + "' is of rank " + std::to_string(*ranks.begin()) + ", another trace of rank " +
                    std::to_string(*ranks_.begin()) + ": ranks, not repeated runs",
                "add --merge to treat them as ranks of one run");
  }

  void AddRun(Input input, std::vector<std::string> paths) {
    if (!options_.selection.IsEmpty()) {
      RequireRecords(input, "a selection");
      input = Select(std::get<Trace>(std::move(input)), options_.selection);
    }
    RefuseOptionsOfRecords(input, options_.analysis);
    Measurement run = std::visit([&](const auto& in) { return Measure(in, options_.analysis); }, input);
    run.selected = options_.selected;
    if (std::holds_alternative<Trace>(input)) run.traces = std::move(paths);
    if (options_.selection.time) run.is_exact = false;
    set_.runs.push_back(std::move(run));
  }

  // The run file of a folder knows more than the names in it: which runs are warm-up.
  void AddFolder(const std::string& folder) {
    FilesOfFolder files = FilesIn(folder);
    if (files.run_files.size() == 1) return AddPath(files.run_files.front());
    if (files.run_files.size() > 1) {
      throw Error(
          ExitCode::kUsage,
          "the folder '" + folder + "' holds " + CountOf(static_cast<int64_t>(files.run_files.size()), "run file"),
          "name the one to use: " + *std::min_element(files.run_files.begin(), files.run_files.end()));
    }
    if (files.traces.empty()) files.traces.swap(files.partials);
    const auto skipped = [&](int64_t count, const char* what, const char* why) {
      if (count > 0) set_.notes.push_back(CountOf(count, what) + " in " + folder + " skipped: " + why);
    };
    skipped(static_cast<int64_t>(files.partials.size()), "partial", "there are traces");
    skipped(files.others, "file", "not a trace");
    if (files.traces.empty()) set_.notes.push_back("no traces in the folder " + folder);
    std::sort(files.traces.begin(), files.traces.end());
    for (const std::string& path : files.traces) AddTrace(path);
  }

  void AddRunFile(const RunFile& file) {
    int64_t warm_ups = 0;
    for (const RecordedRun& run : file.runs) {
      if (run.is_warm_up) {
        ++warm_ups;
      } else if (run.outcome != RunOutcome::kGood) {
        set_.notes.push_back("run " + std::to_string(run.number) + " of " + file.path + " skipped: it " +
                             (run.outcome == RunOutcome::kFailed
                                  ? "failed with exit code " + std::to_string(run.exit_code)
                                  : "was interrupted"));
      } else if (run.trace.empty()) {
        set_.notes.push_back("run " + std::to_string(run.number) + " of " + file.path +
                             " skipped: its trace was not kept");
      } else {
        AddTrace(run.trace);
      }
    }
    if (warm_ups > 0) set_.notes.push_back(CountOf(warm_ups, "warm-up run") + " of " + file.path + " skipped");
  }

  void AddDocument(std::vector<Measurement> runs) {
    for (Measurement& run : runs) {
      if (run.selected != options_.selected) {
        throw Error(ExitCode::kUsage,
                    "'" + run.source + "' was measured " + PartOf(run.selected) + ", not " + PartOf(options_.selected),
                    "use the same filters, or give the trace itself");
      }
      set_.runs.push_back(std::move(run));
    }
  }

  static std::string PartOf(const std::string& selected) {
    return selected.empty() ? "as a whole" : "in part (" + selected + ")";
  }

  const RunSetOptions& options_;
  RunSet set_;
  std::set<fs::path> files_;
  std::set<int32_t> ranks_;            // of the first trace that has some
  std::vector<Trace> traces_;          // to be merged
  std::vector<std::string> merged_;    // their paths
  std::vector<std::string> partials_;  // to be joined
};

}  // namespace

RunSet LoadRunSet(const std::vector<std::string>& paths, const RunSetOptions& options) {
  if (paths.empty()) throw Error(ExitCode::kUsage, "no runs given", std::string(kHowToName));
  Loader loader(options);
  for (const std::string& path : paths) loader.AddPath(path);
  return loader.Finish(paths);
}

}  // namespace gprof

// gprof-cli ranks: all ranks of a run, and which of them hold up the others. docs/commands/ranks.md
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <variant>
#include <vector>

#include "base/machine/parallel.h"
#include "base/machine/scratch_folder.h"
#include "base/machine/thread_memory.h"
#include "base/terminal.h"
#include "base/text.h"
#include "cli/arguments/options.h"
#include "cli/commands/commands.h"
#include "cli/fleet/exact_round.h"
#include "cli/fleet/fleet_inputs.h"
#include "cli/fleet/fleet_workers.h"
#include "cli/pager.h"
#include "cli/recording/leftovers.h"
#include "cli/render/html_pages.h"
#include "cli/render/render_fleet.h"
#include "cli/render/report/render_report.h"
#include "cli/talk.h"
#include "cli/traces.h"
#include "fleet/partial/partial_file.h"
#include "fleet/read_input.h"
#include "html/page/report_page.h"

namespace gprof::cli {
namespace {

namespace fs = std::filesystem;

// Recipes of nsys, and the table that answers their question for all ranks.
struct Recipe {
  std::string_view name, table;
};
constexpr Recipe kRecipes[] = {{"nccl_sum", "collectives"},
                               {"nccl_gpu_time_util_map", "ranks"},
                               {"cuda_gpu_time_util_map", "ranks"},
                               {"mpi_gpu_time_util_map", "spread"},
                               {"gpu_gaps", "spread"},
                               {"cuda_gpu_kern_sum", "kernels"},
                               {"cuda_gpu_kern_pace", "kernels"},
                               {"cuda_gpu_mem_size_sum", "copies"},
                               {"nvtx_gpu_proj_sum", "ranges"},
                               {"cuda_api_sum", "api_calls"},
                               {"mpi_event_sum", "mpi_calls"}};

std::vector<std::string> RecipeNames() {
  std::vector<std::string> names;
  for (const Recipe& recipe : kRecipes) names.emplace_back(recipe.name);
  return names;
}

constexpr uint32_t kTextRowsOfRanks = 16, kRowsOfReport = 10;
constexpr size_t kWordsRepeated = 3;
constexpr size_t kReasonsTold = 3;
constexpr auto kPollInterval = std::chrono::milliseconds(20);

class RanksCommand : public Command {
 public:
  void AddOptions(CLI::App& app) override {
    app.add_option("INPUT", words_, "traces and partials, folders of them, or a .txt file with one path per line")
        ->type_name("");
    app.add_option("--engine", engine_,
                   "where the work runs: in processes on this machine (local, default), in those started by mpirun or "
                   "srun (mpi), or on dask or ray workers")
        ->type_name("local|mpi|dask|ray")
        ->check(OneOf({"local", "mpi", "dask", "ray"}))
        ->group("Engine");
    app.add_option("--workers", workers_, "parallel processes (default: the cores of this machine; mpi: 1)")
        ->type_name("N")
        ->check(WholeNumber(1, 4096))
        ->group("Engine");
    app.add_option("--cluster", cluster_,
                   "with dask and ray: workers of this scheduler instead of new ones on this machine")
        ->type_name("ADDRESS")
        ->group("Engine");
    app.add_option("--timeout", timeout_s_, "with mpi: how long the first process waits for the others (default 600)")
        ->type_name("SECONDS")
        ->check(WholeNumber(1, 1'000'000))
        ->group("Engine");
    app.add_flag("--exact", is_exact_, "read the traces a second time, for exact percentiles of kernels")
        ->group("Engine");
    app.add_flag("--full", is_full_, "all findings and tables instead of the one-page summary")->group("Display");
    app.add_option("--rows", rows_, "maximum rows per table (default 16; html: 1000); 0 for all")
        ->type_name("N")
        ->check(WholeNumber(0, UINT32_MAX))
        ->group("Display");
    app.add_option("--recipe", recipe_, "only the table that answers this recipe of nsys, for all ranks")
        ->type_name("NAME")
        ->check(OneOf(RecipeNames()))
        ->group("Display");
    app.add_option("-r,--rule", rule_, "of nsys analyze, which is another command")->group("");
    AddPagerOption(app);
    app.add_option("--format", format_, "text (default), json, or html (self-contained page with a heat map)")
        ->type_name("text|json|html")
        ->check(OneOf({"text", "json", "html"}))
        ->group("Output");
    app.add_option(
           "-o,--output", output_,
           "also write the result as a partial (.gpart); with --format html: the page; with mpi: a folder visible "
           "to all processes (required)")
        ->type_name("FILE")
        ->group("Output");
    AddMemoryLimitOption(app);
  }

  int Run() override {
    if (words_.empty()) throw Error(ExitCode::kUsage, "no input given", "usage: gprof-cli ranks INPUT... [options]");
    if (!rule_.empty()) {
      throw Error(ExitCode::kUsage, "ranks compares ranks and has no rules",
                  "findings of the rules of nsys analyze: gprof-cli report " + ShellQuoted(words_.front()));
    }
    if (is_exact_ && engine_ != "local") {
      throw Error(ExitCode::kUsage, "--exact works with --engine local only", "use it with the partials afterwards");
    }
    if (format_ == "html") RequirePage(PagePath());
    SeparateMemoryOfThreads();  // which read the summaries of all ranks
    RecoverEarlierRuns();
    const std::vector<std::string> paths = FleetInputs(words_);
    if (engine_ == "mpi") {
      const std::optional<std::string> all = RunMpi(paths);
      return all ? Print(*all, paths) : CodeOf(ExitCode::kGood);
    }
    const std::string all = Summarize(paths, workers_ > 0 ? workers_ : UsableCores());
    if (KeepsPartial()) WriteFile(output_, all);
    return Print(all, paths);
  }

 private:
  bool KeepsPartial() const {
    return !output_.empty() && (format_ != "html" || engine_ == "mpi" || IsPartial(output_));
  }

  // Of the inputs those that are partials already are taken as they are.
  std::string Summarize(const std::vector<std::string>& paths, std::size_t workers) const {
    std::vector<std::string> traces, partials;
    for (const std::string& path : paths) (IsPartial(path) ? partials : traces).push_back(path);
    const ScratchFolder folder("ranks");
    if (!traces.empty() && (engine_ == "dask" || engine_ == "ray")) {
      partials.push_back(folder.path() + "/made.gpart");
      WriteFile(partials.back(), MakeWithPython(traces, engine_, workers, cluster_));
    } else {
      WorkerOptions options;
      options.workers = workers;
      // A partial among the inputs may be of the same ranks: what is the same must have the same bytes.
      options.keeps_results = KeepsPartial() || !partials.empty();
      const std::vector<std::string> made = MakePartials(traces, folder.path(), options);
      partials.insert(partials.end(), made.begin(), made.end());
    }
    return MergeFiles(partials);
  }

  int Print(const std::string& all, const std::vector<std::string>& paths) const {
    std::vector<RankSummary> summaries = ReadPartial(all, "the partial of all ranks");
    // The page has room for more rows, and sorts and filters them.
    const uint32_t rows = rows_.value_or(format_ == "html" ? kPageRows : kTextRowsOfRanks);
    FleetVerdict verdict = JudgeFleet(&summaries, rows);
    RequireRanks(verdict);
    if (is_exact_) {
      verdict = JudgeFleet(&summaries, rows, SearchExactly(verdict, paths, workers_ > 0 ? workers_ : UsableCores()));
    }
    KeepTable(&verdict);
    if (format_ == "text" && recipe_.empty() && paths.size() == 1 && IsAlone(verdict)) return Report(paths.front());
    if (format_ == "html") {
      WritePageTo(PagePath(), PageOfRanks(verdict, paths));
    } else {
      WritePaged(format_ == "json" ? VerdictJson(verdict) : Text(verdict));
    }
    return CodeOf(ExitCode::kGood);
  }

  static bool IsAlone(const FleetVerdict& verdict) { return verdict.ranks.size() == 1 && verdict.missing.empty(); }

  // Of one rank that nobody misses.
  static int Report(const std::string& path) {
    Say("one rank has nobody to be compared with: this is its report");
    std::vector<TraceSummary> one;
    const Input input = LoadInput({path}, &one);
    std::vector<const Analysis*> analyses;
    for (const Analysis& analysis : AllAnalyses()) analyses.push_back(&analysis);
    const gprof::Report report = std::visit(
        [&](const auto& read) { return RunAnalyses(read, analyses, {.max_rows = kRowsOfReport, .is_brief = true}); },
        input);
    WritePaged(RenderReportText(report, DetectTerminal(STDOUT_FILENO)));
    return CodeOf(ExitCode::kGood);
  }

  // As it was typed.
  std::string InputText() const {
    std::vector<std::string> words;
    for (const std::string& word : words_) words.push_back(ShellQuoted(word));
    return words.size() > kWordsRepeated ? words.front() + " ..." : Joined(words, " ");
  }

  // Of nobody there is nothing to say but why.
  static void RequireRanks(const FleetVerdict& verdict) {
    if (!verdict.ranks.empty()) return;
    const size_t count = verdict.unreadable.size();
    std::string why = count == 0   ? "there are no ranks in the input"
                      : count == 1 ? ""
                                   : "none of the " + std::to_string(count) + " traces can be read: ";
    for (size_t i = 0; i < std::min(count, kReasonsTold); ++i)
      why += (i > 0 ? "; " : "") + verdict.unreadable[i]->unreadable;
    if (count > kReasonsTold) why += "; and so on";
    throw Error(ExitCode::kUnreadable, why, "check the names; 'gprof-cli profile -o FILE -- APP' writes a trace");
  }

  void KeepTable(FleetVerdict* verdict) const {
    for (const Recipe& recipe : kRecipes) {
      if (recipe.name != recipe_) continue;
      std::erase_if(verdict->tables, [&](const Table& table) { return table.id != recipe.table; });
    }
  }

  std::string Text(const FleetVerdict& verdict) const {
    const Terminal terminal = DetectTerminal(STDOUT_FILENO);
    if (recipe_.empty()) {
      const bool is_full = is_full_ || rows_.has_value();
      return is_full ? RenderFleetText(verdict, terminal) : RenderFleetBriefly(verdict, InputText(), terminal);
    }
    if (verdict.tables.empty()) Say("no rank has events for " + recipe_);
    return RenderFleetTables(verdict, terminal);
  }

  static bool IsPartial(const std::string& path) { return path.ends_with(".gpart"); }

  // Empty for standard output.
  std::string PagePath() const {
    if (engine_ == "mpi") return output_ + "/all.html";
    return IsPartial(output_) ? "" : output_;
  }

  // Each process leaves the partial of its share in the folder. The first one waits for all and joins them; the others
  // have no result.
  std::optional<std::string> RunMpi(const std::vector<std::string>& paths) const {
    const MpiPlace place = FindMpiPlace();
    if (output_.empty()) {
      throw Error(ExitCode::kUsage, "--engine mpi needs a folder visible to all processes", "add -o FOLDER");
    }
    std::error_code error;
    fs::create_directories(output_, error);
    if (error) throw Error(ExitCode::kUnreadable, "cannot make folder '" + output_ + "': " + error.message());
    const std::string own = PartOf(place, place.shard.index);
    fs::remove(own, error);  // of an earlier run
    WriteFile(own, Summarize(PathsOf(place.shard, paths), std::max<std::size_t>(workers_, 1)));
    if (place.shard.index != 0) return std::nullopt;
    std::vector<std::string> parts;
    for (uint32_t i = 0; i < place.shard.count; ++i) parts.push_back(PartOf(place, i));
    WaitFor(parts);
    std::string all = MergeFiles(parts);
    WriteFile(output_ + "/all.gpart", all);
    for (const std::string& part : parts) fs::remove(part, error);
    return all;
  }

  std::string PartOf(const MpiPlace& place, uint32_t index) const {
    return output_ + "/part-" + place.job + "-" + std::to_string(index) + "-of-" + std::to_string(place.shard.count) +
           ".gpart";
  }

  void WaitFor(const std::vector<std::string>& parts) const {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(timeout_s_);
    for (const std::string& part : parts) {
      std::error_code error;
      while (!fs::exists(part, error)) {
        if (std::chrono::steady_clock::now() > until) {
          throw Error(ExitCode::kUnreadable,
                      "'" + part + "' did not arrive within " + std::to_string(timeout_s_) + " s",
                      "a process has died or is still working: see its messages, or set a longer --timeout");
        }
        std::this_thread::sleep_for(kPollInterval);
      }
    }
  }

  std::vector<std::string> words_;
  std::string recipe_, rule_;
  std::string engine_ = "local", format_ = "text", cluster_, output_;
  bool is_exact_ = false, is_full_ = false;
  std::optional<uint32_t> rows_;
  uint32_t workers_ = 0, timeout_s_ = 600;
};

}  // namespace

std::unique_ptr<Command> MakeRanks() { return std::make_unique<RanksCommand>(); }

}  // namespace gprof::cli

// The list of commands. A new one is a file cmd_<name>.cpp, a line in commands.h, an entry here and a page in
// docs/commands.
#include "cli/commands/commands.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "cli/commands/command.h"

namespace gprof::cli {
namespace {

constexpr std::array kCommands = {
    CommandInfo{"profile", "run a program and record what it does on the GPU", "[options] [--] APP [ARGS...]",
                "gprof-cli profile ./app --size 100\n"
                "gprof-cli profile -o 'run-%h-%p.trace' python train.py\n"
                "gprof-cli profile -t nvtx -f -o cpu.trace ./app\n"
                "gprof-cli profile --compress python train.py\n"
                "gprof-cli profile --repeat 5 --warmup 1 ./app",
                true, MakeProfile, true, CommandGroup::kRecord,
                "-o -f --stats -t --cuda-graph-trace --cuda-memory-usage --pytorch -s --gpu-metrics-devices -y -d -c "
                "-p --repeat -e -q"},
    CommandInfo{"counters", "measure the kernels of a program with hardware counters", "[options] [--] [APP [ARGS...]]",
                "gprof-cli counters ./app\n"
                "gprof-cli counters --set full -k saxpy -c 1 ./app\n"
                "gprof-cli counters --dry-run --set full --chip GH100",
                true, MakeCounters, false, CommandGroup::kRecord},
    CommandInfo{"report", "report where the time went and why the GPU was idle", "TRACE... [options]",
                "gprof-cli report run.trace\n"
                "gprof-cli report run.trace --only idle,kernels --rows 5\n"
                "gprof-cli report run.trace --format brief\n"
                "gprof-cli report run.trace --format json -o report.json\n"
                "gprof-cli report run.trace --format html -o report.html",
                false, MakeReport, false, CommandGroup::kRead},
    CommandInfo{"explain", "show the numbers behind one finding, and how to check them", "TRACE FINDING [options]",
                "gprof-cli explain run.trace memcpy.pageable\n"
                "gprof-cli explain run.trace 1 --format json\n"
                "gprof-cli explain run.trace cpu_samples",
                false, MakeExplain, false, CommandGroup::kRead},
    CommandInfo{"query", "query the records of a trace with SQL", "TRACE 'SELECT ...' [options]",
                "gprof-cli query run.trace 'SELECT device, sum(duration_ns) FROM gpu_gap GROUP BY device'\n"
                "gprof-cli query --schema\n"
                "gprof-cli query run.trace --schema kernel",
                false, MakeQuery, false, CommandGroup::kMore},
    CommandInfo{"tree", "show GPU time by module, operator and kernel, and idle time by cause and line",
                "TRACE [options]",
                "gprof-cli tree run.trace\n"
                "gprof-cli tree run.trace --plain --only idle --least 5",
                false, MakeTree},
    CommandInfo{"requests", "say what requests of an LLM server waited for, and why tokens were late",
                "TRACE [options]",
                "gprof-cli requests run.trace\n"
                "gprof-cli requests run.trace --request cmpl-42\n"
                "gprof-cli requests run.trace --format json",
                false, MakeRequests},
    CommandInfo{"mcp", "serve these answers to an agent (Model Context Protocol, stdio)", "[options]",
                "gprof-cli mcp\n"
                "gprof-cli mcp --allow-record",
                false, MakeMcp},
    CommandInfo{"stats", "print the summary tables that nsys stats prints", "TRACE... [options]",
                "gprof-cli stats run.trace\n"
                "gprof-cli stats run.trace --report cuda_gpu_kern_sum --format csv",
                false, MakeStats},
    CommandInfo{"view", "view the report and the timeline in a browser", "TRACE... [options]",
                "gprof-cli view run.trace\n"
                "gprof-cli view run.trace --port 8080\n"
                "gprof-cli view run.trace --perfetto",
                false, MakeView, false, CommandGroup::kRead},
    CommandInfo{"check", "check runs against a performance budget", "TRACE... --budget FILE [options]",
                "gprof-cli check run.trace --init perf-budget.json\n"
                "gprof-cli check run.trace --budget perf-budget.json\n"
                "gprof-cli check runs/ --budget perf-budget.json --baseline main\n"
                "gprof-cli check run.trace --fail-if 'gpu.idle_percent > 20'",
                false, MakeCheck, false, CommandGroup::kCompare},
    CommandInfo{"diff", "compare runs: what got faster or slower, and why", "BASE NEW [options]",
                "gprof-cli diff before.trace after.trace\n"
                "gprof-cli diff before.trace after.trace --nvtx train/step --only kernels\n"
                "gprof-cli diff runs-old/ runs-new/ --min-change 3% --and 100us\n"
                "gprof-cli diff main run.trace --format json -o diff.json\n"
                "gprof-cli diff before.trace after.trace --format html -o diff.html",
                false, MakeDiff, false, CommandGroup::kCompare},
    CommandInfo{"baseline", "manage the baselines that runs are compared with",
                "save|list|show|accept|history [NAME] [TRACE...] [options]",
                "gprof-cli baseline save main runs/\n"
                "gprof-cli baseline accept main runs/ --reason 'batches are twice as large'\n"
                "gprof-cli baseline show main\n"
                "gprof-cli baseline history main nightly/*.json",
                false, MakeBaseline, false, CommandGroup::kMore},
    CommandInfo{"compare", "run two programs alternately and compare them statistically",
                "[options] -- BASE [ARGS...] ::: NEW [ARGS...]",
                "gprof-cli compare -- ./app-main --size 100 ::: ./app --size 100\n"
                "gprof-cli compare -n 20 --warmup 2 -o traces -- ./app ::: env FAST=1 ./app",
                true, MakeCompare, false, CommandGroup::kCompare,
                "-n --warmup --separator -o -f --format --summary --step --nvtx --only --min-change --fail-on"},
    CommandInfo{"what-if", "measure what a faster launch, copy, range or kernel would be worth",
                "[options] [--] APP [ARGS...]",
                "gprof-cli what-if python train.py\n"
                "gprof-cli what-if --of 'range:load,kernel:gemm' --progress step ./app",
                true, MakeWhatIf, false, CommandGroup::kCompare, "--of --progress -n --seed -f -o"},
    CommandInfo{"try", "run a program with changes that need no source, and say which help",
                "[options] [--all|CHANGE...] -- APP [ARGS...]",
                "gprof-cli try -- python train.py\n"
                "gprof-cli try -n 20 huge-pages tf32 -- ./app --size 100\n"
                "gprof-cli try --set OMP_NUM_THREADS=4 --set OMP_NUM_THREADS=8 -- ./app",
                true, MakeTry, false, CommandGroup::kCompare},
    CommandInfo{"bisect", "find the commit, package or setting that made a program slower",
                "--good A --bad B [options] -- APP [ARGS...]",
                "gprof-cli bisect --good v1.0 --bad main --build 'make -j8' -- ./app --size 100\n"
                "gprof-cli bisect --good HEAD~20 --metric kernels.count -- python train.py\n"
                "gprof-cli bisect --of packages --good old.txt --bad new.txt "
                "--apply 'pip install -r \"$BISECT_FILE\"' -- python train.py",
                true, MakeBisect, false, CommandGroup::kCompare},
    CommandInfo{"ranks", "find the ranks of a large run that hold up the others", "INPUT... [options]",
                "gprof-cli ranks traces/\n"
                "gprof-cli ranks all.gpart --format json\n"
                "mpirun -n 4 gprof-cli ranks traces/ --engine mpi -o parts/",
                false, MakeRanks, false, CommandGroup::kMany},
    CommandInfo{"partial", "summarise traces for ranks and merge", "TRACE... -o FILE.gpart [options]",
                "gprof-cli partial rank3.trace -o rank3.gpart\n"
                "gprof-cli partial traces/ --shard 0/4 -o first.gpart",
                false, MakePartial},
    CommandInfo{"merge", "merge partials of many ranks", "PARTIAL... -o FILE.gpart",
                "gprof-cli merge rank*.gpart -o all.gpart", false, MakeMerge},
    CommandInfo{"export", "convert a trace for other tools: Perfetto, chrome://tracing, scripts",
                "TRACE --format F [options]",
                "gprof-cli export run.trace --format perfetto\n"
                "gprof-cli export run.trace -o run.json.gz\n"
                "gprof-cli export run.trace -o - --format chrome --time-range 1s:2s > part.json",
                false, MakeExport, false, CommandGroup::kRead},
    CommandInfo{"arrays", "answer questions of the Python module about a trace", "[TRACE]",
                "gprof-cli arrays run.trace", false, MakeArrays},
    CommandInfo{"trace", "look into a trace: its contents, every record, function names",
                "info|dump|symbolize TRACE [options]",
                "gprof-cli trace info run.trace\n"
                "gprof-cli trace dump run.trace --kind kernel",
                false, MakeTrace},
    CommandInfo{"info", "show processes, GPUs, record counts and data quality of a trace", "TRACE [options]",
                "gprof-cli info run.trace", false, MakeInfo},
    CommandInfo{"dump", "print every record of a trace as text", "TRACE [options]",
                "gprof-cli dump run.trace\n"
                "gprof-cli dump run.trace --kind kernel,memcpy",
                false, MakeDump},
    CommandInfo{"symbolize", "resolve function names of CPU samples from separate debug files", "TRACE [options]",
                "gprof-cli symbolize run.trace\n"
                "gprof-cli symbolize run.trace --debug-dir ./debug -o named.trace\n"
                "gprof-cli symbolize run.trace --debuginfod",
                false, MakeSymbolize},
    CommandInfo{"attach", "record a program that runs already (experimental)", "PID|--name TEXT [options]",
                "gprof-cli attach --experimental 4711 -d 5\n"
                "gprof-cli attach --experimental --name serve.py -o serve.trace\n"
                "gprof-cli attach --experimental 4711 --children -o job.trace",
                false, MakeAttach},
    CommandInfo{"detach", "end the recording of a program that was attached to", "PID", "gprof-cli detach 4711", false,
                MakeDetach},
    CommandInfo{"env", "print what prepares programs for being attached to without ptrace", "[options]",
                "eval \"$(gprof-cli env)\"\n"
                "gprof-cli env --format docker >> Dockerfile",
                false, MakeEnv},
    CommandInfo{"record", "record a program always, and keep its last seconds", "[options] [--] APP [ARGS...]",
                "gprof-cli record --keep 30s python serve.py\n"
                "gprof-cli record --on-slow-step train_step:2 --on-idle 500ms python train.py\n"
                "gprof-cli record --budget 1% --on-signal SIGUSR1 ./server",
                true, MakeRecord, true, CommandGroup::kRecord,
                "--keep --memory --budget --name -o --on-exit --on-error --on-slow-step --on-idle --on-hang "
                "--on-signal --on-file --cooldown --most -t -q"},
    CommandInfo{"snapshot", "write down what a recorder has kept", "[RECORDER] [options]",
                "gprof-cli snapshot\n"
                "gprof-cli snapshot 4711 -o slow.trace",
                false, MakeSnapshot},
    CommandInfo{"top", "show what a recorded program does right now", "[RECORDER] [options]",
                "gprof-cli top\n"
                "gprof-cli top --interval 5s --format jsonl > top.jsonl",
                false, MakeTop, false, CommandGroup::kMore},
    CommandInfo{"serve", "serve metrics, profiles and snapshots of recorded programs over HTTP", "[options]",
                "gprof-cli serve\n"
                "gprof-cli serve --listen 0.0.0.0:9464 --token-file /run/secrets/gprof",
                false, MakeServe},
    CommandInfo{"launch", "start a program with tracing paused; capture with start and stop",
                "[options] [--] APP [ARGS...]",
                "gprof-cli launch ./server\n"
                "gprof-cli launch --session train -t nvtx python train.py",
                true, MakeLaunch, true, CommandGroup::kMore, "--session --compress -t -e -q"},
    CommandInfo{"start", "start a capture of a launched program", "[options]",
                "gprof-cli start\n"
                "gprof-cli start --session train -o 'train-%n.trace'",
                false, MakeStart},
    CommandInfo{"stop", "end the capture and summarise it", "[options]", "gprof-cli stop", false, MakeStop},
    CommandInfo{"cancel", "end the capture and discard it", "[options]", "gprof-cli cancel", false, MakeCancel},
    CommandInfo{"status", "list the sessions and their state", "[options]",
                "gprof-cli status\n"
                "gprof-cli status --format json",
                false, MakeStatus},
    CommandInfo{"shutdown", "end a session and its program", "[options]",
                "gprof-cli shutdown\n"
                "gprof-cli shutdown --session train --kill none",
                false, MakeShutdown},
    CommandInfo{"monitor", "watch the GPUs of this machine", "[options]",
                "gprof-cli monitor\n"
                "gprof-cli monitor --interval 0.5 --format jsonl > gpus.jsonl\n"
                "gprof-cli monitor --format prometheus --port 9835",
                false, MakeMonitor},
    CommandInfo{"doctor", "check whether recording works on this machine", "[options]",
                "gprof-cli doctor\n"
                "gprof-cli doctor --format json",
                false, MakeDoctor, false, CommandGroup::kRecord},
    CommandInfo{"help", "explain a command", "[COMMAND]", "gprof-cli help profile", false, MakeHelp},
    CommandInfo{"completion", "print a shell completion script", "bash|zsh|fish",
                "source <(gprof-cli completion bash)\n"
                "gprof-cli completion fish > ~/.config/fish/completions/gprof-cli.fish",
                false, MakeCompletion},
    CommandInfo{"version", "print the version", "", "", false, MakeVersion},
};

}  // namespace

std::span<const CommandInfo> AllCommands() { return kCommands; }

const CommandInfo* FindCommand(std::string_view name) {
  if (name == "analyze") name = "ranks";  // what it was called
  const auto found = std::find_if(kCommands.begin(), kCommands.end(), [name](const auto& c) { return c.name == name; });
  return found == kCommands.end() ? nullptr : &*found;
}

std::string_view NearestCommand(std::string_view word) {
  // What other profilers call it.
  constexpr std::pair<std::string_view, std::string_view> kOtherNames[] = {
      {"run", "profile"},  {"trace", "profile"},   {"summary", "report"}, {"analyse", "report"},
      {"ui", "view"},      {"html", "view"},       {"open", "view"},      {"timeline", "view"},
      {"recipe", "ranks"}, {"sessions", "status"}, {"convert", "export"}, {"metrics", "counters"}};
  for (const auto& [name, ours] : kOtherNames) {
    if (word == name) return ours;
  }
  std::vector<std::string> names;
  for (const CommandInfo& command : kCommands) names.emplace_back(command.name);
  const CommandInfo* const nearest = FindCommand(Nearest(word, names));
  return nearest == nullptr ? std::string_view() : nearest->name;
}

}  // namespace gprof::cli

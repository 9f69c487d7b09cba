#include "collect/host/seen_processes.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "collect/run/arenas.h"
#include "collect/run/open_proc_file.h"
#include "collect/run/own_process.h"
#include "gprof/trace/record.h"
#include "gprof/trace/seen_process.h"
#include "trace/write/chunk_writer.h"
#include "trace/write/dictionary.h"

namespace gprof {
namespace {

constexpr std::size_t kParentField = 4;
constexpr int64_t kYoungNs = 1'000'000'000;

std::string HostName() {
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  return name;
}

}  // namespace

SeenProcesses::Key SeenProcesses::KeyOf(pid_t pid) const {
  const ProcFile stat(proc_ + "/" + std::to_string(pid) + "/stat");
  return {pid, static_cast<uint64_t>(StatField(BehindName(stat.Read()), kStartTicksField).value_or(0))};
}

std::string SeenProcesses::NameOf(const std::string& folder) const {
  const ProcFile file(folder + "/comm");
  const std::string_view text = file.Read();
  return std::string(text.substr(0, text.find('\n')));
}

void SeenProcesses::Describe(pid_t pid, Process* process) const {
  const std::string folder = proc_ + "/" + std::to_string(pid);
  const ProcFile stat(folder + "/stat"), arguments(folder + "/cmdline");
  process->parent = static_cast<pid_t>(StatField(BehindName(stat.Read()), kParentField).value_or(process->parent));
  if (std::string name = NameOf(folder); !name.empty()) process->name = std::move(name);
  std::string line(arguments.Read());  // with a zero behind each
  while (!line.empty() && line.back() == '\0') line.pop_back();
  std::replace(line.begin(), line.end(), '\0', ' ');
  if (!line.empty()) process->command_line = std::move(line);
}

void SeenProcesses::SeeProgram(const RunView& run, int64_t now_ns) {
  program_ = now_[run.program] = KeyOf(run.program);
  Process& process = processes_[program_];
  process.parent = getppid();
  process.name = run.program_name;
  process.command_line = run.command_line;
  process.first_ns = process.last_ns = now_ns;
}

void SeenProcesses::See(pid_t pid, bool is_new, bool is_thorough, int64_t now_ns) {
  if (is_new || now_.count(pid) == 0) now_[pid] = KeyOf(pid);
  Process& process = processes_[now_[pid]];
  if (process.first_ns == 0) process.first_ns = now_ns;
  process.last_ns = now_ns;
  // By exec it becomes another program, soon after a fork perhaps another run of the same file.
  std::string program = PathOfProgram(pid);
  if (now_ns - process.first_ns < kYoungNs || program != process.program) Describe(pid, &process);
  process.program = std::move(program);
  rlimit files = {};
  if (prlimit(pid, RLIMIT_NOFILE, nullptr, &files) == 0) process.most_files = files.rlim_cur;
  process.threads[pid] = process.name;
  if (!is_thorough) return;
  const std::string tasks = proc_ + "/" + std::to_string(pid) + "/task";
  ForEachEntry(tasks, [&](std::string_view name) {
    const auto tid = static_cast<pid_t>(NumberAt(name, 0).value_or(0));
    if (tid > 0 && process.threads.count(tid) == 0) process.threads[tid] = NameOf(tasks + "/" + std::string(name));
  });
}

void SeenProcesses::Reset() {
  for (auto& [key, process] : processes_) process.is_written = false;
}

std::string SeenProcesses::ChunksOf(const Key& key, const Process& process, uint64_t first_ns, uint64_t last_ns) {
  const auto pid = static_cast<uint32_t>(key.first);
  Dictionary names;
  ChunkWriter writer(&names, {.process = {OwnProcessKey().host, key.second, pid, trace::kSeenImage}});
  trace::ProcessRecord record;
  record.start_ns = first_ns;
  record.pid = pid;
  record.parent_pid = static_cast<uint32_t>(process.parent);
  record.name = names.String(process.name);
  record.command_line = names.String(process.command_line);
  record.host = names.String(HostName());
  writer.Add(record);
  for (const auto& [tid, name] : process.threads) {
    writer.Add(trace::ThreadRecord{static_cast<uint32_t>(tid), names.String(name)});
  }
  // Standard input, output and error, and what opening one library takes.
  constexpr uint64_t kFilesToLoadTheTracer = 8;
  const bool may_be_shut_out = process.most_files < kFilesToLoadTheTracer;
  if (may_be_shut_out) {
    const std::string text =
        process.name + " was limited to " + std::to_string(process.most_files) +
        " open files (RLIMIT_NOFILE), so that the tracer could not be loaded if it made CUDA or NVTX calls";
    writer.Add(trace::NoticeRecord{last_ns, static_cast<uint8_t>(trace::NoticeLevel::kWarning), names.String(text)});
  }
  trace::EndRecord end;
  end.time_ns = last_ns;
  end.reason = static_cast<uint8_t>(trace::EndReason::kStopped);
  end.chunks_written = 1u + (process.threads.empty() ? 0 : 1) + (may_be_shut_out ? 1 : 0);
  writer.Add(end);
  std::string chunks;
  writer.Take(&chunks);
  return chunks;
}

void SeenProcesses::Write(const RunView& run, const TraceFile& trace) {
  TraceWriters writers = WritersOf(trace.path);
  for (const TracedProcess& process : TracedProcessesIn(run.folder)) {
    writers.processes.emplace(process.pid, static_cast<uint64_t>(process.start_ticks));
  }
  if (!run.wants_untraced && writers.processes.empty()) return;
  // The time of the trace is that of those which tell of themselves, where there are any.
  const bool has_times = writers.first_ns <= writers.last_ns;
  const auto within = [&](int64_t ns) {
    const auto time_ns = static_cast<uint64_t>(ns);
    return has_times ? std::clamp(time_ns, writers.first_ns, writers.last_ns) : time_ns;
  };
  const auto write = [&](const Key& key, Process* process) {
    if (process->is_written || writers.processes.count(key) != 0) return;
    // Where there are others, those alone which collectors have records of that count.
    const bool is_brief = process->last_ns == process->first_ns;
    const bool was_before = has_times && static_cast<uint64_t>(process->last_ns) < writers.first_ns;
    if (!writers.processes.empty() && (is_brief || was_before)) return;
    process->is_written = true;
    AppendChunks(trace, ChunksOf(key, *process, within(process->first_ns), within(process->last_ns)));
  };
  if (const auto program = processes_.find(program_); program != processes_.end()) write(program_, &program->second);
  for (auto& [key, process] : processes_) write(key, &process);
}

}  // namespace gprof

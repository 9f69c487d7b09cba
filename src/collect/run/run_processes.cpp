#include "collect/run/run_processes.h"

#include <iterator>
#include <string_view>
#include <utility>

#include "collect/run/arenas.h"

namespace gprof {
namespace {

constexpr std::size_t kResidentPages = 1;  // of statm

std::string ChildrenFile(const std::string& proc, pid_t pid, pid_t tid) {
  return proc + "/" + std::to_string(pid) + "/task/" + std::to_string(tid) + "/children";
}

}  // namespace

bool IsAnyoneRecorded(const std::string& run_folder) {
  for (const TracedProcess& process : TracedProcessesIn(run_folder)) {
    if (process.is_recording) return true;
  }
  return false;
}

bool RunProcesses::Add(pid_t pid) {
  if (pid <= 0 || living_.count(pid) != 0) return false;
  RunProcess process;
  process.memory = ProcFile(options_.proc + "/" + std::to_string(pid) + "/statm");
  if (!process.memory.is_open()) return false;
  process.children = ProcFile(ChildrenFile(options_.proc, pid, pid));
  process.resident_pages = NumberAt(process.memory.Read(), kResidentPages).value_or(0);
  living_.emplace(pid, std::move(process));
  return true;
}

// Of a process that has ended and was not waited for, all numbers are 0.
void RunProcesses::DropDead() {
  for (auto at = living_.begin(); at != living_.end();) {
    const std::string_view memory = at->second.memory.Read();
    at->second.resident_pages = NumberAt(memory, kResidentPages).value_or(0);
    at = NumberAt(memory, 0).value_or(0) == 0 ? living_.erase(at) : std::next(at);
  }
}

void RunProcesses::AddTraced() {
  if (options_.run_folder.empty()) return;
  for (const TracedProcess& process : TracedProcessesIn(options_.run_folder)) {
    // What a dead process left says no more of its pid, which somebody else may have.
    if (living_.count(process.pid) != 0) continue;
    const ProcFile stat(options_.proc + "/" + std::to_string(process.pid) + "/stat");
    if (StatField(BehindName(stat.Read()), kStartTicksField) == process.start_ticks) Add(process.pid);
  }
}

void RunProcesses::AddChildrenOf(pid_t pid, bool is_thorough, std::vector<pid_t>* found) {
  const auto take = [&](const ProcFile& file) {
    std::vector<pid_t> children;  // Add() reads files as well
    ForEachNumber(file.Read(), [&](int64_t child) { children.push_back(static_cast<pid_t>(child)); });
    for (const pid_t child : children) {
      if (Add(child)) found->push_back(child);
    }
  };
  take(living_.at(pid).children);
  if (!is_thorough) return;
  ForEachEntry(options_.proc + "/" + std::to_string(pid) + "/task", [&](std::string_view name) {
    const pid_t tid = static_cast<pid_t>(NumberAt(name, 0).value_or(0));
    if (tid > 0 && tid != pid) take(ProcFile(ChildrenFile(options_.proc, pid, tid)));
  });
}

const std::map<pid_t, RunProcess>& RunProcesses::Look(bool is_thorough) {
  DropDead();
  // Once: later, the pid may be somebody else's.
  if (!has_looked_) Add(options_.program);
  has_looked_ = true;
  if (!options_.follows_children) return living_;
  if (is_thorough) AddTraced();
  std::vector<pid_t> open;
  for (const auto& [pid, process] : living_) open.push_back(pid);
  while (!open.empty()) {
    const pid_t pid = open.back();
    open.pop_back();
    AddChildrenOf(pid, is_thorough, &open);
  }
  return living_;
}

}  // namespace gprof

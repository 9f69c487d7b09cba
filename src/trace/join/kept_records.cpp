#include "trace/join/kept_records.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace gprof {

std::vector<uint32_t>& NumberedThings::TableOf(uint32_t writer) {
  if (writer != writer_ || table_ == nullptr) writer_ = writer, table_ = &tables_[writer];
  return *table_;
}

// Into a table, unless those would be far longer than what is in them.
uint32_t& NumberedThings::EntryOf(uint32_t writer, uint32_t id) {
  constexpr std::size_t kLeast = 64, kFree = 1 << 20, kOfEach = 16;  // entries
  std::vector<uint32_t>& table = TableOf(writer);
  const std::size_t more = id < table.size() ? 0 : std::max<std::size_t>(kLeast, 2 * std::size_t{id}) - table.size();
  if (entries_ + more > kFree + kOfEach * ++count_ || others_.Find(writer, id) != kNone) return others_(writer, id);
  entries_ += more;
  if (more > 0) table.resize(table.size() + more, kNone);
  return table[id];
}

bool NumberedThings::Add(uint32_t writer, uint32_t id, std::size_t index) {
  if (id == 0) return false;
  uint32_t& entry = EntryOf(writer, id);
  if (entry != kNone) return false;
  entry = static_cast<uint32_t>(index);
  return true;
}

uint32_t NumberedThings::Find(uint32_t writer, uint32_t id) {
  if (id == 0) return kNone;
  const std::vector<uint32_t>& table = TableOf(writer);
  uint32_t found = id < table.size() ? table[id] : kNone;
  if (found == kNone) {
    const std::size_t size = others_.size();
    found = others_(writer, id);
    if (others_.size() != size) ++unjoined_.missing_definitions;
  }
  return found == kNone || places_.empty() ? found : places_[found];
}

ProcessesByPid::ProcessesByPid(UnjoinedTrace& unjoined) : unjoined_(unjoined) {
  for (uint32_t i = 0; i < unjoined.trace.processes.size(); ++i) {
    const Process& p = unjoined.trace.processes[i];
    lives_.push_back({unjoined.hosts[i], p.pid, p.start_ns, i});
  }
  std::sort(lives_.begin(), lives_.end(), [](const Life& a, const Life& b) {
    return std::tie(a.host, a.pid, a.start_ns, a.process) < std::tie(b.host, b.pid, b.start_ns, b.process);
  });
}

uint32_t ProcessesByPid::Find(uint32_t writer, uint32_t pid, int64_t time_ns) const {
  if (pid == 0) return IsCollector(writer) ? kNone : writer;
  const uint64_t host = IsCollector(writer) ? unjoined_.collector_hosts[writer - kCollector] : unjoined_.hosts[writer];
  return LifeOf(host, pid, time_ns);
}

uint32_t ProcessesByPid::LifeOf(uint64_t host, uint32_t pid, int64_t time_ns) const {
  const auto is_other = [&](const Life& life) { return life.host != host || life.pid != pid; };
  const auto first = std::partition_point(lives_.begin(), lives_.end(), [&](const Life& life) {
    return std::tie(life.host, life.pid) < std::tie(host, pid);
  });
  if (first == lives_.end() || is_other(*first)) return kNone;
  auto at = first;
  while (at + 1 != lives_.end() && !is_other(at[1]) && at[1].start_ns <= time_ns) ++at;
  return at->process;
}

uint32_t ProcessesByPid::ThreadAnywhere(uint32_t process, uint32_t tid, int64_t time_ns) {
  if (process == kNone || tid == 0) return kNone;
  const uint32_t own = unjoined_.threads.Find(process, tid);
  if (own != kNone) return own;
  const uint64_t host = unjoined_.hosts[process];
  const uint32_t other = LifeOf(host, tid, time_ns);
  if (other != kNone) return unjoined_.ThreadIndex(other, tid);
  if (!std::exchange(has_threads_, true)) {
    for (uint32_t i = 0; i < unjoined_.trace.threads.size(); ++i) {
      const Thread& thread = unjoined_.trace.threads[i];
      if (thread.process != kNone) threads_(unjoined_.hosts[thread.process], thread.tid) = i;
    }
  }
  return threads_.Find(host, tid);
}

}  // namespace gprof

#include "analysis/gpus/nccl_network.h"

#include <map>
#include <string>
#include <tuple>

#include "analysis/result/tables.h"
#include "base/saturate.h"

namespace gprof {
namespace {

struct Moved {
  int64_t count = 0, steps = 0;
  SaturatingSum time_ns, bytes, gpu_ns, peer_ns, network_ns, flush_ns;
  void Add(const NcclTransfer& t) {
    ++count, steps += t.steps;
    time_ns += t.DurationNs(), bytes += static_cast<int64_t>(t.size_bytes);
    gpu_ns += t.gpu_ns, peer_ns += t.peer_ns, network_ns += t.network_ns, flush_ns += t.flush_ns;
  }
};

}  // namespace

Table NcclNetworkTable(const Trace& trace, uint32_t max_rows) {
  Table table{"nccl_network",
              "NCCL on the network",
              {{"time_ns", "Total", Unit::kNs, false},
               {"gpu_ns", "For GPU", Unit::kNs, false},
               {"peer_ns", "For peer", Unit::kNs, true},
               {"network_ns", "Network", Unit::kNs, false},
               {"flush_ns", "Flush", Unit::kNs, true},
               {"bytes", "Bytes", Unit::kBytes, false},
               {"count", "Count", Unit::kCount, true},
               {"steps", "Steps", Unit::kCount, true},
               {"peer", "Peer", Unit::kCount, false},
               {"direction", "Direction", Unit::kText, false},
               {"function", "Function", Unit::kText, false}},
              {},
              "Time of NCCL's proxy threads, summed over channels, so that it may be longer than the run. For GPU: "
              "buffers were not filled yet, or not emptied. For peer: it took no more data. Network: data was on its "
              "way, or for received data had not arrived yet, sent or not. The rest of Total had no step under way."};
  std::map<std::tuple<NameId, bool, int32_t>, Moved> groups;
  for (const NcclTransfer& t : trace.nccl_transfers) groups[{t.function, t.is_send, t.peer}].Add(t);
  for (const auto& [key, moved] : groups) {
    const auto& [function, is_send, peer] = key;
    table.rows.push_back({int64_t{moved.time_ns}, int64_t{moved.gpu_ns}, int64_t{moved.peer_ns},
                          int64_t{moved.network_ns}, int64_t{moved.flush_ns}, int64_t{moved.bytes}, moved.count,
                          moved.steps, int64_t{peer}, std::string(is_send ? "send" : "receive"),
                          function == NameId{} ? "(of another process)" : std::string(trace.Text(function))});
  }
  SortAndCut(&table, 0, 10, max_rows);
  return table;
}

}  // namespace gprof

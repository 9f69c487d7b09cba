// The functions of MPI that are recorded, and what their arguments say. The C functions of all implementations have the
// same arguments in the same places; handles are pointers in some and numbers in others, and fit into a word in all.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace gprof::tracer {

// How the bytes, the other process and the communicator are known from the arguments.
enum class MpiArguments : uint8_t {
  kNone,
  kPoll,           // as none, and a short call is not worth a record: it is made again and again
  kCommunicator0,  // the first argument is the communicator, nothing else is of interest
  kCommunicator8,  // the ninth is
  kSend,           // buffer, count, type, destination, tag, communicator
  kReceive,        // buffer, count, type, source, tag, communicator
  kProbe,          // source, tag, communicator
  kPollProbe,      // the same of a call that does not wait
  kSendReceive,    // buffer, count, type, destination, tag, buffer, count, type, source, tag, communicator
  kReplace,        // buffer, count, type, destination, tag, source, tag, communicator
  kBroadcast,      // buffer, count, type, root, communicator
  kReduce,         // buffer, buffer, count, type, operation, root, communicator
  kAllReduce,      // buffer, buffer, count, type, operation, communicator
  kReduceBlocks,   // the same, the count is that of each process
  kReduceCounts,   // the same, and there is a count for each
  kGather,         // buffer, count, type, buffer, count, type, root, communicator
  kScatter,
  kGatherCounts,   // buffer, count, type, buffer, counts, places, type, root, communicator
  kScatterCounts,  // buffer, counts, places, type, buffer, count, type, root, communicator
  kAllGather,      // buffer, count, type, buffer, count, type, communicator
  kAllGatherCounts,
  kAllToAll,
  kAllToAllCounts,  // buffer, counts, places, type, buffer, counts, places, type, communicator
  kPut,             // buffer, count, type, target
  kGet,
  kRead,     // file, buffer, count, type
  kReadAt,   // file, place, buffer, count, type
  kWrite,    // as kRead
  kWriteAt,  // as kReadAt
};

constexpr bool HasBytes(MpiArguments arguments) { return arguments >= MpiArguments::kSend; }
constexpr bool IsPoll(MpiArguments arguments) {
  return arguments == MpiArguments::kPoll || arguments == MpiArguments::kPollProbe;
}

struct MpiFunction {
  const char* name;  // without the prefix
  uint8_t count;     // of arguments
  MpiArguments arguments;
};

inline constexpr MpiFunction kMpiFunctions[] = {
    {"Init", 2, MpiArguments::kNone},
    {"Init_thread", 4, MpiArguments::kNone},
    {"Finalize", 0, MpiArguments::kNone},

    {"Send", 6, MpiArguments::kSend},
    {"Bsend", 6, MpiArguments::kSend},
    {"Ssend", 6, MpiArguments::kSend},
    {"Rsend", 6, MpiArguments::kSend},
    {"Isend", 7, MpiArguments::kSend},
    {"Ibsend", 7, MpiArguments::kSend},
    {"Issend", 7, MpiArguments::kSend},
    {"Irsend", 7, MpiArguments::kSend},
    {"Recv", 7, MpiArguments::kReceive},
    {"Irecv", 7, MpiArguments::kReceive},
    {"Mrecv", 5, MpiArguments::kNone},
    {"Imrecv", 5, MpiArguments::kNone},
    {"Sendrecv", 12, MpiArguments::kSendReceive},
    {"Sendrecv_replace", 9, MpiArguments::kReplace},
    {"Probe", 4, MpiArguments::kProbe},
    {"Mprobe", 5, MpiArguments::kProbe},
    {"Iprobe", 5, MpiArguments::kPollProbe},
    {"Improbe", 6, MpiArguments::kPollProbe},
    {"Start", 1, MpiArguments::kNone},
    {"Startall", 2, MpiArguments::kNone},
    {"Wait", 2, MpiArguments::kNone},
    {"Waitall", 3, MpiArguments::kNone},
    {"Waitany", 4, MpiArguments::kNone},
    {"Waitsome", 5, MpiArguments::kNone},
    {"Test", 3, MpiArguments::kPoll},
    {"Testall", 4, MpiArguments::kPoll},
    {"Testany", 5, MpiArguments::kPoll},
    {"Testsome", 5, MpiArguments::kPoll},

    {"Barrier", 1, MpiArguments::kCommunicator0},
    {"Bcast", 5, MpiArguments::kBroadcast},
    {"Reduce", 7, MpiArguments::kReduce},
    {"Allreduce", 6, MpiArguments::kAllReduce},
    {"Scan", 6, MpiArguments::kAllReduce},
    {"Exscan", 6, MpiArguments::kAllReduce},
    {"Reduce_scatter_block", 6, MpiArguments::kReduceBlocks},
    {"Reduce_scatter", 6, MpiArguments::kReduceCounts},
    {"Gather", 8, MpiArguments::kGather},
    {"Scatter", 8, MpiArguments::kScatter},
    {"Gatherv", 9, MpiArguments::kGatherCounts},
    {"Scatterv", 9, MpiArguments::kScatterCounts},
    {"Allgather", 7, MpiArguments::kAllGather},
    {"Allgatherv", 8, MpiArguments::kAllGatherCounts},
    {"Alltoall", 7, MpiArguments::kAllToAll},
    {"Alltoallv", 9, MpiArguments::kAllToAllCounts},
    {"Alltoallw", 9, MpiArguments::kCommunicator8},
    {"Ibarrier", 2, MpiArguments::kCommunicator0},
    {"Ibcast", 6, MpiArguments::kBroadcast},
    {"Ireduce", 8, MpiArguments::kReduce},
    {"Iallreduce", 7, MpiArguments::kAllReduce},
    {"Iscan", 7, MpiArguments::kAllReduce},
    {"Iexscan", 7, MpiArguments::kAllReduce},
    {"Ireduce_scatter_block", 7, MpiArguments::kReduceBlocks},
    {"Ireduce_scatter", 7, MpiArguments::kReduceCounts},
    {"Igather", 9, MpiArguments::kGather},
    {"Iscatter", 9, MpiArguments::kScatter},
    {"Igatherv", 10, MpiArguments::kGatherCounts},
    {"Iscatterv", 10, MpiArguments::kScatterCounts},
    {"Iallgather", 8, MpiArguments::kAllGather},
    {"Iallgatherv", 9, MpiArguments::kAllGatherCounts},
    {"Ialltoall", 8, MpiArguments::kAllToAll},
    {"Ialltoallv", 10, MpiArguments::kAllToAllCounts},
    {"Ialltoallw", 10, MpiArguments::kCommunicator8},
    {"Neighbor_allgather", 7, MpiArguments::kNone},
    {"Neighbor_allgatherv", 8, MpiArguments::kNone},
    {"Neighbor_alltoall", 7, MpiArguments::kNone},
    {"Neighbor_alltoallv", 9, MpiArguments::kCommunicator8},
    {"Neighbor_alltoallw", 9, MpiArguments::kCommunicator8},

    {"Comm_dup", 2, MpiArguments::kCommunicator0},
    {"Comm_split", 4, MpiArguments::kCommunicator0},
    {"Comm_split_type", 5, MpiArguments::kCommunicator0},
    {"Comm_create", 3, MpiArguments::kCommunicator0},
    {"Comm_free", 1, MpiArguments::kNone},
    {"Comm_spawn", 8, MpiArguments::kNone},
    {"Comm_accept", 5, MpiArguments::kNone},
    {"Comm_connect", 5, MpiArguments::kNone},
    {"Comm_disconnect", 1, MpiArguments::kNone},
    {"Cart_create", 6, MpiArguments::kCommunicator0},
    {"Dist_graph_create", 9, MpiArguments::kCommunicator0},
    {"Dist_graph_create_adjacent", 10, MpiArguments::kCommunicator0},

    {"Put", 8, MpiArguments::kPut},
    {"Rput", 9, MpiArguments::kPut},
    {"Accumulate", 9, MpiArguments::kPut},
    {"Raccumulate", 10, MpiArguments::kPut},
    {"Get", 8, MpiArguments::kGet},
    {"Rget", 9, MpiArguments::kGet},
    {"Get_accumulate", 12, MpiArguments::kNone},
    {"Fetch_and_op", 7, MpiArguments::kNone},
    {"Compare_and_swap", 7, MpiArguments::kNone},
    {"Win_create", 6, MpiArguments::kNone},
    {"Win_allocate", 6, MpiArguments::kNone},
    {"Win_allocate_shared", 6, MpiArguments::kNone},
    {"Win_free", 1, MpiArguments::kNone},
    {"Win_fence", 2, MpiArguments::kNone},
    {"Win_start", 3, MpiArguments::kNone},
    {"Win_complete", 1, MpiArguments::kNone},
    {"Win_post", 3, MpiArguments::kNone},
    {"Win_wait", 1, MpiArguments::kNone},
    {"Win_lock", 4, MpiArguments::kNone},
    {"Win_unlock", 2, MpiArguments::kNone},
    {"Win_lock_all", 2, MpiArguments::kNone},
    {"Win_unlock_all", 1, MpiArguments::kNone},
    {"Win_flush", 2, MpiArguments::kNone},
    {"Win_flush_all", 1, MpiArguments::kNone},
    {"Win_flush_local", 2, MpiArguments::kNone},
    {"Win_flush_local_all", 1, MpiArguments::kNone},

    {"File_open", 5, MpiArguments::kCommunicator0},
    {"File_close", 1, MpiArguments::kNone},
    {"File_sync", 1, MpiArguments::kNone},
    {"File_read", 5, MpiArguments::kRead},
    {"File_read_all", 5, MpiArguments::kRead},
    {"File_read_at", 6, MpiArguments::kReadAt},
    {"File_read_at_all", 6, MpiArguments::kReadAt},
    {"File_write", 5, MpiArguments::kWrite},
    {"File_write_all", 5, MpiArguments::kWrite},
    {"File_write_at", 6, MpiArguments::kWriteAt},
    {"File_write_at_all", 6, MpiArguments::kWriteAt},
};
inline constexpr std::size_t kMpiFunctionCount = std::size(kMpiFunctions);
inline constexpr std::size_t kMostMpiArguments = 12;

// Each of them with its number: from MPI 4 on those that have counts come in a second form, whose counts have 64 bits.
inline constexpr std::size_t kMpiNumbers = 2 * kMpiFunctionCount;
static_assert(kMpiNumbers <= 256, "rows have eight bits for it");
constexpr bool HasLargeCounts(std::size_t number) { return number >= kMpiFunctionCount; }
constexpr const MpiFunction& MpiFunctionAt(std::size_t number) { return kMpiFunctions[number % kMpiFunctionCount]; }
constexpr bool Exists(std::size_t number) {
  return !HasLargeCounts(number) || HasBytes(MpiFunctionAt(number).arguments);
}

// "PMPI_Send", "PMPI_Send_c". Without its first letter it is what programs call.
struct MpiSymbol {
  char text[40];
};
constexpr MpiSymbol SymbolOf(std::size_t number) {
  MpiSymbol symbol{};
  std::size_t size = 0;
  const auto add = [&](const char* text) {
    for (; *text != 0; ++text) symbol.text[size++] = *text;
  };
  add("PMPI_");
  add(MpiFunctionAt(number).name);
  if (HasLargeCounts(number)) add("_c");
  return symbol;
}

// What a finished call was about.
struct MpiCallDetails {
  uint64_t communicator = 0;  // what MPI knows it by, never 0; 0 for none
  uint32_t communicator_size = 0;
  int32_t peer = -1, tag = -1;
  uint64_t sent_bytes = 0, received_bytes = 0;
};
inline constexpr int32_t kAnyPeer = -2;

using MpiWords = std::array<uintptr_t, kMostMpiArguments>;

// Of a call that succeeded; asks the library for sizes. [the thread that called it]
MpiCallDetails DetailsOf(std::size_t number, const MpiWords& words);

}  // namespace gprof::tracer

// What torch.profiler says of collectives: "record_param_comms" is the operator that hands one to NCCL.
#include <algorithm>
#include <charconv>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include "import/kineto/kineto_import.h"
#include "import/kineto/kineto_operators.h"
#include "import/shared/decimal.h"

namespace gprof {
namespace {

// Names of torch.distributed, and what NCCL calls the same.
constexpr std::pair<std::string_view, std::string_view> kFunctions[] = {
    {"allreduce", "AllReduce"},
    {"allreduce_coalesced", "AllReduce"},
    {"allgather", "AllGather"},
    {"_allgather_base", "AllGather"},
    {"allgather_into_tensor_coalesced", "AllGather"},
    {"reduce_scatter", "ReduceScatter"},
    {"_reduce_scatter_base", "ReduceScatter"},
    {"reduce_scatter_tensor_coalesced", "ReduceScatter"},
    {"broadcast", "Broadcast"},
    {"reduce", "Reduce"},
    {"all_to_all", "AllToAll"},
    {"all_to_allv", "AllToAll"},
    {"barrier", "AllReduce"},
    {"send", "Send"},
    {"recv", "Recv"},
};

uint64_t BytesOf(std::string_view type) {
  constexpr std::pair<std::string_view, uint64_t> kTypes[] = {{"Float", 4}, {"Half", 2}, {"BFloat16", 2}, {"Double", 8},
                                                              {"Long", 8},  {"Int", 4},  {"Short", 2}};
  const auto known = std::find_if(std::begin(kTypes), std::end(kTypes), [&](const auto& t) { return t.first == type; });
  return known == std::end(kTypes) ? 1 : known->second;
}

// The place of a rank in "[0, 4, 8]"; -1: it is not said, as of long lists, which are cut.
int32_t PlaceIn(std::string_view list, int32_t rank) {
  int32_t place = 0;
  for (size_t at = list.find_first_of("0123456789"); at != std::string_view::npos; ++place) {
    int32_t number = 0;
    const auto [end, error] = std::from_chars(list.data() + at, list.data() + list.size(), number);
    if (error != std::errc()) return -1;
    if (number == rank) return place;
    at = list.find_first_of("0123456789", static_cast<size_t>(end - list.data()));
  }
  return -1;
}

// The same in all ranks, as their names and lists of ranks are.
uint64_t NumberOfGroup(std::string_view name, std::string_view ranks) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const std::string_view text : {name, std::string_view("/"), ranks}) {
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
  return hash | 1;
}

}  // namespace

CollectiveArgs ReadCollectiveArgs(const JsonPiece& args, int32_t own_rank) {
  CollectiveArgs read;
  std::string_view name, ranks, group, type;
  uint64_t in = 0, out = 0;
  if (args.kind != JsonPiece::Kind::kObject) return read;
  JsonScanner(args.text).ReadObject([&](std::string_view key, const JsonPiece& value) {
    if (key == "Collective name") name = value.text;
    if (key == "Process Group Ranks") ranks = value.text;
    if (key == "Process Group Name" || key == "Process Group ID") group = value.text;
    if (key == "dtype") type = value.text;
    if (!value.IsNumber()) return;
    if (key == "In msg nelems") in = ReadBits(value.text).value_or(0);
    if (key == "Out msg nelems") out = ReadBits(value.text).value_or(0);
    if (key == "Group size") read.ranks = static_cast<uint32_t>(ReadBits(value.text).value_or(0));
    if (key == "Seq") read.sequence = ReadBits(value.text);
  });
  const auto known =
      std::find_if(std::begin(kFunctions), std::end(kFunctions), [&](const auto& of) { return of.first == name; });
  if (known == std::end(kFunctions) || read.ranks == 0) return read;
  read.function = known->second;
  read.datatype = type;
  read.communicator = NumberOfGroup(group, ranks);
  read.size_bytes = (read.function == "ReduceScatter" ? out : in) * BytesOf(type);
  read.rank = PlaceIn(ranks, own_rank);
  return read;
}

void KinetoImport::TakeCollective(const Slice& slice, const ClosedRange& range) {
  if (builder_.TextOf(slice.name) != "record_param_comms") return;
  const CollectiveArgs args = ReadCollectiveArgs(slice.args, rank_);
  if (args.function.empty() || range.end_ns == ClosedRange::kOpen) return;
  trace::CollectiveRecord r;
  r.start_ns = static_cast<uint64_t>(range.start_ns);
  r.duration_ns = static_cast<uint64_t>(range.end_ns - range.start_ns);
  r.tid = range.tid;
  r.function = builder_.Name(args.function);
  r.datatype = builder_.Name(args.datatype);
  r.communicator = args.communicator;
  r.size_bytes = args.size_bytes;
  r.ranks = args.ranks, r.rank = args.rank;
  uint64_t& before = collectives_[{builder_.process(), args.communicator, args.function}];
  r.sequence = args.sequence.value_or(before);
  ++before;
  builder_.Add(r);
}

}  // namespace gprof

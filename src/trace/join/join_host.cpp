#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "trace/join/join.h"
#include "trace/join/kept_records.h"
#include "trace/load/order.h"
#include "trace/model/saturating_time.h"
#include "trace/text/enum_or.h"

namespace gprof {
namespace {

// The places of nodes whose callers come before them. A circle, which only a damaged trace has, is cut.
std::vector<uint32_t> CallersFirst(std::vector<StackNode>* nodes) {
  constexpr uint32_t kUnvisited = kNone, kOnTheWay = kNone - 1;
  std::vector<uint32_t> place(nodes->size(), kUnvisited), way;
  uint32_t placed = 0;
  for (uint32_t i = 0; i < nodes->size(); ++i) {
    for (uint32_t at = i; at != kNone && place[at] == kUnvisited; at = (*nodes)[at].parent) {
      place[at] = kOnTheWay;
      way.push_back(at);
    }
    if (way.empty()) continue;
    StackNode& outermost = (*nodes)[way.back()];
    if (outermost.parent != kNone && place[outermost.parent] == kOnTheWay) {
      outermost.parent = kNone;
      outermost.is_cut = true;
    }
    for (; !way.empty(); way.pop_back()) place[way.back()] = placed++;
  }
  return place;
}

uint32_t CpuOf(uint32_t one_more) { return one_more == 0 ? kNone : one_more - 1; }

class HostJoin {
 public:
  explicit HostJoin(UnjoinedTrace& unjoined)
      : unjoined_(unjoined),
        t_(unjoined.trace),
        by_pid_(unjoined),
        modules_(unjoined),
        frames_(unjoined),
        stacks_(unjoined) {}

  void Run() {
    JoinModules();
    JoinFrames();
    JoinStacks();
    JoinSymbols();
    JoinCalls();
    JoinSamples();
    JoinSwitches();
    JoinOsCalls();
    JoinMpiCalls();
    JoinGemms();
    JoinTensorBlocks();
    JoinCollectives();
    JoinNcclTransfers();
    JoinDirectives();
  }

 private:
  void JoinModules() {
    for (const auto& [writer, r] : TakeKept<trace::ModuleRecord>(unjoined_)) {
      if (!modules_.Add(writer, r.id, t_.modules.size())) continue;
      Module m;
      m.time_ns = TimeNs(r.time_ns);
      m.address = r.address;
      m.size_bytes = r.size_bytes;
      m.inode = r.inode;
      m.process = by_pid_.Find(writer, r.pid, m.time_ns);
      m.path = unjoined_.Name(writer, r.path);
      m.build_id = unjoined_.Name(writer, r.build_id);
      m.name = unjoined_.Name(writer, r.name);
      m.line_table = unjoined_.Name(writer, r.line_table);
      m.first_line = r.first_line;
      m.python_version = r.python_version;
      m.module_kind = EnumOr(r.module_kind, trace::ModuleKind::kGenerated, trace::ModuleKind::kUnknown);
      t_.modules.push_back(m);
    }
  }

  void JoinFrames() {
    for (const auto& [writer, r] : TakeKept<trace::FrameRecord>(unjoined_)) {
      if (!frames_.Add(writer, r.id, t_.frames.size())) continue;
      Frame f;
      f.offset = r.offset;
      f.module = modules_.Find(writer, r.module);
      t_.frames.push_back(f);
    }
  }

  void JoinStacks() {
    std::vector<std::pair<uint32_t, uint32_t>> parents;  // writer and number
    std::vector<StackNode> nodes;
    for (const auto& [writer, r] : TakeKept<trace::StackRecord>(unjoined_)) {
      if (!stacks_.Add(writer, r.id, nodes.size())) continue;
      StackNode node;
      node.frame = frames_.Find(writer, r.frame);
      node.is_cut = r.is_cut != 0;
      node.is_guessed = r.is_guessed != 0;
      nodes.push_back(node);
      parents.emplace_back(writer, r.parent);
    }
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      nodes[i].parent = stacks_.Find(parents[i].first, parents[i].second);
      if (nodes[i].parent == kNone && parents[i].second != 0) nodes[i].is_cut = true;
    }
    stack_places_ = CallersFirst(&nodes);
    t_.stacks.resize(nodes.size());
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      StackNode& node = t_.stacks[stack_places_[i]] = nodes[i];
      if (node.parent != kNone) node.parent = stack_places_[node.parent];
    }
  }

  uint32_t StackOf(uint32_t writer, uint32_t id) {
    const uint32_t index = stacks_.Find(writer, id);
    return index == kNone ? kNone : stack_places_[index];
  }

  void JoinSymbols() {
    for (const auto& [writer, r] : TakeKept<trace::SymbolRecord>(unjoined_)) {
      Symbol s;
      s.function_offset = r.function_offset;
      s.frame = frames_.Find(writer, r.frame);
      s.depth = r.depth;
      s.name = unjoined_.Name(writer, r.name);
      s.file = unjoined_.Name(writer, r.file);
      s.line = r.line;
      if (s.frame != kNone) t_.symbols.push_back(s);
    }
    const auto key = [](const Symbol& s) { return std::tie(s.frame, s.depth); };
    SortNearlySorted(t_.symbols.begin(), t_.symbols.end(),
                     [&](const Symbol& a, const Symbol& b) { return key(a) < key(b); });
    // What is said again counts where it adds the line.
    for (std::size_t i = t_.symbols.size(); i-- > 1;) {
      Symbol& before = t_.symbols[i - 1];
      const Symbol& again = t_.symbols[i];
      if (key(before) == key(again) && before.line == 0) before.file = again.file, before.line = again.line;
    }
    const auto said_again = std::unique(t_.symbols.begin(), t_.symbols.end(),
                                        [&](const Symbol& a, const Symbol& b) { return key(a) == key(b); });
    t_.symbols.erase(said_again, t_.symbols.end());
  }

  void JoinCalls() {
    t_.api_calls.ChangeTraits([&](PackedCalls::Traits& call) {
      if (call.stack != kNone) call.stack = StackOf(call.process, call.stack);
    });
  }

  void JoinSamples() {
    for (const auto& [writer, r] : TakeKept<trace::CpuSampleRecord>(unjoined_)) {
      CpuSample s;
      s.time_ns = TimeNs(r.time_ns);
      s.weight_ns = TimeNs(r.weight_ns);
      s.process = by_pid_.Find(writer, r.pid, s.time_ns);
      s.thread = by_pid_.ThreadOf(s.process, r.tid);
      s.stack = StackOf(writer, r.stack);
      s.cpu = CpuOf(r.cpu);
      s.sample_kind = EnumOr(r.sample_kind, trace::SampleKind::kPythonWaiting, trace::SampleKind::kUnknown);
      TouchWriter(unjoined_, writer, s.process, s.time_ns, s.time_ns);
      t_.cpu_samples.push_back(s);
    }
    SortNearlySorted(t_.cpu_samples.begin(), t_.cpu_samples.end(),
                     [](const CpuSample& a, const CpuSample& b) { return a.time_ns < b.time_ns; });
  }

  void JoinSwitches() {
    for (const auto& [writer, r] : TakeKept<trace::SwitchRecord>(unjoined_)) {
      ThreadSwitch s;
      s.start_ns = TimeNs(r.start_ns);
      s.end_ns = EndNs(r.start_ns, r.duration_ns);
      s.process = by_pid_.Find(writer, r.pid, s.start_ns);
      s.thread = by_pid_.ThreadOf(s.process, r.tid);
      s.cpu = CpuOf(r.cpu);
      s.is_preempted = r.is_preempted != 0;
      s.is_unfinished = r.is_unfinished != 0;
      TouchWriter(unjoined_, writer, s.process, s.start_ns, s.end_ns);
      t_.switches.push_back(s);
    }
    SortNearlySorted(t_.switches.begin(), t_.switches.end(),
                     [](const ThreadSwitch& a, const ThreadSwitch& b) { return a.start_ns < b.start_ns; });
  }

  void JoinOsCalls() {
    for (const auto& [writer, r] : TakeKept<trace::OsCallRecord>(unjoined_)) {
      OsCall c;
      c.start_ns = TimeNs(r.start_ns);
      c.end_ns = EndNs(r.start_ns, r.duration_ns);
      c.object = r.object;
      c.size_bytes = r.size_bytes;
      c.result = r.result;
      c.process = by_pid_.Find(writer, r.pid, c.start_ns);
      c.thread = by_pid_.ThreadOf(c.process, r.tid);
      c.object_kind = EnumOr(r.object_kind, trace::OsObject::kPoll, trace::OsObject::kNone);
      c.other_thread = OtherThread(c, r.other_tid);
      c.stack = StackOf(writer, r.stack);
      c.waker_stack = StackOf(writer, r.waker_stack);
      c.function = unjoined_.Name(writer, r.function);
      c.path = unjoined_.Name(writer, r.path);
      c.error = r.error;
      c.is_unfinished = r.is_unfinished != 0;
      TouchWriter(unjoined_, writer, c.process, c.start_ns, c.end_ns);
      t_.os_calls.push_back(c);
    }
    SortNearlySorted(t_.os_calls.begin(), t_.os_calls.end(),
                     [](const OsCall& a, const OsCall& b) { return a.start_ns < b.start_ns; });
  }

  // Who writes into a pipe may be of another process, and who posts a semaphore or has a lock that processes share. One
  // that is not in the trace had a lock of its own process, as most are.
  uint32_t OtherThread(const OsCall& call, uint32_t tid) {
    using enum trace::OsObject;
    const uint32_t known = by_pid_.ThreadAnywhere(call.process, tid, call.start_ns);
    const bool has_ends = call.object_kind == kPipe || call.object_kind == kSocket || call.object_kind == kPoll ||
                          call.object_kind == kFile || call.object_kind == kDevice;
    return known != gprof::kNone || has_ends ? known : by_pid_.ThreadOf(call.process, tid);
  }

  void JoinMpiCalls() {
    for (const auto& [writer, r] : TakeKept<trace::MpiCallRecord>(unjoined_)) {
      MpiCall c;
      c.start_ns = TimeNs(r.start_ns);
      c.end_ns = EndNs(r.start_ns, r.duration_ns);
      c.sent_bytes = r.sent_bytes;
      c.received_bytes = r.received_bytes;
      c.process = by_pid_.Find(writer, r.pid, c.start_ns);
      c.thread = by_pid_.ThreadOf(c.process, r.tid);
      c.function = unjoined_.Name(writer, r.function);
      c.communicator = r.communicator;
      c.communicator_size = r.communicator_size;
      c.peer = r.peer;
      c.tag = r.tag;
      c.error = r.error;
      c.is_unfinished = r.is_unfinished != 0;
      TouchWriter(unjoined_, writer, c.process, c.start_ns, c.end_ns);
      t_.mpi_calls.push_back(c);
    }
    SortNearlySorted(t_.mpi_calls.begin(), t_.mpi_calls.end(),
                     [](const MpiCall& a, const MpiCall& b) { return a.start_ns < b.start_ns; });
  }

  void JoinGemms() {
    for (const auto& [writer, r] : TakeKept<trace::GemmRecord>(unjoined_)) {
      Gemm g;
      g.start_ns = TimeNs(r.start_ns);
      g.end_ns = EndNs(r.start_ns, r.duration_ns);
      g.process = by_pid_.Find(writer, r.pid, g.start_ns);
      g.thread = by_pid_.ThreadOf(g.process, r.tid);
      g.function = unjoined_.Name(writer, r.function);
      g.m = r.m;
      g.n = r.n;
      g.k = r.k;
      g.batch = r.batch;
      g.lda = r.lda;
      g.ldb = r.ldb;
      g.ldc = r.ldc;
      g.a_type = r.a_type;
      g.b_type = r.b_type;
      g.c_type = r.c_type;
      g.compute_type = r.compute_type;
      g.a_transposed = r.a_transposed;
      g.b_transposed = r.b_transposed;
      g.alignment = r.alignment;
      TouchWriter(unjoined_, writer, g.process, g.start_ns, g.end_ns);
      t_.gemms.push_back(g);
    }
    SortNearlySorted(t_.gemms.begin(), t_.gemms.end(),
                     [](const Gemm& a, const Gemm& b) { return a.start_ns < b.start_ns; });
  }

  void JoinTensorBlocks() {
    for (const auto& [writer, r] : TakeKept<trace::TensorBlockRecord>(unjoined_)) {
      TensorBlock b;
      b.time_ns = TimeNs(r.time_ns);
      b.size_bytes = r.size_bytes;
      b.address = r.address;
      b.process = by_pid_.Find(writer, r.pid, b.time_ns);
      b.thread = by_pid_.ThreadOf(b.process, r.tid);
      b.is_host = r.device < 0;
      if (!b.is_host) b.device = static_cast<uint32_t>(r.device);  // its ordinal: devices are numbered later
      b.stack = StackOf(writer, r.stack);
      TouchWriter(unjoined_, writer, b.process, b.time_ns, b.time_ns);
      t_.tensor_blocks.push_back(b);
    }
    SortNearlySorted(t_.tensor_blocks.begin(), t_.tensor_blocks.end(),
                     [](const TensorBlock& a, const TensorBlock& b) { return a.time_ns < b.time_ns; });
  }

  void JoinCollectives() {
    for (const auto& [writer, r] : TakeKept<trace::CollectiveRecord>(unjoined_)) {
      Collective c;
      c.start_ns = TimeNs(r.start_ns);
      c.end_ns = EndNs(r.start_ns, r.duration_ns);
      c.communicator = r.communicator;
      c.sequence = r.sequence;
      c.size_bytes = r.size_bytes;
      c.process = by_pid_.Find(writer, r.pid, c.start_ns);
      c.thread = by_pid_.ThreadOf(c.process, r.tid);
      c.function = unjoined_.Name(writer, r.function);
      c.datatype = unjoined_.Name(writer, r.datatype);
      c.algorithm = unjoined_.Name(writer, r.algorithm);
      c.protocol = unjoined_.Name(writer, r.protocol);
      c.communicator_name = unjoined_.Name(writer, r.communicator_name);
      c.ranks = r.ranks;
      c.nodes = r.nodes;
      c.rank = r.rank;
      c.peer = r.peer;
      c.channels = r.channels;
      c.is_captured = r.is_captured != 0;
      TouchWriter(unjoined_, writer, c.process, c.start_ns, c.end_ns);
      t_.collectives.push_back(c);
    }
    SortNearlySorted(t_.collectives.begin(), t_.collectives.end(),
                     [](const Collective& a, const Collective& b) { return a.start_ns < b.start_ns; });
  }

  void JoinNcclTransfers() {
    for (const auto& [writer, r] : TakeKept<trace::NcclTransferRecord>(unjoined_)) {
      NcclTransfer t;
      t.start_ns = TimeNs(r.start_ns);
      t.end_ns = EndNs(r.start_ns, r.duration_ns);
      t.communicator = r.communicator;
      t.sequence = r.sequence;
      t.size_bytes = r.size_bytes;
      t.gpu_ns = TimeNs(r.gpu_ns);
      t.peer_ns = TimeNs(r.peer_ns);
      t.network_ns = TimeNs(r.network_ns);
      t.flush_ns = TimeNs(r.flush_ns);
      t.process = by_pid_.Find(writer, r.pid, t.start_ns);
      t.thread = by_pid_.ThreadOf(t.process, r.tid);
      t.function = unjoined_.Name(writer, r.function);
      t.rank = r.rank;
      t.peer = r.peer;
      t.channel = r.channel;
      t.steps = r.steps;
      t.is_send = r.is_send != 0;
      TouchWriter(unjoined_, writer, t.process, t.start_ns, t.end_ns);
      t_.nccl_transfers.push_back(t);
    }
    SortNearlySorted(t_.nccl_transfers.begin(), t_.nccl_transfers.end(),
                     [](const NcclTransfer& a, const NcclTransfer& b) { return a.start_ns < b.start_ns; });
  }

  void JoinDirectives() {
    for (const auto& [writer, r] : TakeKept<trace::DirectiveRecord>(unjoined_)) {
      Directive d;
      d.start_ns = TimeNs(r.start_ns);
      d.end_ns = EndNs(r.start_ns, r.duration_ns);
      d.code = r.code;
      d.size_bytes = r.size_bytes;
      d.process = by_pid_.Find(writer, r.pid, d.start_ns);
      d.thread = by_pid_.ThreadOf(d.process, r.tid);
      d.model = unjoined_.Name(writer, r.model);
      d.construct = unjoined_.Name(writer, r.construct);
      d.name = unjoined_.Name(writer, r.name);
      d.region = r.region;
      d.line = r.line;
      d.threads = r.threads;
      d.device = r.device;
      d.is_wait = r.is_wait != 0;
      TouchWriter(unjoined_, writer, d.process, d.start_ns, d.end_ns);
      t_.directives.push_back(d);
    }
    SortNearlySorted(t_.directives.begin(), t_.directives.end(),
                     [](const Directive& a, const Directive& b) { return a.start_ns < b.start_ns; });
  }

  UnjoinedTrace& unjoined_;
  Trace& t_;
  ProcessesByPid by_pid_;
  NumberedThings modules_, frames_, stacks_;
  std::vector<uint32_t> stack_places_;
};

}  // namespace

void JoinHost(UnjoinedTrace& unjoined) { HostJoin(unjoined).Run(); }

}  // namespace gprof

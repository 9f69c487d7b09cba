// A trace that was cut into one for each process and merged again is what it was: everything in it, with what it refers
// to, in the same order.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "trace/reshape/merge.h"
#include "trace/text/assemble.h"

namespace gprof::test {
namespace {

// Writes out what the indexes of a trace lead to.
class Teller {
 public:
  explicit Teller(const Trace& trace) : t_(trace) {}

  std::vector<std::string> Tell() {
    for (const Process& p : t_.processes) {
      Say("process", p.pid, Text(p.name), Text(p.command_line), Text(p.host), Text(p.tracer_version),
          Text(p.cupti_path), Text(p.rank_source), Text(p.capture_mode), p.start_ns, p.end_ns, p.gpu_complete_until_ns,
          p.rank);
    }
    for (const Capture& c : t_.captures) Say("capture", Pid(c.process), c.start_ns, c.end_ns, c.number);
    for (const Thread& thread : t_.threads) Say("thread", Pid(thread.process), thread.tid, Text(thread.name));
    for (const Device& d : t_.devices)
      Say("device", Pid(d.process), d.ordinal, Text(d.name), Text(d.uuid), d.properties.sm_count);
    for (const Context& c : t_.contexts) Say("context", Pid(c.process), Gpu(c.device), c.id, c.null_stream);
    for (uint32_t i = 0; i < t_.streams.size(); ++i) {
      Say("stream", At(i, t_.streams), t_.streams[i].created_ns, Text(t_.streams[i].name), t_.streams[i].is_default);
    }
    for (const GpuOp& op : t_.ops) TellOp(op);
    for (uint32_t i = 0; i < t_.api_calls.size(); ++i) TellCall(i);
    for (uint32_t i = 0; i < t_.ranges.size(); ++i) {
      const NvtxRange& r = t_.ranges[i];
      Say("range", RangeAt(i), r.end_ns, Tid(r.end_thread), RangeAt(r.parent), DomainAt(r.domain), Text(r.name));
    }
    TellNvtx();
    TellWaits();
    TellMemory();
    TellRemarks();
    TellHostAndMetrics();
    return std::move(lines_);
  }

 private:
  template <class... T>
  void Say(const T&... parts) {
    std::string line;
    ((line += fmt::format("{} ", parts)), ...);
    lines_.push_back(std::move(line));
  }

  std::string Text(NameId id) const { return fmt::format("'{}'", t_.Text(id)); }
  std::string Pid(uint32_t i) const { return i == kNone ? "-" : fmt::format("pid {}", t_.processes.at(i).pid); }
  std::string Gpu(uint32_t i) const { return i == kNone ? "-" : "gpu " + Text(t_.devices.at(i).uuid); }
  std::string Tid(uint32_t i) const {
    return i == kNone ? "-" : fmt::format("{} tid {}", Pid(t_.threads.at(i).process), t_.threads.at(i).tid);
  }
  std::string At(uint32_t i, const std::vector<Stream>& streams) const {
    if (i == kNone) return "-";
    const Stream& s = streams.at(i);
    return fmt::format("{} {} context {} stream {}", Pid(s.process), Gpu(s.device), s.context, s.id);
  }
  std::string CallAt(uint32_t i) const {
    if (i == kNone) return "-";
    const ApiCall& c = t_.api_calls[i];
    return fmt::format("{} {} {}", Tid(c.thread), c.start_ns, Text(c.function));
  }
  std::string RangeAt(uint32_t i) const {
    if (i == kNone) return "-";
    return fmt::format("{} {} {}", Tid(t_.ranges[i].thread), t_.ranges[i].start_ns, Text(t_.ranges[i].path));
  }
  std::string DomainAt(uint32_t i) const {
    return i == kNone ? "-" : Pid(t_.domains.at(i).process) + Text(t_.domains.at(i).name);
  }
  std::string NodeAt(uint32_t i) const {
    return i == kNone ? "-" : fmt::format("{} node {}", Pid(t_.graph_nodes.at(i).process), t_.graph_nodes.at(i).id);
  }

  void TellOp(const GpuOp& op) {
    const std::string shape = op.shape == kNone ? "-" : fmt::format("grid {}", t_.shapes.at(op.shape).grid_x);
    Say("op", op.start_ns, op.end_ns, Gpu(op.device), At(op.stream, t_.streams), Pid(op.process), CallAt(op.api),
        Text(op.name), shape, Gpu(op.peer_device), NodeAt(op.node), op.size_bytes, t_.CorrelationOf(op));
  }

  void TellCall(uint32_t i) {
    const ApiCall& c = t_.api_calls[i];
    Say("call", CallAt(i), c.end_ns, Pid(c.process), CallAt(c.parent), RangeAt(c.range), c.op_count);
  }

  void TellNvtx() {
    for (const NvtxMark& m : t_.marks) Say("mark", m.time_ns, Tid(m.thread), DomainAt(m.domain), Text(m.name));
    for (uint32_t i = 0; i < t_.domains.size(); ++i) Say("domain", DomainAt(i), t_.domains[i].id);
    for (const NvtxCategory& c : t_.categories) Say("category", DomainAt(c.domain), c.id, Text(c.name));
    for (const NvtxPayload& p : t_.payloads) {
      const std::string mark = p.mark == kNone ? "-" : Text(t_.marks.at(p.mark).name);
      Say("payload", p.time_ns, Tid(p.thread), DomainAt(p.domain), RangeAt(p.range), mark, Text(p.schema));
      for (uint32_t v = p.first_value; v < p.last_value; ++v) {
        Say("value", Text(t_.payload_values.at(v).key), Text(t_.payload_values.at(v).text),
            t_.payload_values.at(v).integer);
      }
    }
    for (uint32_t i = 0; i < t_.graph_nodes.size(); ++i) {
      const GraphNode& n = t_.graph_nodes[i];
      Say("node", NodeAt(i), n.time_ns, Tid(n.thread), NodeAt(n.source), CallAt(n.api), RangeAt(n.range));
    }
  }

  void TellWaits() {
    for (const EventRecord& e : t_.event_records) {
      Say("event", e.time_ns, Pid(e.process), Tid(e.thread), CallAt(e.api), At(e.stream, t_.streams));
    }
    for (const Sync& s : t_.syncs) {
      Say("sync", s.start_ns, s.end_ns, Tid(s.thread), Pid(s.process), CallAt(s.api), At(s.stream, t_.streams));
    }
    for (const Overhead& o : t_.overheads) Say("overhead", o.start_ns, o.end_ns, Pid(o.process), Tid(o.thread), o.kind);
    for (const Jit& j : t_.jits) Say("jit", j.start_ns, j.end_ns, Pid(j.process), Gpu(j.device), Tid(j.thread));
  }

  void TellMemory() {
    for (const MemoryEvent& m : t_.memory_events) {
      Say("memory", m.time_ns, Pid(m.process), Gpu(m.device), At(m.stream, t_.streams), CallAt(m.api), m.size_bytes);
    }
    for (const ManagedMemory& m : t_.managed_memory) {
      Say("managed", m.start_ns, m.end_ns, Pid(m.process), Gpu(m.source), Gpu(m.destination), At(m.stream, t_.streams));
    }
    for (const MemoryPoolEvent& p : t_.memory_pools) {
      Say("pool", p.time_ns, Pid(p.process), Gpu(p.device), CallAt(p.api), p.pool);
    }
  }

  void TellRemarks() {
    for (const Clock& c : t_.clocks) Say("clock", Pid(c.process), c.anchor.monotonic_ns, c.anchor.realtime_ns);
    for (const Loss& l : t_.losses) Say("loss", Pid(l.process), l.count, l.time_ns);
    for (const Notice& n : t_.notices) Say("notice", Pid(n.process), n.time_ns, Text(n.message));
    Say("span", t_.start_ns, t_.end_ns, t_.record_count, t_.health.lost_records, t_.health.IsComplete());
    for (const Trace::Slice s : t_.process_captures) Say("process_captures", s.first, s.last);
    for (const Trace::Slice s : t_.thread_api_calls) Say("thread_api_calls", s.first, s.last);
    for (const Trace::Slice s : t_.thread_ranges) Say("thread_ranges", s.first, s.last);
    for (const Trace::Slice s : t_.device_ops) Say("device_ops", s.first, s.last);
  }

  void TellHostAndMetrics() {
    TellList("module", t_.modules), TellList("frame", t_.frames), TellList("stack", t_.stacks);
    TellList("symbol", t_.symbols), TellList("cpu_sample", t_.cpu_samples), TellList("switch", t_.switches);
    TellList("os_call", t_.os_calls), TellList("mpi_call", t_.mpi_calls), TellList("metric_source", t_.metric_sources);
    TellList("metric_sample", t_.metric_samples), TellList("metric_loss", t_.metric_losses);
  }

  template <class T>
  void TellList(const char* name, const std::vector<T>& list) {
    for (const T& item : list) {
      std::string line = name;
      T::Fields(item, [&](FieldOf field, const auto& value) {
        line += fmt::format(" {}={}", field.name, ValueOf(field.role, value));
      });
      lines_.push_back(std::move(line));
    }
  }
  template <class V>
  std::string ValueOf(Role, V value) const {
    return fmt::format("{}", static_cast<int64_t>(value));
  }
  std::string ValueOf(Role, NameId value) const { return Text(value); }
  std::string ValueOf(Role role, uint32_t value) const {
    if (value == kNone) return "-";
    if (role == Role::kProcess) return Pid(value);
    if (role == Role::kThread) return Tid(value);
    if (role == Role::kDevice) return Gpu(value);
    if (role == Role::kModule) return Text(t_.modules.at(value).path);
    if (role == Role::kFrame) return FrameAt(value);
    if (role == Role::kStack) return FrameAt(t_.stacks.at(value).frame);
    if (role == Role::kMetricSource) return Text(t_.metric_sources.at(value).name);
    return fmt::format("{}", value);
  }
  std::string FrameAt(uint32_t i) const {
    return fmt::format("{}+{}", Text(t_.modules.at(t_.frames.at(i).module).path), t_.frames[i].offset);
  }

  const Trace& t_;
  std::vector<std::string> lines_;
};

// A process with something of everything; @ in a line is its number, $N a time.
std::string Part(int number, const std::string& uuid, int start_ns) {
  const std::string pattern = R"(chunk pid=@
process start_ns=$0 pid=@ name="app@" command_line="./app@ -x" host="box" tracer_version="1.@" cupti_path="/cupti@" rank=@ rank_source="mpi" capture_mode="CUDA@"
device name="H200" uuid="UUID" sm_count=132
device device=1 name="H200" uuid="GPU-peer" sm_count=132
context context=1 null_stream=7
stream created_ns=$20 context=1 stream=13 handle=4096
clock monotonic_ns=$1 realtime_ns=1700000000000000000
capture time_ns=$2 event=1 trigger=6 number=1
thread tid=70 name="main@"
nvtx_domain domain=1 name="lib@"
nvtx_category domain=1 category=1 name="io@"
nvtx_name object=4 handle=4096 name="copies@"
nvtx time_ns=$30 tid=70 event=2 domain=1 message="outer@"
nvtx time_ns=$35 tid=70 event=2 domain=1 message="inner@"
nvtx time_ns=$36 tid=70 event=1 domain=1 message="mark@"
nvtx_schema domain=1 schema=900 schema_type=1 size_bytes=8 entry_count=1 name="Schema@"
nvtx_schema_entry domain=1 schema=900 index=0 entry_type=18 offset_bytes=0 size_bytes=8 name="size@"
nvtx_payload time_ns=$35 tid=70 domain=1 schema=900 event=2 data="\x0@\x00\x00\x00\x00\x00\x00\x00"
nvtx_payload time_ns=$36 tid=70 domain=1 schema=900 event=1 data="\x1@\x00\x00\x00\x00\x00\x00\x00"
api start_ns=$40 duration_ns=10 tid=70 correlation=1 function="cudaLaunchKernel" domain=1
thread tid=70 name="main@"
thread tid=71 name="helper@"
graph_node time_ns=$43 tid=70 graph=1 node=100
graph_node time_ns=$44 tid=70 graph=2 node=101 original=100
kernel start_ns=$60 duration_ns=50 context=1 stream=13 correlation=1 name="kernel@" shape={grid_x=1@} graph=2 graph_node=101
api start_ns=$70 duration_ns=9 tid=70 correlation=2 function="cudaMemcpyPeerAsync" domain=1
peer_copy start_ns=$90 duration_ns=50 context=1 stream=7 correlation=2 source_device=0 destination_device=1 size_bytes=64
memset start_ns=$95 duration_ns=5 context=1 stream=7 correlation=9@ size_bytes=64
api start_ns=$80 duration_ns=90 tid=70 correlation=3 function="cudaStreamSynchronize" domain=1
sync start_ns=$81 duration_ns=80 tid=70 context=1 stream=13 sync_kind=3 correlation=3
event_record time_ns=$82 tid=70 event=5 context=1 stream=13 correlation=3
overhead start_ns=$83 duration_ns=4 overhead_kind=1 tid=70
jit start_ns=$84 duration_ns=3 tid=70 device=1
memory time_ns=$85 operation=1 memory=3 address=4096 size_bytes=100 device=1 context=1 stream=13 correlation=3
managed_memory start_ns=$86 duration_ns=5 managed_kind=8 value=32 address=65536 source=0 destination=1
memory_pool time_ns=$87 operation=1 pool=7@ device=1 correlation=3
nvtx time_ns=$150 tid=70 event=3 domain=1
nvtx time_ns=$160 tid=70 event=3 domain=1
notice time_ns=$170 level=1 message="hello@"
loss time_ns=$171 reason=3 lost_kind=10 count=1@
capture time_ns=$180 event=2 trigger=6 number=1
os_call start_ns=$172 duration_ns=6 tid=70 function="read@" path="/data/@" other_tid=71 stack=2
module time_ns=$10 id=1 path="/lib/work@.so" build_id="b@" name="n@"
frame id=1 module=1 offset=1@
frame id=2 module=1 offset=2@
stack id=1 frame=1
stack id=2 parent=1 frame=2
symbol frame=2 name="work@" file="work@.cpp"
end time_ns=$190 reason=1 gpu_complete_until_ns=$185
chunk pid=9@ collector=1
module time_ns=$11 id=1 pid=@ path="/lib/seen@.so"
frame id=1 module=1 offset=3@
stack id=1 frame=1
cpu_sample time_ns=$176 pid=@ tid=70 stack=1 weight_ns=10 cpu=@
switch start_ns=$177 duration_ns=3 pid=@ tid=71
metric_source time_ns=$12 id=1 name="cpu@" unit="%" scope=2 pid=@
metric_source time_ns=$12 id=2 name="power@" scope=4 device_uuid="GPU-peer"
metric_block start_ns=$20 duration_ns=10 source=1 value=5@
metric_block start_ns=$20 duration_ns=10 source=2 value=6@
metric_block start_ns=$30 duration_ns=10 source=1 value=7@
metric_loss start_ns=$40 duration_ns=10 source=2 reason=1 count=@
)";
  std::string text;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '@') {
      text += std::to_string(number);
    } else if (pattern[i] == '$') {
      std::size_t digits = 0;
      text += std::to_string(start_ns + std::stoi(pattern.substr(i + 1, 4), &digits));
      i += digits;
    } else {
      text += pattern[i];
    }
  }
  return text.replace(text.find("UUID"), 4, uuid);
}

Trace Load(const std::string& text) { return LoadTraceFromMemory(AssembleTrace(text), "run.trace"); }

TEST(MergeWhole, PartsGiveTheWhole) {
  const std::string a = Part(1, "GPU-a", 1000), b = Part(2, "GPU-b", 1013), c = Part(3, "GPU-a", 900);
  const Trace whole = Load(a + b + c);
  ASSERT_EQ(whole.devices.size(), 3u);
  ASSERT_EQ(whole.payload_values.size(), 6u);
  ASSERT_NE(whole.ops.front().node, kNone);
  ASSERT_EQ(whole.metric_samples.size(), 9u);
  ASSERT_EQ(whole.stacks.size(), 9u);
  std::vector<Trace> parts;
  for (const std::string& text : {a, b, c}) parts.push_back(Load(text));
  EXPECT_THAT(Teller(MergeTraces(std::move(parts))).Tell(), testing::ElementsAreArray(Teller(whole).Tell()));
}

// A trace of another host is the same but for its times.
TEST(MergeWhole, EveryTimeIsShifted) {
  const std::string here = Part(1, "GPU-a", 1000);
  std::string there = Part(2, "GPU-b", 5000), moved = Part(2, "GPU-b", 3000);
  const auto replace = [](std::string* text, const std::string& from, const std::string& to) {
    text->replace(text->find(from), from.size(), to);
  };
  // The clock of the other host is 2,000 ns ahead of ours.
  replace(&there, "host=\"box\"", "host=\"far\"");
  replace(&there, "realtime_ns=1700000000000000000", "realtime_ns=1700000000000002000");
  replace(&moved, "host=\"box\"", "host=\"far\"");
  replace(&moved, "realtime_ns=1700000000000000000", "realtime_ns=1700000000000002000");
  const Trace whole = Load(here + moved);
  std::vector<Trace> parts;
  parts.push_back(Load(here));
  parts.push_back(Load(there));
  ASSERT_EQ(ClockShifts(parts)[1].ns, -2000);
  EXPECT_THAT(Teller(MergeTraces(std::move(parts))).Tell(), testing::ElementsAreArray(Teller(whole).Tell()));
}

}  // namespace
}  // namespace gprof::test

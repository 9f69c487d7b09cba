// What is known of threads between their calls, written by themselves or by a collector: whose it is, in which stack.
#include <gtest/gtest.h>

#include <string>
#include <type_traits>
#include <vector>

#include "trace/join/join.h"
#include "trace_text.h"

namespace gprof {
namespace {

// A process with two threads, and a collector that looks at it.
constexpr char kProcess[] =
    "chunk pid=7 host=5\n"
    "process start_ns=100 pid=7 name=\"app\" host=\"box\"\n"
    "thread tid=70 name=\"main\"\n"
    "end time_ns=9000 reason=1\n"
    "chunk pid=99 host=5 collector=1\n";

constexpr char kStacks[] =
    "module time_ns=50 id=1 pid=7 module_kind=1 path=\"/lib/libwork.so\" build_id=\"c0ffee\" address=4096 "
    "size_bytes=8192\n"
    "module time_ns=60 id=2 pid=7 module_kind=2 path=\"train.py\" name=\"Net.forward\" first_line=10 "
    "line_table=\"\\x80\\x00\" python_version=779\n"
    "frame id=1 module=1 offset=256\n"
    "frame id=2 module=2 offset=12\n"
    "frame id=3 offset=81985529216486895\n"
    "stack id=1 frame=2 is_cut=1\n"
    "stack id=2 parent=1 frame=1 is_guessed=1\n"
    "symbol frame=1 depth=1 name=\"outer\"\n"
    "symbol frame=1 name=\"_Z5innerv\" file=\"work.cpp\" line=33 function_offset=240\n";

std::string WithStacks(const std::string& records) { return std::string(kProcess) + kStacks + records; }

TEST(HostActivity, OfACollectorIsThatOfTheProcessItNames) {
  const Trace t =
      LoadText(WithStacks("cpu_sample time_ns=500 pid=7 tid=70 stack=2 weight_ns=1000 cpu=4 sample_kind=1\n"
                          "cpu_sample time_ns=400 pid=7 tid=71 stack=1 sample_kind=3\n"
                          "cpu_sample time_ns=600 pid=8 tid=80 stack=9\n"));
  ASSERT_EQ(t.processes.size(), 1u);
  EXPECT_EQ(t.health.unfinished_processes, 0u);
  ASSERT_EQ(t.cpu_samples.size(), 3u);
  const CpuSample &python = t.cpu_samples[0], &native = t.cpu_samples[1], &stranger = t.cpu_samples[2];
  EXPECT_EQ(python.time_ns, 400);
  EXPECT_EQ(python.sample_kind, trace::SampleKind::kPython);
  EXPECT_EQ(python.cpu, kNone);
  EXPECT_EQ(t.threads[python.thread].tid, 71u);
  EXPECT_EQ(native.process, 0u);
  EXPECT_EQ(t.Text(t.threads[native.thread].name), "main");
  EXPECT_EQ(native.weight_ns, 1000);
  EXPECT_EQ(native.cpu, 3u);
  EXPECT_EQ(stranger.process, kNone);
  EXPECT_EQ(stranger.thread, kNone);
  EXPECT_EQ(stranger.stack, kNone);
  EXPECT_EQ(t.health.missing_strings, 1u);  // stack 9
}

TEST(HostActivity, StacksLeadFromTheInnermostFrameOutwards) {
  const Trace t = LoadText(WithStacks("cpu_sample time_ns=500 pid=7 tid=70 stack=2\n"));
  ASSERT_EQ(t.stacks.size(), 2u);
  const StackNode& inner = t.stacks[t.cpu_samples[0].stack];
  EXPECT_TRUE(inner.is_guessed);
  EXPECT_FALSE(inner.is_cut);
  const Module& library = t.modules[t.frames[inner.frame].module];
  EXPECT_EQ(t.Text(library.path), "/lib/libwork.so");
  EXPECT_EQ(t.Text(library.build_id), "c0ffee");
  EXPECT_EQ(library.address + t.frames[inner.frame].offset, 4352u);
  EXPECT_EQ(library.process, 0u);
  const StackNode& outer = t.stacks[inner.parent];
  EXPECT_TRUE(outer.is_cut);
  EXPECT_EQ(outer.parent, kNone);
  const Module& function = t.modules[t.frames[outer.frame].module];
  EXPECT_EQ(function.module_kind, trace::ModuleKind::kPythonCode);
  EXPECT_EQ(t.Text(function.name), "Net.forward");
  EXPECT_EQ(t.Text(function.line_table), std::string("\x80\0", 2));
  EXPECT_EQ(function.first_line, 10u);
}

TEST(HostActivity, AFrameHasTheFunctionsThatWereInlinedThere) {
  const Trace t = LoadText(WithStacks(""));
  ASSERT_EQ(t.SymbolsOf(0).size(), 2u);
  EXPECT_EQ(t.Text(t.SymbolsOf(0)[0].name), "_Z5innerv");
  EXPECT_EQ(t.SymbolsOf(0)[0].line, 33u);
  EXPECT_EQ(t.Text(t.SymbolsOf(0)[1].name), "outer");
  EXPECT_TRUE(t.SymbolsOf(1).empty());
}

TEST(HostActivity, NumbersBelongToTheirWriterAndTheFirstDefinitionCounts) {
  const Trace t =
      LoadText(WithStacks("frame id=1 module=2 offset=1\n"
                          "cpu_sample time_ns=500 pid=7 tid=70 stack=1\n"
                          "chunk pid=7 host=5\n"
                          "module id=1 path=\"other\"\nframe id=1 module=1 offset=77\nstack id=1 frame=1\n"
                          "cpu_sample time_ns=600 tid=70 stack=1\n"));
  ASSERT_EQ(t.cpu_samples.size(), 2u);
  EXPECT_EQ(t.Text(t.modules[t.frames[t.stacks[t.cpu_samples[0].stack].frame].module].path), "train.py");
  EXPECT_EQ(t.Text(t.modules[t.frames[t.stacks[t.cpu_samples[1].stack].frame].module].path), "other");
  EXPECT_EQ(t.cpu_samples[1].process, 0u);
  EXPECT_EQ(t.frames[0].offset, 256u);
}

TEST(HostActivity, StacksMayComeInAnyOrder) {
  const Trace t = LoadText(
      "stack id=3 parent=2 frame=1\nstack id=2 parent=1 frame=1\nstack id=1 frame=1\nframe id=1 offset=5\n"
      "cpu_sample time_ns=500 tid=70 stack=3\n");
  uint32_t depth = 0;
  for (uint32_t at = t.cpu_samples[0].stack; at != kNone; at = t.stacks[at].parent) {
    EXPECT_TRUE(t.stacks[at].parent == kNone || t.stacks[at].parent < at);
    ++depth;
  }
  EXPECT_EQ(depth, 3u);
}

TEST(HostActivity, StacksInACircleAreCut) {
  const Trace t = LoadText("stack id=1 parent=3\nstack id=2 parent=1\nstack id=3 parent=2\nstack id=4 parent=4\n");
  ASSERT_EQ(t.stacks.size(), 4u);
  uint32_t cut = 0;
  for (uint32_t i = 0; i < t.stacks.size(); ++i) {
    EXPECT_TRUE(t.stacks[i].parent == kNone || t.stacks[i].parent < i);
    cut += t.stacks[i].is_cut ? 1 : 0;
  }
  EXPECT_EQ(cut, 2u);
}

TEST(HostActivity, AStackWithoutItsCallerIsCut) {
  const Trace t = LoadText("stack id=2 parent=1 frame=1\nframe id=1 offset=5\n");
  EXPECT_TRUE(t.stacks[0].is_cut);
  EXPECT_EQ(t.health.missing_strings, 1u);
}

TEST(HostActivity, ALockThatProcessesShareMayBeOfAnother) {
  const Trace t = LoadText(
      "chunk pid=7 host=5\nprocess start_ns=100 pid=7\n"
      "os_call start_ns=300 duration_ns=40 tid=7 function=\"sem_wait\" object_kind=4 object=1 other_tid=9\n"
      "os_call start_ns=400 duration_ns=40 tid=7 function=\"pthread_mutex_lock\" object_kind=1 object=2 other_tid=8\n"
      "chunk pid=9 host=5\nprocess start_ns=100 pid=9\n");
  ASSERT_EQ(t.os_calls.size(), 2u);
  const Thread &poster = t.threads[t.os_calls[0].other_thread], &holder = t.threads[t.os_calls[1].other_thread];
  EXPECT_EQ(poster.tid, 9u);
  EXPECT_EQ(t.processes[poster.process].pid, 9u);
  EXPECT_EQ(holder.tid, 8u);
  EXPECT_EQ(t.processes[holder.process].pid, 7u);
}

TEST(HostActivity, SwitchesAndCallsKnowTheirThreads) {
  const Trace t = LoadText(WithStacks(
      "switch start_ns=800 duration_ns=100 pid=7 tid=70 cpu=1 is_preempted=1\n"
      "switch start_ns=700 duration_ns=50 pid=7 tid=71 is_unfinished=1\n"
      "chunk pid=7 host=5\n"
      "frame id=8 offset=5\nstack id=8 frame=8\nstack id=9 parent=8 frame=8\n"
      "os_call start_ns=500 duration_ns=200 tid=70 function=\"pthread_mutex_lock\" object_kind=1 object=3 "
      "path=\"queue_lock\" other_tid=71 stack=8 waker_stack=9\n"
      "os_call start_ns=300 duration_ns=40 tid=71 function=\"read\" object_kind=10 object=6 path=\"/data/a.bin\" "
      "size_bytes=4096 result=-1 error=5 is_unfinished=1\n"));
  ASSERT_EQ(t.switches.size(), 2u);
  EXPECT_EQ(t.switches[0].DurationNs(), 50);
  EXPECT_TRUE(t.switches[0].is_unfinished);
  EXPECT_EQ(t.switches[0].cpu, kNone);
  EXPECT_TRUE(t.switches[1].is_preempted);
  EXPECT_EQ(t.switches[1].cpu, 0u);
  EXPECT_EQ(t.threads[t.switches[1].thread].tid, 70u);
  ASSERT_EQ(t.os_calls.size(), 2u);
  const OsCall &read = t.os_calls[0], &lock = t.os_calls[1];
  EXPECT_EQ(t.Text(read.function), "read");
  EXPECT_EQ(t.Text(read.path), "/data/a.bin");
  EXPECT_EQ(read.object_kind, trace::OsObject::kFile);
  EXPECT_EQ(read.result, -1);
  EXPECT_EQ(read.error, 5u);
  EXPECT_EQ(read.size_bytes, 4096u);
  EXPECT_TRUE(read.is_unfinished);
  EXPECT_EQ(lock.DurationNs(), 200);
  EXPECT_EQ(lock.object, 3u);
  EXPECT_EQ(t.threads[lock.thread].tid, 70u);
  EXPECT_EQ(t.threads[lock.other_thread].tid, 71u);
  ASSERT_LT(lock.waker_stack, t.stacks.size());
  EXPECT_EQ(t.stacks[lock.waker_stack].parent, lock.stack);
  EXPECT_EQ(read.other_thread, kNone);
  EXPECT_EQ(read.waker_stack, kNone);
}

TEST(HostActivity, NcclTransfersKnowTheirOperation) {
  const Trace t = LoadText(
      "chunk pid=7 host=5\nprocess start_ns=1 pid=7 name=\"app\"\nthread tid=70 name=\"proxy\"\n"
      "nccl_transfer start_ns=500 duration_ns=90 tid=70 function=\"AllReduce\" communicator=42 sequence=3 rank=1 "
      "peer=2 "
      "channel=4 steps=6 is_send=1 size_bytes=4096 gpu_ns=10 peer_ns=20 network_ns=30 flush_ns=5\n"
      "nccl_transfer start_ns=400 duration_ns=50 tid=70 peer=3\n");
  ASSERT_EQ(t.nccl_transfers.size(), 2u);
  const NcclTransfer& sent = t.nccl_transfers[1];
  EXPECT_EQ(t.nccl_transfers[0].function, NameId{});
  EXPECT_FALSE(t.nccl_transfers[0].is_send);
  EXPECT_EQ(t.Text(sent.function), "AllReduce");
  EXPECT_EQ(std::make_tuple(sent.start_ns, sent.end_ns, sent.communicator, sent.sequence, sent.size_bytes),
            std::make_tuple(500, 590, 42u, 3u, 4096u));
  EXPECT_EQ(std::make_tuple(sent.rank, sent.peer, sent.channel, sent.steps, sent.is_send),
            std::make_tuple(1, 2, 4u, 6u, true));
  EXPECT_EQ(std::make_tuple(sent.gpu_ns, sent.peer_ns, sent.network_ns, sent.flush_ns), std::make_tuple(10, 20, 30, 5));
  EXPECT_EQ(t.threads[sent.thread].tid, 70u);
}

TEST(HostActivity, TensorBlocksKnowTheirDeviceAndStack) {
  const Trace t =
      LoadText(WithStacks("chunk pid=7 host=5\ndevice device=1 name=\"B\"\n"
                          "module id=1 path=\"train.py\"\nframe id=1 module=1\nstack id=1 frame=1\n"
                          "tensor_block time_ns=500 tid=70 device=1 address=4096 size_bytes=-512\n"
                          "tensor_block time_ns=400 tid=70 device=1 address=4096 size_bytes=512 stack=1\n"
                          "tensor_block time_ns=450 tid=70 address=64 size_bytes=8\n"));
  ASSERT_EQ(t.tensor_blocks.size(), 3u);
  const TensorBlock &given = t.tensor_blocks[0], &host = t.tensor_blocks[1], &taken = t.tensor_blocks[2];
  EXPECT_EQ(given.size_bytes, 512);
  EXPECT_EQ(given.address, 4096u);
  EXPECT_EQ(t.threads[given.thread].tid, 70u);
  EXPECT_EQ(t.devices[given.device].ordinal, 1u);
  EXPECT_EQ(t.Text(t.modules[t.frames[t.stacks[given.stack].frame].module].path), "train.py");
  EXPECT_FALSE(given.is_host);
  EXPECT_EQ(host.device, kNone);
  EXPECT_TRUE(host.is_host);
  EXPECT_EQ(taken.size_bytes, -512);
  EXPECT_EQ(taken.stack, kNone);
}

// exec keeps the pid; a pid may be used again; another machine has the same pids.
TEST(HostActivity, APidIsTheProcessThatHadItThen) {
  const Trace t = LoadText(
      "chunk pid=7 host=5\nprocess start_ns=100 pid=7 name=\"first\"\n"
      "chunk pid=7 host=5 image=1\nprocess start_ns=1000 pid=7 name=\"second\"\n"
      "chunk pid=7 host=6\nprocess start_ns=500 pid=7 name=\"elsewhere\"\n"
      "chunk pid=99 host=5 collector=1\n"
      "switch start_ns=50 pid=7 tid=1\nswitch start_ns=999 pid=7 tid=1\nswitch start_ns=1000 pid=7 tid=1\n"
      "chunk pid=98 host=6 collector=1\n"
      "switch start_ns=2000 pid=7 tid=1\n");
  const auto name_at = [&](std::size_t i) { return t.Text(t.processes[t.switches[i].process].name); };
  ASSERT_EQ(t.switches.size(), 4u);
  EXPECT_EQ(name_at(0), "first");
  EXPECT_EQ(name_at(1), "first");
  EXPECT_EQ(name_at(2), "second");
  EXPECT_EQ(name_at(3), "elsewhere");
}

// What a collector saw before and after is no time of the run; what the process says itself is.
TEST(HostActivity, OfACollectorDoesNotMakeTheRunLonger) {
  const std::string sample = "cpu_sample time_ns=99000 pid=7 tid=70\n";
  EXPECT_EQ(LoadText(kProcess + sample).end_ns, 9000);
  EXPECT_EQ(LoadText(kProcess + ("chunk pid=7 host=5\n" + sample)).end_ns, 99000);
}

// A collector that claims calls and GPU work is no collector, and nothing breaks.
TEST(HostActivity, ACollectorHasNoCallsAndNoDevices) {
  const Trace t =
      LoadText(std::string(kProcess) +
               "api start_ns=10 duration_ns=5 tid=7 function=\"cudaMalloc\" domain=1\n"
               "kernel start_ns=20 duration_ns=5 name=\"k\" shape={grid_x=1}\n"
               "device device=3 name=\"A\"\nstream stream=4 context=1\nnvtx time_ns=4 tid=1 event=2 message=\"r\"\n"
               "process start_ns=1 pid=99\nend time_ns=20000 reason=1\n"
               "loss time_ns=5 reason=2 lost_kind=39 count=4\nmetric_loss start_ns=5 reason=1 count=3\nnotice "
               "time_ns=6 level=2 message=\"slow\"\n");
  EXPECT_EQ(t.processes.size(), 1u);
  EXPECT_EQ(t.api_calls.size() + t.ops.size() + t.devices.size() + t.streams.size() + t.ranges.size(), 0u);
  EXPECT_EQ(t.end_ns, 9000);
  // Samples are missing, and nothing of the program.
  EXPECT_EQ(t.health.lost_records, 0u);
  EXPECT_EQ(t.losses.size(), 0u);
  ASSERT_EQ(t.metric_losses.size(), 1u);
  EXPECT_EQ(t.metric_losses[0].count, 3u);
  EXPECT_EQ(t.Text(t.notices.at(0).message), "slow");
}

TEST(HostActivity, TextsMayComeBehindTheirUse) {
  const Trace t = LoadText("module id=1 path=#40\nchunk kind=string\nstring id=40 text=\"/late.so\"\n");
  EXPECT_EQ(t.Text(t.modules.at(0).path), "/late.so");
  EXPECT_EQ(t.health.missing_strings, 0u);
}

// A kind without an Add in TraceBuilder and without a join would be read and forgotten.
TEST(KeptRecords, AreTakenByAJoinEach) {
  UnjoinedTrace unjoined;
  unjoined.trace.processes.resize(1);
  unjoined.hosts.resize(1);
  const auto for_each_list = [&](auto&& f) {
    trace::ForEachKind([&](auto* kind) {
      using R = std::remove_pointer_t<decltype(kind)>;
      if constexpr (R::kKind >= kFirstKept) f(unjoined.kept.template Of<R>(), R::kName);
    });
  };
  for_each_list([](auto& list, const char*) { list.resize(1), list[0].writer = 0; });
  NumberThings(unjoined);
  for_each_list([](const auto& list, const char* name) { EXPECT_TRUE(list.empty()) << name; });
}

}  // namespace
}  // namespace gprof

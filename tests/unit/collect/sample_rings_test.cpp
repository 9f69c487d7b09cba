#include "collect/host/samples/sample_rings.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "fake_run.h"
#include "gprof/trace/run_folder.h"
#include "gprof/trace/sample_ring.h"

namespace gprof {
namespace {

constexpr uint32_t kSlots = 4, kStackBytes = 64, kSlotBytes = sizeof(trace::SampleSlot) + kStackBytes;
constexpr uint32_t kPage = 1;

// The arena of a process with a ring in its second page.
class SampleRingsTest : public testing::Test {
 protected:
  SampleRingsTest() : bytes_(trace::kRingPageBytes + sizeof(trace::SampleRing) + kSlots * kSlotBytes) {
    auto* const header = reinterpret_cast<trace::ArenaHeader*>(bytes_.data());
    header->magic = trace::kArenaMagic;
    header->pid = 77;
    header->sample_page = kPage;
    Ring()->slots = kSlots;
    Ring()->slot_bytes = kSlotBytes;
  }

  trace::SampleRing* Ring() { return reinterpret_cast<trace::SampleRing*>(bytes_.data() + trace::kRingPageBytes); }
  void Put(uint64_t number, bool is_there) {
    auto* const at = reinterpret_cast<unsigned char*>(Ring() + 1) + number % kSlots * kSlotBytes;
    auto* const slot = reinterpret_cast<trace::SampleSlot*>(at);
    slot->turn = trace::TurnOf(number, is_there);
    slot->time_ns = 1000 + number;
    slot->weight_ns = 4;
    slot->tid = 78;
    slot->cpu = 3;
    slot->registers = kRegisters;
    slot->values[kStackPointer] = 0x7000;
    slot->values[kRegisters - 1] = 0x4000 + number;
    slot->stack_bytes = 16;
    if (Ring()->next <= number) Ring()->next = number + 1;
  }
  // Times of the samples that there are now.
  std::vector<int64_t> Drain() {
    Write(path_, {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()});
    std::vector<int64_t> times;
    samples_.Drain(
        [&](const PerfSample& sample) {
          last_ = sample;
          last_bytes_ = sample.stack.bytes.size();
          times.push_back(sample.time_ns);
        },
        &lost_);
    return times;
  }

  TemporaryFolder folder_;
  std::string path_ = folder_.path() + "/77-1.arena";
  std::vector<unsigned char> bytes_;
  SampleRings samples_{folder_.path()};
  PerfSample last_;
  std::size_t last_bytes_ = 0;
  uint64_t lost_ = 0;
};

using Times = std::vector<int64_t>;

TEST_F(SampleRingsTest, TakesEachSampleOnce) {
  Put(0, true);
  Put(1, true);
  EXPECT_EQ(Drain(), (Times{1000, 1001}));
  EXPECT_EQ(last_.pid, 77);
  EXPECT_EQ(last_.tid, 78);
  EXPECT_EQ(last_.cpu, 2u);
  EXPECT_EQ(last_.weight_ns, 4);
  EXPECT_EQ(last_.registers.pc, 0x4001u);
  EXPECT_EQ(last_.stack.begin, 0x7000u);
  EXPECT_EQ(last_bytes_, 16u);
  EXPECT_EQ(Drain(), Times{});
  Put(2, true);
  EXPECT_EQ(Drain(), Times{1002});
  EXPECT_EQ(lost_, 0u);
}

TEST_F(SampleRingsTest, WaitsOnceForOneThatIsBeingWritten) {
  Put(0, false);
  Put(1, true);
  EXPECT_EQ(Drain(), Times{});
  Put(0, true);
  EXPECT_EQ(Drain(), (Times{1000, 1001}));
  Put(2, false);
  Put(3, true);
  EXPECT_EQ(Drain(), Times{});
  EXPECT_EQ(lost_, 0u);
  EXPECT_EQ(Drain(), Times{1003});  // its thread is gone
  EXPECT_EQ(lost_, 1u);
}

TEST_F(SampleRingsTest, CountsWhatWasOverwrittenOrHadNoSlot) {
  for (uint64_t i = 0; i < 7; ++i) Put(i, true);
  Ring()->lost = 2;
  EXPECT_EQ(Drain(), (Times{1003, 1004, 1005, 1006}));
  EXPECT_EQ(lost_, 5u);
}

TEST_F(SampleRingsTest, DoesNotTrustWhatItReads) {
  Put(0, true);
  Ring()->slot_bytes = 1u << 30;
  EXPECT_EQ(Drain(), Times{});
  EXPECT_TRUE(samples_.Processes().empty());
}

TEST_F(SampleRingsTest, ReadsWhatAProcessLeft) {
  Put(0, true);
  EXPECT_EQ(Drain(), Times{1000});
  EXPECT_EQ(samples_.Processes(), std::vector<pid_t>{77});
  std::filesystem::remove(path_);
  samples_.Drain([](const PerfSample&) {}, &lost_);
  EXPECT_TRUE(samples_.Processes().empty());
}

}  // namespace
}  // namespace gprof

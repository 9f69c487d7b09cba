#include "collect/run/journal.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <functional>

#include "collect/run/helper.h"
#include "fake_run.h"

namespace gprof {
namespace {

trace::MetricBlockRecord Sample(uint64_t at_ns) { return {at_ns, 10, 1, static_cast<int64_t>(at_ns) * 2}; }

class JournalTest : public testing::Test {
 protected:
  void SetUp() override {
    output_.path = folder_.path() + "/run.trace";
    Write(output_.path, "");
    journal_ = Make(folder_.path());
  }

  std::unique_ptr<Journal> Make(const std::string& folder) {
    std::string why;
    std::unique_ptr<Journal> journal = Journal::Create(folder, "host_load", &why);
    EXPECT_TRUE(journal) << why;
    journal->SetOutput(output_);
    return journal;
  }

  // In a process that is killed behind it. Returns the path of its journal, empty when it finished that.
  std::string InKilledProcess(const std::function<void(Journal*)>& work) {
    const std::string folder = folder_.path() + "/run";
    std::filesystem::create_directory(folder);
    const pid_t pid = fork();
    if (pid == 0) {
      std::unique_ptr<Journal> journal = Make(folder);
      journal->header().state.store(static_cast<uint32_t>(trace::ArenaState::kRecording));
      work(journal.get());
      raise(SIGKILL);
    }
    waitpid(pid, nullptr, 0);
    const std::filesystem::directory_iterator left(folder);
    return left == std::filesystem::directory_iterator() ? "" : left->path().string();
  }

  TemporaryFolder folder_;
  TraceFile output_;
  std::unique_ptr<Journal> journal_;
};

TEST_F(JournalTest, WritesWhatWasAddedOnce) {
  EXPECT_TRUE(journal_->IsEmpty());
  trace::MetricSourceRecord source;
  source.id = 1;
  source.name = journal_->Name("CPU");
  source.unit = journal_->Name("%");
  journal_->Add(source);
  for (const uint64_t at_ns : {100, 200}) journal_->Add(Sample(at_ns));
  EXPECT_FALSE(journal_->IsEmpty());
  EXPECT_EQ(journal_->Write(), 0);
  EXPECT_TRUE(journal_->IsEmpty());
  EXPECT_EQ(journal_->Write(), 0);
  EXPECT_EQ(Records(ReadWhole(output_.path)),
            "metric_source id=1 name=\"CPU\" unit=\"%\"\n"
            "metric_block start_ns=100 duration_ns=10 source=1 value=200\n"
            "metric_block start_ns=200 duration_ns=10 source=1 value=400\n");
  const std::string text = Records(ReadWhole(output_.path), true);
  EXPECT_NE(text.find("chunk kind=metric_block pid=" + std::to_string(getpid()) + " sequence=1"), std::string::npos)
      << text;
  EXPECT_NE(text.find("collector=1"), std::string::npos) << text;
}

TEST_F(JournalTest, TheChunksOfEachTraceAreNumberedFromTheFirst) {
  for (const char* const name : {"/a.trace", "/b.trace"}) {
    output_.path = folder_.path() + name;
    Write(output_.path, "");
    journal_->SetOutput(output_);
    for (const uint64_t at_ns : {100, 200}) {
      journal_->Add(Sample(at_ns));
      EXPECT_EQ(journal_->Write(), 0);
    }
    const std::string text = Records(ReadWhole(output_.path), true);
    EXPECT_EQ(text.find("missing chunks"), std::string::npos) << text;
  }
}

TEST_F(JournalTest, TextsKeepTheirNumbers) {
  const trace::StringId cpu = journal_->Name("CPU");
  EXPECT_EQ(journal_->Name(""), trace::StringId{});
  EXPECT_NE(journal_->Name("memory"), cpu);
  EXPECT_EQ(journal_->Name("CPU"), cpu);
  // Beyond what there is room for, they are left out. None is cut.
  const std::string large(5'000'000, 'x');
  EXPECT_EQ(journal_->Name(large), trace::StringId{});
  for (int i = 0; i < 300'000; ++i) journal_->Name("text " + std::to_string(i));
  EXPECT_EQ(journal_->Name("one more"), trace::StringId{});
  EXPECT_EQ(journal_->Name("CPU"), cpu);
}

TEST_F(JournalTest, WhatHasNoRoomIsCounted) {
  uint64_t added = 0;
  for (; journal_->lost_records() == 0; ++added) journal_->Add(Sample(added));
  journal_->Add(Sample(added));
  EXPECT_TRUE(journal_->IsFilling());
  EXPECT_GT(added, 20'000u);
  EXPECT_EQ(journal_->Write(), 0);
  EXPECT_FALSE(journal_->IsFilling());
  EXPECT_EQ(journal_->lost_records(), 0u);
  const std::string text = Records(ReadWhole(output_.path));
  EXPECT_NE(text.find("metric_loss start_ns="), std::string::npos);
  EXPECT_NE(text.find(" count=2\n"), std::string::npos) << text.substr(text.size() - 200);
}

TEST_F(JournalTest, AFullDiskIsSurvivedAndCounted) {
  const std::string journal_path = InKilledProcess([&](Journal* journal) {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit before = [] {
      rlimit now;
      getrlimit(RLIMIT_FSIZE, &now);
      return now;
    }();
    for (const uint64_t at_ns : {100, 200, 300}) journal->Add(Sample(at_ns));
    rlimit none = before;
    none.rlim_cur = 0;
    setrlimit(RLIMIT_FSIZE, &none);
    const int error = journal->Write();
    const bool is_counted = journal->lost_records() == 3 && journal->IsEmpty() && journal->chunks_written() == 0;
    setrlimit(RLIMIT_FSIZE, &before);
    if (error != EFBIG || !is_counted) return;
    journal->Add(Sample(400));
    if (journal->Write() == 0) journal->Finish();
  });
  EXPECT_EQ(journal_path, "") << "something was not as it should be";
  const std::string text = Records(ReadWhole(output_.path));
  EXPECT_EQ(text.find("metric_block start_ns=100"), std::string::npos) << text;
  EXPECT_NE(text.find("metric_block start_ns=400"), std::string::npos) << text;
  EXPECT_NE(text.find(" count=3\n"), std::string::npos) << text;
  EXPECT_EQ(text.find('#'), std::string::npos) << text;
}

TEST_F(JournalTest, TheTraceGetsWhatAKilledProcessHad) {
  Write(output_.path, "");
  journal_->Add(Sample(1));
  ASSERT_EQ(journal_->Write(), 0);
  const std::string journal_path = InKilledProcess([](Journal* journal) {
    trace::MetricSourceRecord source;
    source.id = 1;
    source.name = journal->Name("CPU");
    journal->Add(source);
    journal->Add(Sample(100));
    journal->Write();
    source.id = 2;
    source.name = journal->Name("memory");
    source.unit = journal->Name("CPU");
    journal->Add(source);
    journal->Add(Sample(200));
  });
  EXPECT_EQ(SalvageCollector(journal_path, 500), 0);
  EXPECT_EQ(Records(ReadWhole(output_.path)),
            "metric_block start_ns=1 duration_ns=10 source=1 value=2\n"
            "metric_source id=1 name=\"CPU\"\n"
            "metric_block start_ns=100 duration_ns=10 source=1 value=200\n"
            "metric_source id=2 name=\"memory\" unit=\"CPU\"\n"
            "metric_block start_ns=200 duration_ns=10 source=1 value=400\n"
            "notice time_ns=500 level=2 message=\"the process recording the host load was killed: no data after "
            "this point\"\n");
}

// As it is between a chunk that is in the file and the note that it is. The chunk is written once more, under the same
// number, and readers take one of the two.
TEST_F(JournalTest, WhatWasBeingWrittenIsNotThereTwice) {
  const std::string backup = folder_.path() + "/backup";
  const std::string journal_path = InKilledProcess([&](Journal* journal) {
    journal->Add(Sample(100));
    journal->Add(Sample(200));
    // The state behind the write is replaced by the one before it.
    const pid_t writer = fork();
    if (writer == 0) {
      std::filesystem::copy_file(journal->path(), backup);
      journal->Write();
      _exit(0);
    }
    waitpid(writer, nullptr, 0);
    Write(journal->path(), ReadWhole(backup));
  });
  ASSERT_EQ(SalvageCollector(journal_path, 500), 0);
  const std::string text = Records(ReadWhole(output_.path));
  EXPECT_NE(text.find("# chunks read twice: 1\n"), std::string::npos) << text;
  EXPECT_NE(text.find("start_ns=200"), std::string::npos) << text;
}

TEST_F(JournalTest, NothingIsAddedToATraceThatIsEmpty) {
  const std::string journal_path = InKilledProcess([](Journal* journal) { journal->Add(Sample(100)); });
  EXPECT_EQ(SalvageCollector(journal_path, 500), 0);
  EXPECT_EQ(ReadWhole(output_.path), "");
}

TEST_F(JournalTest, DamagedJournalsAreRefused) {
  journal_->Add(Sample(1));
  ASSERT_EQ(journal_->Write(), 0);
  const std::string before = ReadWhole(output_.path);
  const std::string journal_path = InKilledProcess([](Journal* journal) { journal->Add(Sample(100)); });
  const std::string good = ReadWhole(journal_path);
  Write(journal_path, good.substr(0, good.size() / 2));
  EXPECT_EQ(SalvageCollector(journal_path, 500), EPROTO);
  // Sizes that reach beyond the end.
  std::string wild = good;
  for (std::size_t at = 4096; at < 12288 + 65536 + 4096; ++at) wild[at] = '\x7f';
  Write(journal_path, wild);
  EXPECT_NE(SalvageCollector(journal_path, 500), 0);
  EXPECT_EQ(ReadWhole(output_.path), before);
  EXPECT_EQ(SalvageCollector(folder_.path() + "/none", 500), ENOENT);
}

TEST_F(JournalTest, OnlyOneProcessMayHaveAFolder) {
  std::string why;
  EXPECT_FALSE(Journal::Create(folder_.path() + "/none", "host_load", &why));
  EXPECT_NE(why.find("No such file"), std::string::npos) << why;
}

}  // namespace
}  // namespace gprof

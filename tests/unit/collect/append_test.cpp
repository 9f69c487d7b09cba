#include "trace/write/append.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <thread>
#include <vector>

#include "fake_run.h"
#include "gprof/trace/file.h"
#include "trace/file/reader.h"
#include "trace/write/chunk_writer.h"
#include "trace/write/dictionary.h"

namespace gprof {
namespace {

std::string ChunkOf(uint64_t sequence, uint32_t records = 1) {
  Dictionary dictionary;
  ChunkWriter writer(&dictionary, {.process = {1, 2, 3, 4}, .sequence = sequence, .is_collector = true});
  for (uint32_t i = 0; i < records; ++i) {
    writer.Add(trace::MetricBlockRecord{i * 1'000'003u, 7, 1, static_cast<int64_t>(i * 2'654'435'761u)});
  }
  std::string bytes;
  writer.Take(&bytes);
  return bytes;
}

class AppendTest : public testing::Test {
 protected:
  void SetUp() override {
    file_.path = folder_.path() + "/run.trace";
    Write(file_.path, "");
    struct stat status;
    ASSERT_EQ(stat(file_.path.c_str(), &status), 0);
    file_.device = status.st_dev;
    file_.inode = status.st_ino;
  }

  TemporaryFolder folder_;
  TraceFile file_;
};

TEST_F(AppendTest, AddsAllChunksBehindWhatIsThere) {
  ASSERT_EQ(AppendChunks(file_, ChunkOf(0)).error, 0);
  const Appended appended = AppendChunks(file_, ChunkOf(1) + ChunkOf(2, 3));
  EXPECT_EQ(appended.error, 0);
  EXPECT_EQ(appended.chunks, 2u);
  EXPECT_EQ(appended.lost_records, 0u);
  EXPECT_FALSE(appended.is_untouched);
  EXPECT_EQ(ReadWhole(file_.path), ChunkOf(0) + ChunkOf(1) + ChunkOf(2, 3));
  EXPECT_EQ(SizeOf(file_), ReadWhole(file_.path).size());
}

TEST_F(AppendTest, AFileThatIsGoneIsNotMadeAnew) {
  unlink(file_.path.c_str());
  const Appended appended = AppendChunks(file_, ChunkOf(0) + ChunkOf(1, 3));
  EXPECT_EQ(appended.error, ENOENT);
  EXPECT_EQ(appended.lost_records, 4u);
  EXPECT_TRUE(appended.is_untouched);
  EXPECT_FALSE(std::filesystem::exists(file_.path));
  EXPECT_EQ(SizeOf(file_), std::nullopt);
}

// A file system gives the inode number of a deleted file away again.
TEST_F(AppendTest, AnotherFileOfTheNameAndInodeIsLeftAlone) {
  file_.run = 4711;
  EXPECT_EQ(AppendChunks(file_, ChunkOf(0)).error, ESTALE);
  EXPECT_EQ(ReadWhole(file_.path), "");
  Write(file_.path, ChunkOf(0));  // of another run
  EXPECT_EQ(AppendChunks(file_, ChunkOf(1)).error, ESTALE);
  EXPECT_EQ(SizeOf(file_), std::nullopt);
  EXPECT_EQ(ReadWhole(file_.path), ChunkOf(0));
}

TEST_F(AppendTest, TheFirstChunkSaysWhoseFileItIs) {
  Dictionary dictionary;
  ChunkWriter writer(&dictionary, {.process = {1, 2, 3, 4}, .run = 4711, .is_collector = true});
  writer.Want(trace::RecordKind::kNotice);
  std::string first;
  writer.Take(&first);
  Write(file_.path, first);
  file_.run = 4711;
  EXPECT_TRUE(IsStillEmpty(file_));
  EXPECT_EQ(AppendChunks(file_, ChunkOf(1)).error, 0);
  EXPECT_FALSE(IsStillEmpty(file_));
  EXPECT_EQ(ReadWhole(file_.path), first + ChunkOf(1));
}

TEST_F(AppendTest, AnotherFileOfTheNameIsLeftAlone) {
  Write(folder_.path() + "/other", "mine");
  std::filesystem::rename(folder_.path() + "/other", file_.path);
  EXPECT_EQ(AppendChunks(file_, ChunkOf(0)).error, ESTALE);
  EXPECT_EQ(ReadWhole(file_.path), "mine");
  EXPECT_EQ(SizeOf(file_), std::nullopt);
}

// What `ulimit -f` is to a process, a full disk is to all: the first write is cut short, the next ones fail.
TEST_F(AppendTest, AChunkThatIsCutShortIsCountedAndReadersGoOn) {
  const std::string first = ChunkOf(0), torn = ChunkOf(1, 500), last = ChunkOf(2, 5);
  const pid_t pid = fork();
  if (pid == 0) {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit = {first.size() + 300, RLIM_INFINITY};
    setrlimit(RLIMIT_FSIZE, &limit);
    const Appended appended = AppendChunks(file_, first + torn + last);
    const bool is_good =
        appended.error == ENOSPC && appended.chunks == 3 && appended.lost_records == 505 && !appended.is_untouched;
    _exit(is_good ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(ReadWhole(file_.path), first + torn.substr(0, 300));
  // There is room again, and somebody writes on.
  ASSERT_EQ(AppendChunks(file_, last).error, 0);
  const std::string bytes = ReadWhole(file_.path);
  Reader reader(bytes);
  std::vector<uint64_t> sequences;
  for (gprof::Chunk chunk; reader.Next(&chunk);) sequences.push_back(chunk.header.sequence);
  EXPECT_EQ(sequences, (std::vector<uint64_t>{0, 2}));
  EXPECT_EQ(reader.health().damaged_chunks, 1u);
}

TEST_F(AppendTest, ManyMayWriteAtOnce) {
  constexpr uint64_t kEach = 50;
  std::vector<std::thread> writers;
  for (uint64_t writer = 0; writer < 4; ++writer) {
    writers.emplace_back([&, writer] {
      for (uint64_t i = 0; i < kEach; ++i) AppendChunks(file_, ChunkOf(writer * kEach + i, 100));
    });
  }
  for (std::thread& writer : writers) writer.join();
  const std::string bytes = ReadWhole(file_.path);
  Reader reader(bytes);
  uint64_t chunks = 0;
  for (gprof::Chunk chunk; reader.Next(&chunk);) ++chunks;
  EXPECT_EQ(chunks, 4 * kEach);
  EXPECT_EQ(reader.health().damaged_chunks + reader.health().missing_chunks + reader.health().skipped_bytes, 0u);
}

}  // namespace
}  // namespace gprof

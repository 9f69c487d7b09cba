// Databases that are damaged, foreign, or made to do harm: an error that says so, or a trace without what was bad.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "database.h"
#include "gprof/error.h"
#include "import/nsight/nsight.h"

namespace gprof {
namespace {

using testing::HasSubstr;

std::string ErrorOf(const std::string& path) {
  try {
    ReadNsight(path);
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ExitCode::kUnreadable);
    return std::string(e.what()) + " | " + e.hint();
  }
  return "was read";
}

std::string Small() { return std::string(NewSchema()) + std::string(SmallCapture()); }

TEST(HostileSqlite, OtherDatabasesAreNamed) {
  EXPECT_THAT(ErrorOf(TestDatabase("CREATE TABLE notes (text)").path()),
              testing::AllOf(HasSubstr("not an Nsight Systems export"), HasSubstr("nsys export")));
  EXPECT_THAT(ErrorOf(TestDatabase("CREATE TABLE StringTable (_id_ INTEGER PRIMARY KEY, value TEXT);"
                                   "CREATE TABLE CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL (start INT);")
                          .path()),
              HasSubstr("nvprof"));
  EXPECT_THAT(ErrorOf(TestDatabase("CREATE TABLE StringIds (id, value)").path()),
              HasSubstr("not an Nsight Systems export"));
}

TEST(HostileSqlite, AnEmptyExportIsAnEmptyTrace) {
  const TestDatabase database{std::string(NewSchema())};
  const Trace t = ReadNsight(database.path());
  EXPECT_TRUE(t.ops.empty());
  EXPECT_TRUE(t.health.IsComplete());
}

TEST(HostileSqlite, CutAndDamagedFilesAreErrorsOrTracesButNothingElse) {
  const TestDatabase whole(Small());
  const std::string bytes = whole.Bytes();
  ASSERT_GT(bytes.size(), 8192u);
  const TestDatabase cut("");
  for (std::size_t size = 16; size < bytes.size(); size += 1111) {
    cut.SetBytes(bytes.substr(0, size));
    EXPECT_THAT(ErrorOf(cut.path()), testing::AllOf(HasSubstr("cannot read"), HasSubstr("truncated"))) << size;
  }
  for (std::size_t at = 16; at < bytes.size(); at += 199) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x5A);
    cut.SetBytes(damaged);
    ErrorOf(cut.path());  // whatever it is: no crash, no other exception
  }
}

TEST(HostileSqlite, ValuesOfAWrongTypeAreLeftOutAndCounted) {
  const TestDatabase database(Small() + R"sql(
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, contextId, streamId, correlationId, globalPid,
  demangledName) VALUES ('soon', 'later', 0, 1, 7, 0, 281483365318656, 1), (5000, 6000, 'zero', 1, 7, 0, 281483365318656, 1),
  (5000, 6000.5, 0, 1, 7, 0, 281483365318656, 1), (5000, x'00', 0, 1, 7, 0, 281483365318656, 1);
INSERT INTO NVTX_EVENTS (start, end, eventType, text, globalTid) VALUES (1, 2, 'push', 'x', 281483365319156);)sql");
  const Trace t = ReadNsight(database.path());
  EXPECT_EQ(t.ops.size(), 3u);
  EXPECT_EQ(t.health.lost_records, 5u);
  EXPECT_FALSE(t.health.IsComplete());
}

TEST(HostileSqlite, TimesThatCannotBeAreLeftOutAndCounted) {
  const TestDatabase database(Small() + R"sql(
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, contextId, streamId, correlationId, globalPid) VALUES
  (5000, 4000, 0, 1, 7, 0, 281483365318656), (9223372036854775807, 9223372036854775807, 0, 1, 7, 0, 281483365318656),
  (-9223372036854775808, 10, 0, 1, 7, 0, 281483365318656), (10, 9223372036854775807, 0, 1, 7, 0, 281483365318656);
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME (start, end, globalTid, correlationId, nameId) VALUES
  (500, 400, 281483365319156, 900, 3), (5, 9223372036854775807, 281483365319156, 901, 3);)sql");
  const Trace t = ReadNsight(database.path());
  EXPECT_EQ(t.ops.size(), 3u);
  EXPECT_EQ(t.api_calls.size(), 4u);
  EXPECT_EQ(t.health.bad_times + t.health.lost_records, 6u);
  EXPECT_EQ(t.end_ns, 4100);
}

TEST(HostileSqlite, NullsAndHugeNumbersAreTaken) {
  const TestDatabase database(Small() + R"sql(
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (start, end) VALUES (5000, 6000);
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (7000, 8000, 4294967295, 4294967296, -1, 9223372036854775807,
  -9223372036854775808, -1, -1, -1, -1, -1, 9223372036854775807, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY (start, end, bytes, copyKind, srcKind) VALUES (8000, 8001, -1, 200, -7);
INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS (start, bytes, memKind, memoryOperationType) VALUES (8000, -1, 99, 99);
INSERT INTO NVTX_EVENTS (start, eventType, domainId, category) VALUES (10, 59, -1, 9223372036854775807);)sql");
  const Trace t = ReadNsight(database.path());
  EXPECT_EQ(t.ops.size(), 6u);
}

TEST(HostileSqlite, AnyGlobalIdIsAProcess) {
  for (const char* id : {"-1", "0", "9223372036854775807", "-9223372036854775808"}) {
    const TestDatabase database(Small() + "UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET globalTid = " + id + ";");
    EXPECT_EQ(ReadNsight(database.path()).api_calls.size(), 4u) << id;
  }
}

TEST(HostileSqlite, ViewsAndVirtualTablesAreNotRun) {
  // As a table it would never end.
  const TestDatabase database(std::string(NewSchema()) + R"sql(
DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL;
CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS WITH RECURSIVE n(start) AS (SELECT 1 UNION ALL SELECT start + 1 FROM n)
  SELECT start, start + 1 AS end FROM n;)sql");
  EXPECT_TRUE(ReadNsight(database.path()).ops.empty());
}

TEST(HostileSqlite, NamesWithQuotesAreNoSql) {
  const TestDatabase database(Small() + R"sql(
CREATE TABLE "a""; DROP TABLE StringIds; --" (x);
ALTER TABLE CUPTI_ACTIVITY_KIND_MEMSET ADD COLUMN "start""; --" INTEGER;)sql");
  EXPECT_EQ(ReadNsight(database.path()).ops.size(), 3u);
}

TEST(HostileSqlite, PagesThatHoldEachOtherEnd) {
  // Every child of a page is made the page itself, or another one: each way is an error, or ends.
  TestDatabase database(Small() + R"sql(
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, contextId, streamId, globalPid)
  WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
  SELECT 10000 + i, 10001 + i, 0, 1, 7, 281483365318656 FROM n;)sql");
  const std::string bytes = database.Bytes();
  constexpr std::size_t kPage = 4096;
  int interior = 0;
  for (std::size_t page = kPage; page + kPage <= bytes.size(); page += kPage) {
    if (bytes[page] != 5) continue;  // an interior page of a table
    ++interior;
    std::string damaged = bytes;
    const int cells = static_cast<unsigned char>(bytes[page + 3]) << 8 | static_cast<unsigned char>(bytes[page + 4]);
    const std::string first(bytes, page + 8, 4);
    for (int cell = 0; cell < cells; ++cell) {
      const std::size_t pointer = page + 12 + 2 * static_cast<std::size_t>(cell);
      const std::size_t at = page + (static_cast<std::size_t>(static_cast<unsigned char>(bytes[pointer])) << 8 |
                                     static_cast<unsigned char>(bytes[pointer + 1]));
      damaged.replace(at, 4, first);
    }
    database.SetBytes(damaged);
    ErrorOf(database.path());
  }
  EXPECT_GT(interior, 0);
}

TEST(HostileSqlite, AnInterruptedExportIsNamed) {
  const TestDatabase database(Small());
  // A journal that says which page to bring back: its header, with the counts that SQLite writes.
  std::string journal("\xd9\xd5\x05\xf9\x20\xa1\x63\xd7", 8);
  journal += std::string("\0\0\0\1\0\0\0\7\0\0\0\1\0\0\2\0\0\0\x10\0", 20);
  journal.resize(512 + 4 + 4096 + 4);
  std::ofstream(database.path() + "-journal", std::ios::binary) << journal;
  EXPECT_THAT(ErrorOf(database.path()), testing::AnyOf(HasSubstr("interrupted"), HasSubstr("was read")));
}

TEST(HostileSqlite, ReadsADatabaseWithAWriteAheadLog) {
  const TestDatabase database("PRAGMA journal_mode = WAL;" + Small());
  EXPECT_EQ(ReadNsight(database.path()).ops.size(), 3u);
  // In a folder that cannot be written: root may write anyway.
  const TestDatabase copy("");
  copy.SetBytes(database.Bytes());
  chmod(copy.folder().c_str(), 0500);
  EXPECT_EQ(ReadNsight(copy.path()).ops.size(), 3u);
  chmod(copy.folder().c_str(), 0700);
}

TEST(HostileSqlite, LeavesNoFilesBeside) {
  for (const char* mode : {"", "PRAGMA journal_mode = WAL;"}) {
    const TestDatabase database(mode + Small());
    chmod(database.path().c_str(), 0400);
    ReadNsight(database.path());
    const auto files = std::distance(std::filesystem::directory_iterator(database.folder()), {});
    EXPECT_EQ(files, 1) << mode;
  }
}

TEST(HostileSqlite, PathsMayHoldAnything) {
  const TestDatabase database(Small(), "50% of ?mode=memory#x.sqlite");
  EXPECT_EQ(ReadNsight(database.path()).ops.size(), 3u);
}

}  // namespace
}  // namespace gprof

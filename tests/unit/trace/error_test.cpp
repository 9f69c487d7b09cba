// Messages for files that are not traces: what, why, and what to do.
#include "gprof/error.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "chunks.h"
#include "trace/load/load.h"
#include "trace_text.h"

namespace gprof {
namespace {

using namespace std::string_view_literals;
using testing::HasSubstr;

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "gprof-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  std::string operator/(std::string_view name) const { return path_ + "/" + std::string(name); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

void Write(const std::string& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

void ExpectUnreadable(const std::string& path, std::string_view why, std::string_view hint) {
  try {
    LoadTrace(path);
    ADD_FAILURE() << path << " was read";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ExitCode::kUnreadable);
    EXPECT_THAT(e.what(), HasSubstr("'" + path + "'"));
    EXPECT_THAT(e.what(), HasSubstr(std::string(why)));
    EXPECT_THAT(e.hint(), HasSubstr(std::string(hint)));
  }
}

TEST(Errors, NameWhatIsThereInstead) {
  const TemporaryFolder folder;
  ExpectUnreadable(folder / "missing.trace", "No such file", "check the name");
  ExpectUnreadable(folder.path(), "folder", "give a file in it");
  ExpectUnreadable("/dev/null", "device", "give a regular file");
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  ExpectUnreadable(folder / "pipe", "named pipe", "<(command)");  // at once, though nobody writes to it
  const int listener = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{AF_UNIX, {}};
  (folder / "socket").copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ExpectUnreadable(folder / "socket", "socket", "give a regular file");
  close(listener);
  struct Case {
    std::string_view name, bytes, why, hint;
  };
  for (const Case& c : {
           Case{"empty.trace", "", "empty", "record it again"},
           Case{"a.sqlite", "SQLite format 3\0 and more"sv, "SQLite", "profile"},
           Case{"a.runs.json", "{\n  \"schema\": \"gprof.runs/1\"}"sv, "gprof-cli document", "diff"},
           Case{"a.json", " \n{\"traceEvents\": []}", "JSON", "profile"},
           Case{"b.json", "[1, 2]", "JSON", "profile"},
           Case{"a.json.gz", "\x1F\x8B\x08\0\0"sv, "gzip", "report and info"},
           Case{"a.zst", "\x28\xB5\x2F\xFD\0\0"sv, "zstd", "zstd -d"},
           Case{"app", "\x7F\x45LF\x02\x01\x01"sv, "ELF", "profile"},
           Case{"app.sh", "#!/bin/sh\n", "script", "profile"},
           Case{"a.nsys-rep", "\x01\x02\x03\x04"sv, "Nsight Systems", "nsys"},
           Case{"a.ncu-rep", "NVR\0\x01"sv, "Nsight Compute", "ncu"},
           Case{"notes.txt", "dear diary\n", "text", "profile"},
           Case{"noise", "\x01\x02\x03\xFE\xFF"sv, "unknown kind", "profile"},
       }) {
    SCOPED_TRACE(c.name);
    const std::string path = folder / c.name;
    Write(path, c.bytes);
    ExpectUnreadable(path, c.why, c.hint);
  }
}

TEST(Errors, ATraceOfANewerFormatSaysSo) {
  const TemporaryFolder folder;
  std::vector<std::string> chunks = SplitChunks(AssembleTrace("thread tid=1\nend time_ns=5\n"));
  for (std::string& chunk : chunks) {
    chunk = WithHeader(chunk, [](trace::ChunkHeader& h) { h.version = 7; });
  }
  Write(folder / "new.trace", Join(chunks));
  ExpectUnreadable(folder / "new.trace", "format version 7, this one reads up to 1", "newer");
}

TEST(Errors, AnUnreadableFileNamesTheSystemsReason) {
  if (geteuid() == 0) GTEST_SKIP() << "root may read everything";
  const TemporaryFolder folder;
  Write(folder / "secret", "x");
  chmod((folder / "secret").c_str(), 0);
  ExpectUnreadable(folder / "secret", "Permission denied", "permission");
}

// Indexes are 32 bits wide, and the last of them stands for none.
TEST(Errors, MoreRecordsThanTheModelCanNumberAreRefused) {
  EXPECT_NO_THROW(CheckSize({500'000'000, 0, 1'000'000'000}, "run.trace"));
  EXPECT_NO_THROW(CheckSize({kNone - 1}, "run.trace"));
  for (const RecordCounts& counts : {RecordCounts{kNone}, RecordCounts{1, kNone - 1}, RecordCounts{~uint64_t{0}, 2}}) {
    EXPECT_THROW(CheckSize(counts, "run.trace"), Error);
  }
}

TEST(Errors, NoneForADamagedTrace) {
  const TemporaryFolder folder;
  std::string bytes = AssembleTrace("thread tid=1\n");
  bytes[100] = static_cast<char>(bytes[100] ^ 1);
  Write(folder / "bad.trace", bytes);
  EXPECT_EQ(LoadTrace(folder / "bad.trace").health.damaged_chunks, 1u);
  Write(folder / "cut.trace", bytes.substr(0, 5));
  EXPECT_TRUE(LoadTrace(folder / "cut.trace").health.is_truncated);
}

TEST(Files, AreReadFromAFile) {
  const TemporaryFolder folder;
  const std::string bytes = AssembleTrace("thread tid=1 name=\"main\"\nend time_ns=5 reason=1\n");
  Write(folder / "good.trace", bytes);
  const Trace t = LoadTrace(folder / "good.trace");
  EXPECT_TRUE(t.health.IsComplete());
  EXPECT_EQ(t.health.file_bytes, bytes.size());
  EXPECT_EQ(t.path, folder / "good.trace");
}

TEST(Files, AreReadFromAPipeOfTheShell) {
  const std::string bytes = AssembleTrace("thread tid=1\nend time_ns=5 reason=1\n");
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  ASSERT_EQ(write(ends[1], bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  close(ends[1]);
  const Trace t = LoadTrace("/dev/fd/" + std::to_string(ends[0]));
  close(ends[0]);
  EXPECT_TRUE(t.health.IsComplete());
  EXPECT_EQ(t.threads.size(), 1u);
}

}  // namespace
}  // namespace gprof

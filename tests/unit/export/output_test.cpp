#define ZLIB_CONST
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "export/output/fresh_output.h"
#include "export/output/output_stream.h"
#include "gprof/error.h"

namespace gprof::test {
namespace {

namespace fs = std::filesystem;

class Output : public testing::Test {
 protected:
  Output() {
    std::string name = (fs::temp_directory_path() / "gprof-export-XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  ~Output() override { fs::remove_all(folder_); }

  std::string Path(const std::string& name) const { return (folder_ / name).string(); }
  std::size_t Files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }
  static std::string Read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  fs::path folder_;
};

TEST_F(Output, NothingIsThereBeforeTheEnd) {
  FreshOutput output(Path("a"), FreshOutput::Kind::kBytes);
  output.Write("one ");
  EXPECT_FALSE(fs::exists(Path("a")));
  output.Write("two");
  output.Finish();
  EXPECT_EQ(Read(Path("a")), "one two");
  EXPECT_EQ(Files(), 1u);
}

TEST_F(Output, WhatWasThereStaysWhenItFails) {
  std::ofstream(Path("a")) << "old";
  {
    FreshOutput output(Path("a"), FreshOutput::Kind::kBytes);
    output.Write("new");
  }
  EXPECT_EQ(Read(Path("a")), "old");
  EXPECT_EQ(Files(), 1u);
}

TEST_F(Output, ALinkStaysALink) {
  std::ofstream(Path("a")) << "old";
  fs::create_symlink("a", Path("link"));
  FreshOutput output(Path("link"), FreshOutput::Kind::kBytes);
  output.Write("new");
  output.Finish();
  EXPECT_TRUE(fs::is_symlink(Path("link")));
  EXPECT_EQ(Read(Path("a")), "new");
}

TEST_F(Output, FilesAndFoldersOfWritersAreMoved) {
  FreshOutput file(Path("f"), FreshOutput::Kind::kFile);
  std::ofstream(file.work_path()) << "data";
  file.Finish();
  EXPECT_EQ(Read(Path("f")), "data");

  fs::create_directory(Path("d"));
  std::ofstream(Path("d/old")) << "old";
  std::ofstream(Path("d/same")) << "old";
  FreshOutput folder(Path("d/"), FreshOutput::Kind::kFolder);
  std::ofstream(folder.work_path() + "/same") << "new";
  EXPECT_EQ(Read(Path("d/same")), "old");
  folder.Finish();
  EXPECT_EQ(Read(Path("d/same")), "new");
  EXPECT_EQ(Read(Path("d/old")), "old");
  EXPECT_EQ(Files(), 2u);
}

TEST_F(Output, FoldersThatAreNotThereAreAnError) {
  EXPECT_THROW(FreshOutput(Path("no/such"), FreshOutput::Kind::kBytes), Error);
  EXPECT_THROW(FreshOutput(Path("no/such"), FreshOutput::Kind::kFolder), Error);
}

std::string Unpack(const std::string& packed) {
  z_stream stream{};
  EXPECT_EQ(inflateInit2(&stream, 15 + 16), Z_OK);
  std::string text;
  unsigned char block[4096];
  stream.next_in = reinterpret_cast<const Bytef*>(packed.data());
  stream.avail_in = static_cast<uInt>(packed.size());
  int result = Z_OK;
  while (result == Z_OK) {
    stream.next_out = block;
    stream.avail_out = sizeof block;
    result = inflate(&stream, Z_NO_FLUSH);
    text.append(reinterpret_cast<const char*>(block), sizeof block - stream.avail_out);
  }
  EXPECT_EQ(result, Z_STREAM_END);
  inflateEnd(&stream);
  return text;
}

TEST(OutputStream, CompressedBytesComeBack) {
  for (const std::size_t size : {0u, 1u, 1'000u, 3'000'000u}) {
    std::string text, packed;
    while (text.size() < size) text += std::to_string(text.size() * 7919) + ",";
    OutputStream out([&](std::string_view block) { packed += block; }, true);
    for (std::size_t at = 0; at < text.size(); at += 777) out.Write(std::string_view(text).substr(at, 777));
    out.Finish();
    EXPECT_EQ(Unpack(packed), text);
    if (size > 1'000) {
      EXPECT_LT(packed.size(), text.size() / 2);
    }
  }
}

// ---- what a process leaves that is ended in the middle ----

// Waits for a child that runs `f` and does not come back from it; the signal that ended it.
template <class F>
int SignalOfChild(F f) {
  const pid_t child = fork();
  if (child == 0) {
    const rlimit no_core = {0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    f();
    _exit(1);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

bool HasNamelessFiles(const fs::path& folder) {
  const int descriptor = open(folder.c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600);
  if (descriptor >= 0) close(descriptor);
  return descriptor >= 0 && fs::exists("/proc/self/fd");
}

TEST_F(Output, BytesLeaveNothingBehindWhereTheProcessIsKilled) {
  if (!HasNamelessFiles(folder_)) GTEST_SKIP() << "the file system has no files without a name";
  EXPECT_EQ(SignalOfChild([&] {
              FreshOutput output(Path("a"), FreshOutput::Kind::kBytes);
              output.Write("half");
              raise(SIGKILL);
            }),
            SIGKILL);
  EXPECT_EQ(Files(), 0u);
}

TEST_F(Output, FilesAndFoldersGoWithTheSignalsThatEndAProcess) {
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
    EXPECT_EQ(SignalOfChild([&] {
                FreshOutput file(Path("a"), FreshOutput::Kind::kFile);
                std::ofstream(file.work_path()) << "half";
                FreshOutput folder(Path("b"), FreshOutput::Kind::kFolder);
                for (int i = 0; i < 300; ++i) std::ofstream(folder.work_path() + "/" + std::to_string(i)) << "half";
                raise(signal);
              }),
              signal);
    EXPECT_EQ(Files(), 0u) << signal;
  }
}

TEST_F(Output, ASignalThatIsIgnoredStaysIgnored) {
  EXPECT_EQ(SignalOfChild([&] {
              signal(SIGHUP, SIG_IGN);
              FreshOutput file(Path("a"), FreshOutput::Kind::kFile);
              std::ofstream(file.work_path()) << "whole";
              raise(SIGHUP);
              file.Finish();
            }),
            0);
  EXPECT_EQ(Read(Path("a")), "whole");
  EXPECT_EQ(Files(), 1u);
}

TEST_F(Output, SignalsAreAsBeforeWhenItIsDone) {
  {
    FreshOutput output(Path("a"), FreshOutput::Kind::kFolder);
    output.Finish();
  }
  struct sigaction action = {};
  ASSERT_EQ(sigaction(SIGTERM, nullptr, &action), 0);
  EXPECT_EQ(action.sa_handler, SIG_DFL);
  EXPECT_EQ(SignalOfChild([] { raise(SIGTERM); }), SIGTERM);
  EXPECT_TRUE(fs::exists(Path("a")));
}

TEST_F(Output, LeftoversOfTheKilledGoWithALaterRun) {
  std::string gone, just_now;
  for (std::string* path : {&gone, &just_now}) {
    EXPECT_EQ(SignalOfChild([&] {
                FreshOutput output(Path("a"), FreshOutput::Kind::kFile);
                std::ofstream(output.work_path()) << "half";
                raise(SIGKILL);
              }),
              SIGKILL);
    for (const auto& entry : fs::directory_iterator(folder_)) {
      if (entry.path() != gone) *path = entry.path();
    }
  }
  const auto two_hours_ago = fs::file_time_type::clock::now() - std::chrono::hours(2);
  const std::string others[] = {Path("a.newer"), Path("a.new1x"), Path("b.new999999")};
  for (const std::string& path : others) std::ofstream(path) << "not ours";
  const std::string alive = Path("a.new" + std::to_string(getpid()));
  std::ofstream(alive) << "being written";
  for (const auto& entry : fs::directory_iterator(folder_)) fs::last_write_time(entry.path(), two_hours_ago);
  fs::last_write_time(just_now, fs::file_time_type::clock::now());
  { FreshOutput output(Path("a"), FreshOutput::Kind::kBytes); }
  EXPECT_FALSE(fs::exists(gone));
  for (const std::string& path : {others[0], others[1], others[2], alive, just_now})
    EXPECT_TRUE(fs::exists(path)) << path;
}

}  // namespace
}  // namespace gprof::test

// What a traced process would have in a run folder, for tests of the launcher.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "gprof/trace/run_folder.h"

namespace gprof {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "gprof-launch-XXXXXX").string();
    if (mkdtemp(name.data()) != nullptr) path_ = name;
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

inline std::string ReadWhole(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Field 22 of /proc/PID/stat.
inline uint64_t StartTicksOf(pid_t pid) {
  const std::string stat = ReadWhole("/proc/" + std::to_string(pid) + "/stat");
  std::istringstream fields(stat.substr(stat.rfind(')') + 2));
  std::string field;
  for (int number = 3; number <= 22; ++number) fields >> field;
  return std::stoull(field);
}

// Mapped, so that a test can change it.
class FakeArena {
 public:
  FakeArena(const std::string& folder, pid_t pid, uint64_t start_ticks, const std::string& order = "")
      : path_(folder + "/" + std::to_string(pid) + "-1.arena") {
    descriptor_ = open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    EXPECT_GE(descriptor_, 0) << path_;
    EXPECT_EQ(ftruncate(descriptor_, 8192), 0);
    void* const page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
    EXPECT_NE(page, MAP_FAILED);
    header_ = static_cast<trace::ArenaHeader*>(page);
    header_->pid = static_cast<uint32_t>(pid);
    header_->start_ticks = start_ticks;
    header_->size_bytes = 8192;
    header_->state.store(static_cast<uint32_t>(trace::ArenaState::kRecording));
    header_->magic = trace::kArenaMagic;
    EXPECT_EQ(pwrite(descriptor_, order.data(), order.size(), 4096), static_cast<ssize_t>(order.size()));
  }
  ~FakeArena() {
    munmap(header_, 4096);
    close(descriptor_);
  }
  FakeArena(const FakeArena&) = delete;
  FakeArena& operator=(const FakeArena&) = delete;

  trace::ArenaHeader& header() { return *header_; }
  const std::string& path() const { return path_; }
  int descriptor() const { return descriptor_; }
  bool Exists() const { return std::filesystem::exists(path_); }

 private:
  std::string path_;
  int descriptor_ = -1;
  trace::ArenaHeader* header_ = nullptr;
};

}  // namespace gprof

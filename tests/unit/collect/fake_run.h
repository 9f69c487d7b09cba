// Folders as /proc and a run have them, for tests of collectors.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

#include "collect/run/journal.h"
#include "trace/text/dump.h"

namespace gprof {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "gprof-collect-XXXXXX").string();
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
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// The same file with new contents, as a file of /proc that is open already must show.
inline void Write(const std::string& path, std::string_view text) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

class FakeProc {
 public:
  const std::string& path() const { return folder_.path(); }
  std::string Of(pid_t pid) const { return path() + "/" + std::to_string(pid); }

  void SetProcess(pid_t pid, int64_t pages, int64_t cpu_ticks = 0, int64_t start_ticks = 1) const {
    Write(Of(pid) + "/statm", std::to_string(pages * 2) + " " + std::to_string(pages) + " 1 1 0 1 0\n");
    std::string stat = std::to_string(pid) + " (a) b) S";
    for (int field = 4; field <= 30; ++field) {
      stat += " " + std::to_string(field == 14 ? cpu_ticks : field == 22 ? start_ticks : 0);
    }
    Write(Of(pid) + "/stat", stat + "\n");
    if (!std::filesystem::exists(Of(pid) + "/task")) SetThread(pid, pid, 0);
  }
  void SetThread(pid_t pid, pid_t tid, int64_t waited_ns, const std::string& children = "") const {
    const std::string task = Of(pid) + "/task/" + std::to_string(tid);
    Write(task + "/schedstat", "5 " + std::to_string(waited_ns) + " 7\n");
    Write(task + "/children", children);
  }
  // What is open of it reads as empty from then on, as files of dead processes do.
  void End(pid_t pid) const {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(Of(pid))) {
      if (entry.is_regular_file()) Write(entry.path(), "");
    }
    std::filesystem::remove_all(Of(pid));
  }

 private:
  TemporaryFolder folder_;
};

// The records of a trace as text, a line each.
inline std::string Records(const std::string& bytes, bool has_chunk_lines = false) {
  std::string text;
  DumpOptions options;
  options.has_chunk_lines = has_chunk_lines;
  if (!bytes.empty()) DumpRecords(bytes, options, [&](std::string_view line) { text.append(line) += '\n'; });
  return text;
}

}  // namespace gprof

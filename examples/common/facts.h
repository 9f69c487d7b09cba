// What a program knows about its own work, written as JSON so that tests can compare it with what a profile says.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace gprof::examples {

// Numbers by section, item and field: {"memcpy": {"h2d/pinned/device/async": {"count": 3, "bytes": 12288}}}.
class Facts {
 public:
  // Any thread may call it.
  void Add(const std::string& section, const std::string& item, const std::string& field, std::int64_t amount);
  void AddCount(const std::string& section, const std::string& item, std::int64_t amount = 1) {
    Add(section, item, "count", amount);
  }
  // False when the file cannot be written.
  bool Write(const std::string& path, const std::string& program) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::map<std::string, std::map<std::string, std::int64_t>>> sections_;
};

}  // namespace gprof::examples

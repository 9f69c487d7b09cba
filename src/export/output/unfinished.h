// Files and folders that are being made, and go where a signal ends the process before they are done.
#pragma once

#include <string>

namespace gprof {

// At most 4 at a time; more are not looked after. Signals that the program handles or ignores itself are left to it.
class Unfinished {
 public:
  explicit Unfinished(const std::string& path, bool is_folder);
  ~Unfinished();
  Unfinished(const Unfinished&) = delete;
  Unfinished& operator=(const Unfinished&) = delete;

 private:
  int slot_ = -1;
};

// Removes what an export left beside `target` that was killed where nothing could be done: TARGET.new<pid> of a process
// that is no more, an hour old at least, as the folder may be shared with machines whose processes are not known here.
void RemoveLeftOver(const std::string& target);

}  // namespace gprof

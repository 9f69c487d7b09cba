#include "launch/run/input.h"

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gprof {

SharedInput::SharedInput() {
  struct stat status;
  const bool is_file = fstat(STDIN_FILENO, &status) == 0 && S_ISREG(status.st_mode);
  if (is_file) begin_ = lseek(STDIN_FILENO, 0, SEEK_CUR);
}

void SharedInput::Rewind() const {
  if (begin_ >= 0) lseek(STDIN_FILENO, begin_, SEEK_SET);
}

bool SharedInput::IsForOneProgram() const {
  struct stat status;
  if (fstat(STDIN_FILENO, &status) != 0 || !(S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode))) return false;
  pollfd input = {STDIN_FILENO, POLLIN, 0};
  return poll(&input, 1, 0) == 1 && (input.revents & POLLIN) != 0;
}

}  // namespace gprof

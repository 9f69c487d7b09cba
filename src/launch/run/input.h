// stdin of programs that run one after the other.
#pragma once

#include <sys/types.h>

namespace gprof {

class SharedInput {
 public:
  SharedInput();

  // Before every program: where stdin is a file, lets it be read from where it stood at the beginning.
  void Rewind() const;

  // What comes through a pipe can be read once. True only where something waits there to be read: most programs are
  // given a pipe and do not care.
  bool IsForOneProgram() const;

 private:
  off_t begin_ = -1;  // -1: not a file
};

}  // namespace gprof

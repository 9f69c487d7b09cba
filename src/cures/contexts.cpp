// The end of a context takes what belongs to it along.
#include "cures/calls.h"
#include "cures/device_pool.h"
#include "cures/host_buffers.h"
#include "cures/managed.h"

namespace gprof::cures {

int EndContext(Call& call, const Words& words) {
  UnpinAll();
  FreePooled();
  ForgetBlocks();
  ForgetAllManaged();
  return call.Forward(words);
}

}  // namespace gprof::cures

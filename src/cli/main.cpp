#include <string>
#include <vector>

#include "base/machine/process_memory.h"
#include "cli/entry/run.h"

int main(int argc, char** argv) {
  gprof::KeepFreedMemory();
  return gprof::cli::RunCommandLine(std::vector<std::string>(argv + 1, argv + argc));
}

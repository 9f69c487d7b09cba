// Processes of this program that summarise traces: one that dies takes no other with it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace gprof::cli {

struct WorkerOptions {
  std::string program = "/proc/self/exe";  // is called with `partial --quiet -o FILE ... -- PATH...`
  std::size_t workers = 1;                 // at the same time; they share the cores of this machine
  bool keeps_results = true;               // false: for a verdict alone
};

// Partials of the traces, in files of the folder. What a worker died of is tried again, each trace by itself; one that
// its worker dies of once more is in the result as one that cannot be read. A terminal sees how far it is; a signal
// that ends this process removes the folder.
std::vector<std::string> MakePartials(const std::vector<std::string>& traces, const std::string& folder,
                                      WorkerOptions options);

// The partial of the traces as the module gprof_cli makes it with Dask or Ray. `cluster` is the address of a scheduler;
// empty: so many workers on this machine.
std::string MakeWithPython(const std::vector<std::string>& traces, const std::string& engine, std::size_t workers,
                           const std::string& cluster);

// The union of the files.
std::string MergeFiles(const std::vector<std::string>& paths);

}  // namespace gprof::cli

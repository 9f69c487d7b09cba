#include "cli/arguments/stack_arguments.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "cli/arguments/options.h"
#include "gprof/error.h"
#include "gprof/trace/env.h"

namespace gprof::cli {
namespace {

constexpr std::array<std::string_view, 4> kKinds = {"kernel", "memory", "sync", "other"};
constexpr uint64_t kUsualNs = 80'000;

[[noreturn]] void Refuse(const std::string& word) {
  throw Error(ExitCode::kUsage, "--cudabacktrace: unknown value '" + word + "'",
              "use kernel, memory, sync, other, all, a list of them, each with :NS if you like, or none");
}

uint64_t NsOf(const std::string& word, std::string_view digits) {
  uint64_t ns = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), ns);
  if (error != std::errc() || end != digits.data() + digits.size()) Refuse(word);
  return ns;
}

// "kernel,sync:0" as the tracer wants it: "kernel:80000,sync:0".
std::string CudaStacks(const std::string& asked) {
  std::map<std::string_view, uint64_t> of_kinds;
  for (const std::string& word : SplitList(asked)) {
    const std::size_t colon = word.find(':');
    const std::string kind = word.substr(0, colon);
    const uint64_t ns = colon == std::string::npos ? kUsualNs : NsOf(word, std::string_view(word).substr(colon + 1));
    if (kind == "none" || kind == "false") {
      of_kinds.clear();
    } else if (kind == "all" || kind == "true") {
      for (const std::string_view one : kKinds) of_kinds[one] = ns;
    } else if (const auto* const known = std::find(kKinds.begin(), kKinds.end(), kind); known != kKinds.end()) {
      of_kinds[*known] = ns;
    } else {
      Refuse(word);
    }
  }
  std::string text;
  for (const auto& [kind, ns] : of_kinds) {
    text += (text.empty() ? "" : ",") + std::string(kind) + ":" + std::to_string(ns);
  }
  return text;
}

}  // namespace

void StackArguments::AddOptions(CLI::App& app, const std::string& group) {
  app.add_option("--osrt-backtrace-threshold", os_calls_ns_,
                 "record the call stack of operating system calls that take this long, in ns (default 80000)")
      ->type_name("NS")
      ->check(WholeNumber(0, 1'000'000'000'000))
      ->group(group);
  app.add_option("--osrt-backtrace-depth", os_frames_,
                 "maximum frames of these call stacks, innermost first (default 24; 0: no stacks)")
      ->type_name("N")
      ->check(WholeNumber(0, 256))
      ->group(group);
  app.add_option("--osrt-backtrace-stack-size", os_bytes_, "bytes of stack to search for these frames (default 65536)")
      ->type_name("BYTES")
      ->check(WholeNumber(512, 1 << 20))
      ->group(group);
  app.add_option("--cudabacktrace", cuda_,
                 "record the call stack of CUDA calls that take NS or longer (default 80000): kernel launches, memory "
                 "calls, synchronisation, others, or all (default none)")
      ->type_name("none|kernel|memory|sync|other|all[:NS],...")
      ->group(group);
}

bool StackArguments::AreWanted(const LaunchOptions& options) const {
  return (options.trace_osrt && os_frames_ > 0) || !CudaStacks(cuda_).empty();
}

void StackArguments::Read(LaunchOptions* options) const {
  if (options->trace_osrt && os_frames_ > 0) {
    options->variables.emplace_back(
        trace::env::kOsrtStacks,
        std::to_string(os_calls_ns_) + "," + std::to_string(os_frames_) + "," + std::to_string(os_bytes_));
  }
  const std::string cuda = CudaStacks(cuda_);
  if (cuda.empty()) return;
  if (!options->trace_cuda) throw Error(ExitCode::kUsage, "--cudabacktrace needs CUDA calls", "add cuda to -t");
  options->variables.emplace_back(trace::env::kCudaStacks, cuda);
}

}  // namespace gprof::cli

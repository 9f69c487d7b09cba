// gprof-cli env: what prepares programs for being attached to. docs/commands/env.md
#include <CLI/CLI.hpp>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "cli/arguments/options.h"
#include "cli/commands/commands.h"
#include "cli/talk.h"
#include "gprof/error.h"
#include "gprof/trace/env.h"
#include "launch/run/find_program.h"
#include "launch/salvage/run_folder_files.h"

namespace gprof::cli {
namespace {

using Variables = std::vector<std::pair<std::string, std::string>>;

// In double quotes, as systemd, Dockerfiles and YAML read them.
std::string Quoted(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return quoted + "\"";
}

class Env : public Command {
 public:
  void AddOptions(CLI::App& app) override {
    app.add_option("--format", format_,
                   "shell (default), docker (lines of a Dockerfile), k8s (a container's env), systemd (a unit's "
                   "lines), or plain (NAME=VALUE)")
        ->type_name("shell|docker|k8s|systemd|plain")
        ->check(OneOf({"shell", "docker", "k8s", "systemd", "plain"}))
        ->group("Output");
    app.add_option("--library", library_, "where the tracer will be in an image (default: where it is here)")
        ->type_name("PATH")
        ->group("Output");
  }

  int Run() override {
    std::string text;
    for (const auto& [name, value] : Collect()) text += LineOf(name, value);
    WriteResult(text);
    return CodeOf(ExitCode::kGood);
  }

 private:
  Variables Collect() const {
    const std::string tracer = library_.empty() ? std::filesystem::absolute(FindTracer()).string() : library_;
    if (tracer[0] != '/') {
      throw Error(ExitCode::kUsage, "--library needs an absolute path, not '" + library_ + "'",
                  "example: --library /opt/gprof-cli/lib/gprof-cli/libgprof-tracer.so");
    }
    Variables variables;
    const auto inject = [&](const char* name, const char* next) {
      const char* const before = std::getenv(name);
      if (before != nullptr && *before != 0 && tracer != before) variables.emplace_back(next, before);
      variables.emplace_back(name, tracer);
    };
    inject("CUDA_INJECTION64_PATH", trace::env::kNextCudaInjection);
    inject("NVTX_INJECTION64_PATH", trace::env::kNextNvtxInjection);
    variables.emplace_back(trace::env::kArmed, RunFolderBases().front());
    return variables;
  }

  std::string LineOf(const std::string& name, const std::string& value) const {
    if (format_ == "docker") return "ENV " + name + "=" + Quoted(value) + "\n";
    if (format_ == "k8s") return "- name: " + name + "\n  value: " + Quoted(value) + "\n";
    if (format_ == "systemd") return "Environment=" + Quoted(name + "=" + value) + "\n";
    if (format_ == "plain") return name + "=" + value + "\n";
    return "export " + name + "=" + ShellQuoted(value) + "\n";
  }

  std::string format_ = "shell", library_;
};

}  // namespace

std::unique_ptr<Command> MakeEnv() { return std::make_unique<Env>(); }

}  // namespace gprof::cli

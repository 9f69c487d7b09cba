#include "cli/proof/change_values.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string_view>
#include <thread>
#include <utility>

#include "base/text.h"
#include "cli/arguments/options.h"
#include "gprof/error.h"
#include "gprof/trace/env.h"

namespace gprof::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLibraryFolders[] = {"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64",
                                           "/usr/lib", "/usr/local/lib"};

std::string FirstLineOf(const fs::path& path) {
  std::ifstream stream(path);
  std::string line;
  std::getline(stream, line);
  return line;
}

std::string LibraryOf(std::initializer_list<const char*> names) {
  std::error_code ignored;
  for (const char* const folder : kLibraryFolders) {
    for (const char* const name : names) {
      const std::string path = std::string(folder) + "/" + name;
      if (fs::exists(path, ignored)) return path;
    }
  }
  return "";
}

// Beside the tracer, where it was installed.
std::string CuresLibrary() {
  std::error_code ignored;
  const fs::path self = fs::read_symlink("/proc/self/exe", ignored);
  const std::string path = (self.parent_path().parent_path() / "lib" / "gprof-cli" / "libgprof-cures.so").string();
  return fs::exists(path, ignored) ? path : "";
}

unsigned Cores() { return std::max(1U, std::thread::hardware_concurrency()); }

// "0-15,32-47" beside the first NVIDIA GPU; empty where there is none, or all cores are beside it.
std::string CoresNearGpu() {
  std::error_code ignored;
  for (const auto& device : fs::directory_iterator("/sys/bus/pci/devices", ignored)) {
    const bool is_gpu =
        FirstLineOf(device.path() / "vendor") == "0x10de" && FirstLineOf(device.path() / "class").starts_with("0x03");
    if (!is_gpu) continue;
    const std::string near = FirstLineOf(device.path() / "local_cpulist");
    return near == FirstLineOf("/sys/devices/system/cpu/online") ? "" : near;
  }
  return "";
}

// "0-1"; empty where there is one node alone.
std::string Nodes() {
  const std::string online = FirstLineOf("/sys/devices/system/node/online");
  return online.find_first_of("-,") == std::string::npos ? "" : online;
}

struct ValueName {
  std::string_view name;
  std::string_view what;  // that is missing where there is no value
  std::function<std::string()> find;
};

const ValueName* FindValue(std::string_view name) {
  static const ValueName kValues[] = {
      {"cores", "", [] { return std::to_string(Cores()); }},
      {"half_cores", "a second core", [] { return Cores() > 1 ? std::to_string(Cores() / 2) : ""; }},
      {"cores_near_gpu", "a GPU with some cores nearer than others", CoresNearGpu},
      {"nodes", "a second NUMA node", Nodes},
      {"first_node", "a second NUMA node", [] { return Nodes().empty() ? "" : std::string("0"); }},
      {"cures", "libgprof-cures.so", CuresLibrary},
      {"jemalloc", "libjemalloc",
       [] {
         return LibraryOf({"libjemalloc.so.2", "libjemalloc.so"});
       }},
      {"tcmalloc", "libtcmalloc",
       [] {
         return LibraryOf({"libtcmalloc.so.4", "libtcmalloc_minimal.so.4", "libtcmalloc.so"});
       }},
  };
  const auto found =
      std::find_if(std::begin(kValues), std::end(kValues), [&](const auto& v) { return v.name == name; });
  return found == std::end(kValues) ? nullptr : found;
}

// With the values of this machine in place of what stands in braces.
std::string Filled(std::string text, const std::string& cache_folder, std::string* why_not) {
  for (std::size_t at = 0; (at = text.find('{', at)) != std::string::npos;) {
    const std::size_t end = text.find('}', at);
    const std::string name = text.substr(at + 1, end - at - 1);
    const ValueName* const known = FindValue(name);
    const std::string value = name == "cache" ? cache_folder : known == nullptr ? "" : known->find();
    if (value.empty()) *why_not = "this machine has not got " + std::string(known == nullptr ? name : known->what);
    text.replace(at, end + 1 - at, value);
    at += value.size();
  }
  return text;
}

std::vector<std::string> WordsOf(const std::string& text) {
  std::vector<std::string> words;
  std::istringstream stream(text);
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

// Between the values of one variable.
char SeparatorOf(std::string_view name) {
  if (name == "PYTORCH_CUDA_ALLOC_CONF" || name == trace::env::kCures) return ',';
  return name == "XLA_FLAGS" ? ' ' : ':';
}

std::string ValueNow(const std::string& name, const Variables& variables) {
  for (auto at = variables.rbegin(); at != variables.rend(); ++at) {
    if (at->first == name) return at->second;
  }
  const char* const value = std::getenv(name.c_str());
  return value == nullptr ? "" : value;
}

bool IsInPath(const std::string& program) {
  std::istringstream folders(EnvironmentText({"PATH"}, "/usr/bin:/bin"));
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (access((folder + "/" + program).c_str(), X_OK) == 0) return true;
  }
  return false;
}

std::string HowText(const AppliedChange& change) {
  std::string text;
  for (const auto& [name, value] : change.variables) {
    text += (text.empty() ? "" : " ") + name + "=" + ShellQuoted(value);
  }
  for (const std::string& word : change.wrapper) text += (text.empty() ? "" : " ") + ShellQuoted(word);
  return text;
}

// Adds "NAME=VALUE" or "NAME+=VALUE". False: it is so already.
bool AddVariable(const std::string& text, const Variables& variables, AppliedChange* change) {
  const std::size_t equals = text.find('=');
  const bool is_added = text[equals - 1] == '+';
  const std::string name = text.substr(0, equals - (is_added ? 1 : 0));
  std::string value = text.substr(equals + 1);
  const std::string now = ValueNow(name, variables);
  if (is_added && now.find(value) != std::string::npos) return false;
  if (is_added) change->added.emplace_back(name, value);
  if (is_added && !now.empty()) value = now + SeparatorOf(name) + value;
  change->variables.emplace_back(name, value);
  return value != now;
}

Variables::const_iterator Find(const Variables& variables, const std::string& name) {
  return std::find_if(variables.begin(), variables.end(), [&](const auto& v) { return v.first == name; });
}

// One sets the variable, and the other one has a value for it, too.
bool Clashes(const AppliedChange& all, const AppliedChange& change, const std::string& name) {
  const bool is_in_both = Find(all.variables, name) != all.variables.end();
  return is_in_both && (Find(all.added, name) == all.added.end() || Find(change.added, name) == change.added.end());
}

void Join(const std::string& name, const std::string& value, const AppliedChange& change, AppliedChange* all) {
  const auto there =
      std::find_if(all->variables.begin(), all->variables.end(), [&](const auto& v) { return v.first == name; });
  if (there == all->variables.end()) {
    all->variables.emplace_back(name, value);
    return;
  }
  const std::string& more = Find(change.added, name)->second;
  if (there->second.find(more) == std::string::npos) there->second += SeparatorOf(name) + more;
}

}  // namespace

AppliedChange ApplyChange(const ChangeInfo& change, const Variables& variables, const std::string& cache_folder) {
  AppliedChange applied;
  applied.name = change.name;
  applied.what = change.what;
  applied.risk = change.risk;
  applied.permanent = change.permanent;
  bool is_new = !change.wrapper.empty();
  for (const std::string& word : WordsOf(std::string(change.environment))) {
    const std::string text = Filled(word, cache_folder, &applied.why_not);
    if (AddVariable(text, variables, &applied)) is_new = true;
  }
  applied.wrapper = WordsOf(Filled(std::string(change.wrapper), cache_folder, &applied.why_not));
  if (applied.why_not.empty() && !is_new) applied.why_not = "it is so already";
  if (applied.why_not.empty() && !applied.wrapper.empty() && !IsInPath(applied.wrapper.front())) {
    applied.why_not = applied.wrapper.front() + " is not installed";
  }
  applied.how = HowText(applied);
  return applied;
}

AppliedChange ChangeOfVariable(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == 0 || equals == std::string::npos || text.starts_with("GPROF_")) {
    throw Error(ExitCode::kUsage, "--set needs NAME=VALUE, not '" + text + "'", "example: --set OMP_NUM_THREADS=4");
  }
  AppliedChange change;
  change.name = text;
  change.what = "a variable of yours";
  change.permanent = "set the variable where the program is started";
  change.variables.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  change.how = HowText(change);
  return change;
}

AppliedChange Combined(const std::vector<const AppliedChange*>& changes) {
  AppliedChange all;
  for (const AppliedChange* change : changes) {
    const bool clashes = std::any_of(change->variables.begin(), change->variables.end(),
                                     [&](const auto& variable) { return Clashes(all, *change, variable.first); }) ||
                         (!change->wrapper.empty() && !all.wrapper.empty());
    if (clashes) continue;
    all.name += (all.name.empty() ? "" : " + ") + change->name;
    if (!change->risk.empty()) all.risk = change->risk;
    for (const auto& [name, value] : change->variables) Join(name, value, *change, &all);
    all.added.insert(all.added.end(), change->added.begin(), change->added.end());
    if (!change->wrapper.empty()) all.wrapper = change->wrapper;
  }
  all.what = "all of these";
  all.how = HowText(all);
  return all;
}

}  // namespace gprof::cli

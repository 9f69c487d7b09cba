#include <algorithm>
#include <filesystem>
#include <map>
#include <sstream>
#include <string_view>
#include <utility>

#include "base/input_file.h"
#include "base/text.h"
#include "cli/proof/version_source.h"
#include "cli/talk.h"
#include "gprof/error.h"

namespace gprof::cli {
namespace {

namespace fs = std::filesystem;

// A thing of a list: "numpy" of "numpy==2.1.0", "torch" of "torch @ file:///…", "OMP_NUM_THREADS" of
// "OMP_NUM_THREADS=4". What has no value is a thing of its own.
std::string NameOf(const std::string& line) {
  return std::string(Trimmed(line.substr(0, line.find_first_of("=@<>~!: "))));
}

std::vector<std::string> LinesOf(const std::string& path) {
  std::vector<std::string> lines;
  std::istringstream stream(ReadInputFile(path));
  for (std::string line; std::getline(stream, line);) {
    line = std::string(Trimmed(line));
    if (!line.empty() && line.front() != '#') lines.push_back(line);
  }
  return lines;
}

// A name may come twice, as of lines without values.
std::map<std::string, std::string> ByName(const std::vector<std::string>& lines) {
  std::map<std::string, std::string> by_name;
  for (const std::string& line : lines) by_name[NameOf(line)] = line;
  return by_name;
}

std::string FolderOf(const std::string& folder, std::size_t index) {
  return folder + "/versions/" + std::to_string(index);
}

VersionPlace MakePlace(const std::string& folder, std::size_t index, const SourceVersion& version) {
  const std::string own = FolderOf(folder, index);
  std::error_code failed;
  fs::create_directories(own, failed);
  if (failed) throw Error(ExitCode::kLaunchFailed, "cannot create the folder '" + own + "': " + failed.message());
  return {fs::current_path().string(), {{"BISECT_VERSION", version.id}, {"BISECT_FOLDER", own}}, {}};
}

class Lists : public VersionSource {
 public:
  Lists(ListKind kind, const std::string& good, const std::string& bad, std::string folder)
      : kind_(kind), folder_(std::move(folder)), now_(ByName(LinesOf(good))) {
    noun_ = kind == ListKind::kPackages ? "package" : kind == ListKind::kEnvironment ? "variable" : "setting";
    versions_.push_back({good, good, ""});
    lists_.push_back(now_);
    const std::map<std::string, std::string> had = now_, wanted = ByName(LinesOf(bad));
    for (const auto& [name, line] : wanted) {
      const auto old = now_.find(name);
      if (old == now_.end()) {
        Step(name, line, "new");
      } else if (old->second != line) {
        Step(name, line, "was " + old->second);
      }
    }
    for (const auto& [name, line] : had) {
      if (!wanted.contains(name)) Step(name, "", "was " + line);
    }
    if (versions_.size() < 2) {
      throw Error(ExitCode::kUsage, "'" + good + "' and '" + bad + "' list the same",
                  "give lists of the good and of the bad state");
    }
  }

  VersionPlace PlaceOf(std::size_t index) override {
    VersionPlace place = MakePlace(folder_, index, versions_[index]);
    const std::string file = FolderOf(folder_, index) + "/list.txt";
    std::string text;
    for (const auto& [name, line] : lists_[index]) text += line + "\n";
    WriteFile(file, text);
    place.for_commands.emplace_back("BISECT_FILE", file);
    if (kind_ == ListKind::kEnvironment) AddVariables(lists_[index], &place.of_the_version);
    return place;
  }

 private:
  void Step(const std::string& name, const std::string& line, const std::string& what) {
    if (line.empty()) {
      now_.erase(name);
    } else {
      now_[name] = line;
    }
    lists_.push_back(now_);
    versions_.push_back({line.empty() ? "without " + name : line, name, what});
  }

  static void AddVariables(const std::map<std::string, std::string>& list, Variables* variables) {
    for (const auto& [name, line] : list) {
      const std::size_t equals = line.find('=');
      if (equals == std::string::npos) {
        throw Error(ExitCode::kUsage, "'" + line + "' sets no environment variable", "lines are NAME=VALUE");
      }
      variables->emplace_back(name, line.substr(equals + 1));
    }
  }

  ListKind kind_;
  std::string folder_;
  std::map<std::string, std::string> now_;
  std::vector<std::map<std::string, std::string>> lists_;  // of each version, by name
};

class Named : public VersionSource {
 public:
  Named(const std::string& file, std::string folder) : folder_(std::move(folder)) {
    for (const std::string& line : LinesOf(file)) versions_.push_back({line, ShortenMiddle(Printable(line), 12), ""});
    if (versions_.size() >= 2) return;
    throw Error(ExitCode::kUsage, "'" + file + "' has fewer than two versions",
                "write one a line, the good one first and the bad one last");
  }

  VersionPlace PlaceOf(std::size_t index) override { return MakePlace(folder_, index, versions_[index]); }

 private:
  std::string folder_;
};

}  // namespace

std::unique_ptr<VersionSource> ListVersions(ListKind kind, const std::string& good, const std::string& bad,
                                            const std::string& folder) {
  return std::make_unique<Lists>(kind, good, bad, folder);
}

std::unique_ptr<VersionSource> NamedVersions(const std::string& file, const std::string& folder) {
  return std::make_unique<Named>(file, folder);
}

}  // namespace gprof::cli

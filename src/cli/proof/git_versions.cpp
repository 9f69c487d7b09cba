#include <filesystem>
#include <sstream>
#include <utility>

#include "base/input_file.h"
#include "base/machine/scratch_folder.h"
#include "cli/arguments/options.h"
#include "cli/proof/version_source.h"
#include "gprof/error.h"

namespace gprof::cli {
namespace {

namespace fs = std::filesystem;

constexpr char kChooseCommits[] = "give --good and --bad commits of one branch, the good one first";

class Git : public VersionSource {
 public:
  Git(const std::string& good, const std::string& bad, std::string folder)
      : folder_(std::move(folder)), scratch_("git", ExitCode::kLaunchFailed) {
    noun_ = "commit";
    top_ = Line("rev-parse --show-toplevel", "this is no git repository", "change to the folder of the program");
    prefix_ = Line("rev-parse --show-prefix", "git cannot say where in the repository this folder is", "");
    const std::string from = CommitOf(good), to = CommitOf(bad);
    if (!Try("merge-base --is-ancestor " + from + " " + to)) {
      throw Error(ExitCode::kUsage, "'" + good + "' is no ancestor of '" + bad + "'", kChooseCommits);
    }
    Add(Text("log -1 --format=%H%x09%h%x09%s " + from));
    Add(Text("log --first-parent --reverse --format=%H%x09%h%x09%s " + from + ".." + to));
    if (versions_.size() < 2)
      throw Error(ExitCode::kUsage, "no commits between the good and the bad one", kChooseCommits);
  }

  std::string LogLine(const SourceVersion& version) const override {
    return "# first bad commit: [" + version.id + "] " + version.title;
  }

  VersionPlace PlaceOf(std::size_t index) override {
    const SourceVersion& version = versions_[index];
    const std::string tree = TreeOf(version);
    std::error_code ignored;
    if (!fs::exists(tree + "/.git", ignored)) {
      fs::create_directories(folder_ + "/trees", ignored);
      Require("worktree prune && git worktree add --force --detach " + ShellQuoted(tree) + " " + version.id,
              "git cannot make a worktree of " + version.short_id);
      if (fs::exists(tree + "/.gitmodules", ignored)) {
        Require("-C " + ShellQuoted(tree) + " submodule update --init --recursive",
                "git cannot get the submodules of " + version.short_id);
      }
    }
    const std::string folder = prefix_.empty() ? tree : tree + "/" + prefix_;
    if (!fs::is_directory(folder, ignored)) {
      throw Error(ExitCode::kLaunchFailed, version.short_id + " has no folder '" + prefix_ + "'");
    }
    return {folder, {{"BISECT_VERSION", version.id}, {"BISECT_FOLDER", tree}}, {}};
  }

  void Clear() override {
    std::error_code ignored;
    for (const SourceVersion& version : versions_) {
      if (fs::exists(TreeOf(version), ignored)) Try("worktree remove --force " + ShellQuoted(TreeOf(version)));
    }
    Try("worktree prune");
  }

 private:
  std::string TreeOf(const SourceVersion& version) const { return folder_ + "/trees/" + version.short_id; }

  bool Try(const std::string& words) {
    return RunShell("git " + words + " >/dev/null", top_.empty() ? "." : top_, {}, Log()).IsGood();
  }

  void Require(const std::string& words, const std::string& what) {
    if (!Try(words)) throw Error(ExitCode::kLaunchFailed, what + ": " + LastLineOf(Log()));
  }

  std::string Text(const std::string& words, bool* is_good = nullptr) {
    const bool worked = RunShell("git " + words + " 2>/dev/null", top_.empty() ? "." : top_, {}, Log()).IsGood();
    if (is_good != nullptr) *is_good = worked;
    return ReadInputFile(Log());
  }

  std::string Line(const std::string& words, const std::string& what, const std::string& hint) {
    bool is_good = false;
    std::string text = Text(words, &is_good);
    if (!is_good) throw Error(ExitCode::kUsage, what, hint);
    return text.substr(0, text.find('\n'));
  }

  std::string CommitOf(const std::string& name) {
    return Line("rev-parse --verify --quiet " + ShellQuoted(name + "^{commit}"), "'" + name + "' is no commit",
                kChooseCommits);
  }

  void Add(const std::string& log) {
    std::istringstream lines(log);
    for (std::string id, short_id, title;
         std::getline(lines, id, '\t') && std::getline(lines, short_id, '\t') && std::getline(lines, title);) {
      versions_.push_back({id, short_id, title});
    }
  }

  std::string Log() const { return scratch_.path() + "/log"; }

  std::string folder_;
  ScratchFolder scratch_;
  std::string top_, prefix_;
};

}  // namespace

std::unique_ptr<VersionSource> GitVersions(const std::string& good, const std::string& bad, const std::string& folder) {
  return std::make_unique<Git>(good, bad, folder);
}

}  // namespace gprof::cli

// gprof-cli view: the report with its timeline in a browser. docs/commands/view.md
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include "base/input_file.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/arguments/options.h"
#include "cli/arguments/selection_arguments.h"
#include "cli/commands/commands.h"
#include "cli/fleet/fleet_workers.h"
#include "cli/recording/leftovers.h"
#include "cli/render/html_pages.h"
#include "cli/talk.h"
#include "cli/traces.h"
#include "export/exporters.h"
#include "fleet/partial/partial_file.h"
#include "html/page/report_page.h"
#include "html/view/browser.h"
#include "html/view/served_file.h"
#include "report/report.h"

namespace gprof::cli {
namespace {

namespace fs = std::filesystem;

constexpr uint16_t kPerfettoPort = 9001;  // the only one that the page of Perfetto may read from
constexpr const char* kPerfetto = "https://ui.perfetto.dev";
constexpr int64_t kOldSeconds = 24 * 3600;

// "https://host:port", which browsers name a page by; nothing where the address is none of a page.
std::string OriginOf(const std::string& url) {
  const std::size_t host = url.starts_with("https://") ? 8 : url.starts_with("http://") ? 7 : 0;
  const std::size_t end = std::min(url.find_first_of("/?#", host), url.size());
  const bool is_plain = url.find_first_of(" \t\r\n\"'<>#?") == std::string::npos;
  return host == 0 || end == host || !is_plain ? "" : url.substr(0, end);
}

std::string NotAPage(const std::string& url) {
  return OriginOf(url).empty() ? "'" + url + "' is not a URL such as https://perfetto.example.com" : "";
}

// A page that we wrote before.
bool IsPage(const std::string& path) {
  constexpr std::size_t kLooked = 4096;
  const std::string head = StartOfInputFile(path, kLooked);
  return head.starts_with("<!doctype html>") &&
         head.find("name=\"generator\" content=\"gprof-cli\"") != std::string::npos;
}

// Pages of a user are in one folder that nobody else can read.
std::string FolderForPages() {
  const std::string folder = EnvironmentText({"TMPDIR"}, "/tmp") + "/gprof-cli-view-" + std::to_string(geteuid());
  constexpr mode_t kPrivate = 0700, kOthers = 0077;
  if (mkdir(folder.c_str(), kPrivate) != 0 && errno != EEXIST) {
    throw Error(ExitCode::kUnreadable, "cannot create the folder '" + folder + "': " + std::strerror(errno),
                "set TMPDIR to a writable folder");
  }
  struct stat status {};
  const bool is_ours = lstat(folder.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid() &&
                       (status.st_mode & kOthers) == 0;
  if (!is_ours) {
    throw Error(ExitCode::kUnreadable, "'" + folder + "' is not private to this user",
                "remove it, or set TMPDIR to another folder");
  }
  return folder;
}

// A browser may read its page again until its tab is closed, so pages stay for a day.
void RemoveOldPages(const std::string& folder) {
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
    struct stat status {};
    if (lstat(entry.path().c_str(), &status) == 0 && std::time(nullptr) - status.st_mtime > kOldSeconds)
      fs::remove(entry.path(), ignored);
  }
}

// Of the characters that no address and no shell has a meaning for.
std::string PlainName(const std::string& path) {
  std::string name = fs::path(path).filename().string();
  for (const std::string_view end : {".trace", ".gpart", ".gz", ".json", ".sqlite", ".html"}) {
    if (name.size() > end.size() && name.ends_with(end)) name.resize(name.size() - end.size());
  }
  constexpr std::size_t kLongest = 100;
  name.resize(std::min(name.size(), kLongest));
  for (char& c : name) {
    const bool is_plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
    if (!is_plain) c = '_';
  }
  return name.empty() ? "trace" : name;
}

class View : public Command {
 public:
  void AddOptions(CLI::App& app) override {
    app.add_option("TRACE", paths_,
                   "trace or partial to view, the traces of all ranks of a run, or an HTML page written earlier")
        ->type_name("");
    app.add_option("--port", port_, "serve the page on this local port until Ctrl-C; 0 for any port")
        ->type_name("N")
        ->check(WholeNumber(0, 65535))
        ->group("Output");
    app.add_flag("--no-open", is_quiet_, "do not open a browser, print the address")->group("Output");
    app.add_flag("--perfetto", is_perfetto_,
                 "open the trace in ui.perfetto.dev instead; it goes directly from this machine to the browser")
        ->group("Output");
    app.add_option("--perfetto-url", perfetto_url_, "with --perfetto: URL of a self-hosted Perfetto UI")
        ->type_name("URL")
        ->check(NotAPage)
        ->needs("--perfetto")
        ->group("Output");
    selection_.AddOptions(app);
    AddMemoryLimitOption(app);
  }

  int Run() override {
    if (paths_.empty()) throw Error(ExitCode::kUsage, "no trace given", "usage: gprof-cli view TRACE... [options]");
    const Selection selection = selection_.Read();
    const bool is_page = paths_.size() == 1 && IsPage(paths_.front());
    if (is_page) {
      if (is_perfetto_ || !selection.IsEmpty())
        throw Error(ExitCode::kUsage, "'" + paths_.front() + "' is an HTML page, not a trace",
                    "give the trace it was made from");
      return ShowWritten();
    }
    if (is_perfetto_ && port_) {
      throw Error(ExitCode::kUsage,
                  "--perfetto and --port cannot be combined: the Perfetto UI only reads from port 9001",
                  "from another machine: ssh -L 9001:127.0.0.1:9001");
    }
    if (!is_perfetto_) RequirePage("-");
    // A port that is taken is said before the trace is read.
    std::optional<HttpServer> server;
    if (is_perfetto_ || port_) server.emplace(is_perfetto_ ? kPerfettoPort : static_cast<uint16_t>(*port_));
    RecoverEarlierRuns();
    std::vector<TraceSummary> summaries;
    const Input whole = LoadInput(paths_, &summaries);
    if (is_perfetto_) RequireRecords(whole, "Perfetto");
    const Input selected = selection.IsEmpty() ? Trace() : Select(RequireRecords(whole, "a selection"), selection);
    const Input& shown = selection.IsEmpty() ? whole : selected;
    if (is_perfetto_) return ShowInPerfetto(*server, RequireRecords(shown, "Perfetto"));
    const auto* const results = std::get_if<Results>(&shown);
    if (results != nullptr && results->traces.size() > 1) return ShowRanks(server);
    Report report = ReportOn(shown, std::move(summaries));
    SayWhatPartialsLack(report.run);
    if (!selection.IsEmpty()) report.whole = FactsOf(RequireRecords(whole, "a selection"));
    report.selected = Describe(selection);
    return ShowPage(server, PageOfReport(report, kDefaultEventBudget));
  }

 private:
  // A partial of several ranks: what only many of them tell, as `ranks` has it.
  int ShowRanks(const std::optional<HttpServer>& server) const {
    std::vector<RankSummary> ranks = ReadPartial(MergeFiles(paths_), paths_.front());
    return ShowPage(server, PageOfRanks(JudgeFleet(&ranks, kPageRows), paths_));
  }

  int ShowPage(const std::optional<HttpServer>& server, const PageContents& page) const {
    return server ? Serve(*server, PageText(page)) : Show(page);
  }

  static Report ReportOn(const Input& shown, std::vector<TraceSummary> summaries) {
    std::vector<const Analysis*> all;
    for (const Analysis& analysis : AllAnalyses()) all.push_back(&analysis);
    AnalysisOptions options;
    options.max_rows = kPageRows;
    Report report = std::visit([&](const auto& input) { return RunAnalyses(input, all, options); }, shown);
    if (!summaries.empty()) AddTraces(std::move(summaries), options, &report);
    return report;
  }

  int Show(const PageContents& page) const {
    const std::string folder = FolderForPages();
    RemoveOldPages(folder);
    const std::string path = folder + "/" + PlainName(paths_.front()) + "." + std::to_string(getpid()) + ".html";
    WritePageTo(path, page);
    return OpenFile(path);
  }

  int ShowWritten() const {
    if (!port_) return OpenFile(paths_.front());
    return Serve(HttpServer(static_cast<uint16_t>(*port_)), ReadInputFile(paths_.front()));
  }

  int OpenFile(const std::string& path) const {
    std::error_code error;
    const std::string whole = fs::absolute(path, error).string();
    if (!Open(FileUrl(whole))) {
      Say("copy that file to a machine with a browser, or serve it from here: gprof-cli view " + ShellQuoted(path) +
          " --port 8080");
    }
    WriteResult(whole + "\n");
    return CodeOf(ExitCode::kGood);
  }

  // Says why where no browser was started, and not for lack of being asked.
  bool Open(const std::string& url) const {
    if (is_quiet_) return true;
    std::string why;
    const std::string browser = OpenInBrowser(url, &why);
    if (browser.empty()) {
      Say("no browser opened: " + why);
    } else {
      Say("opened in the browser with " + ShellQuoted(browser));
    }
    return !browser.empty();
  }

  int Serve(const HttpServer& server, const std::string& text) const {
    const std::string port = std::to_string(server.port());
    // Others on this machine can reach the port, too: the path is what they do not know.
    const ServedFile file{"/" + MakeToken() + "/" + PlainName(paths_.front()) + ".html", "text/html; charset=utf-8", "",
                          text};
    const std::string url = "http://127.0.0.1:" + port + file.path;
    WriteResult(url + "\n");
    Say("serving until Ctrl-C. To view it on another machine, run there: ssh -L " + port + ":127.0.0.1:" + port +
        " THIS-MACHINE, and open the same address");
    Open(url);
    server.Serve([&](const HttpRequest& request) { return AnswerWith(file, request); });
    return CodeOf(ExitCode::kGood);
  }

  static std::string PerfettoText(const Trace& trace) {
    std::string text;
    OutputStream stream([&text](std::string_view bytes) { text += bytes; }, false);
    const ExportOptions options;
    WritePerfetto(trace, options, stream);
    stream.Finish();
    return text;
  }

  int ShowInPerfetto(const HttpServer& server, const Trace& trace) const {
    const std::string text = PerfettoText(trace);
    const ServedFile file{"/" + MakeToken() + "/" + PlainName(paths_.front()) + ".pftrace",
                          "application/octet-stream",
                          OriginOf(perfetto_url_),
                          text,
                          {},
                          true};
    const std::string page = perfetto_url_.ends_with('/') ? perfetto_url_ : perfetto_url_ + "/";
    const std::string url = page + "#!/?url=http://127.0.0.1:" + std::to_string(kPerfettoPort) + file.path;
    WriteResult(url + "\n");
    Say("serving " + FormatBytes(text.size()) +
        " until the page has loaded it, or Ctrl-C. If the browser asks whether the page may access this device, allow "
        "it. To view it on another machine, run there: ssh -L 9001:127.0.0.1:9001 THIS-MACHINE");
    Open(url);
    server.Serve([&](const HttpRequest& request) { return AnswerWith(file, request); });
    return CodeOf(ExitCode::kGood);
  }

  SelectionArguments selection_;
  std::vector<std::string> paths_;
  std::string perfetto_url_ = kPerfetto;
  std::optional<uint32_t> port_;
  bool is_quiet_ = false, is_perfetto_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeView() { return std::make_unique<View>(); }

}  // namespace gprof::cli

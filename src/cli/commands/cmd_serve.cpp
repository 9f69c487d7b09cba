// gprof-cli serve: metrics, profiles and snapshots of recorded programs over HTTP. docs/commands/serve.md
#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "base/http/http_server.h"
#include "base/input_file.h"
#include "base/text.h"
#include "cli/arguments/options.h"
#include "cli/commands/commands.h"
#include "cli/live/live_loop.h"
#include "cli/live/live_programs.h"
#include "cli/talk.h"
#include "collect/run/own_process.h"
#include "export/exporters.h"
#include "gprof/error.h"
#include "report/json_values.h"

namespace gprof::cli {
namespace {

constexpr std::string_view kHelp =
    "gprof-cli serve\n\n"
    "GET  /metrics                  counters of all programs that are being recorded\n"
    "GET  /pprof?seconds=N          CPU and GPU time by stack of the last seconds, for pprof\n"
    "GET  /otlp?seconds=N           the same as OpenTelemetry profiles (OTLP)\n"
    "POST /snapshot                 have the recorder write a snapshot, as gprof-cli snapshot does\n\n"
    "With several recorders, all but the first need ?recorder=NAME.\n";

struct Address {
  std::string host = "127.0.0.1";
  uint16_t port = 0;
};

Address ReadAddress(const std::string& text) {
  Address address;
  const std::size_t colon = text.rfind(':');
  if (colon != std::string::npos && colon > 0) address.host = text.substr(0, colon);
  const std::string_view port = std::string_view(text).substr(colon == std::string::npos ? 0 : colon + 1);
  const auto [stop, status] = std::from_chars(port.data(), port.data() + port.size(), address.port);
  if (status != std::errc() || stop != port.data() + port.size()) {
    throw Error(ExitCode::kUsage, "--listen: '" + text + "' is not an address",
                "for example --listen 9464, or --listen 0.0.0.0:9464 for other machines");
  }
  return address;
}

// "recorder=train&seconds=10". Names of recorders need no escapes.
std::map<std::string, std::string> FieldsOf(std::string_view query) {
  std::map<std::string, std::string> fields;
  while (!query.empty()) {
    const std::string_view field = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(field.size() + 1, query.size()));
    const std::size_t equals = std::min(field.find('='), field.size());
    fields[std::string(field.substr(0, equals))] = field.substr(std::min(equals + 1, field.size()));
  }
  return fields;
}

// Takes as long whatever the difference is.
bool IsSame(std::string_view a, std::string_view b) {
  unsigned char difference = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) difference |= static_cast<unsigned char>(a[i] ^ b[i]);
  return difference == 0;
}

HttpAnswer Text(int status, std::string text) {
  return {.status = status, .type = "text/plain; charset=utf-8", .made = std::move(text)};
}

class Serve : public Command {
 public:
  void AddOptions(CLI::App& app) override {
    app.add_option("--listen", listen_, "port, or ADDRESS:PORT, to listen on (default 127.0.0.1:9464); port 0: any")
        ->type_name("[ADDRESS:]PORT")
        ->group("Server");
    app.add_option(
           "--token-file", token_file_,
           "file whose first line is a secret that requests must send (Authorization: Bearer SECRET); POST needs one")
        ->type_name("FILE")
        ->group("Server");
    app.add_option("--interval", interval_, "time between two readings (default 5s)")
        ->type_name("TIME")
        ->group("Server");
  }

  int Run() override {
    const int64_t interval_ns = ReadInterval(interval_);
    if (!token_file_.empty()) {
      const std::string text = ReadInputFile(token_file_);
      token_ = Trimmed(std::string_view(text).substr(0, text.find_first_of("\r\n")));
    }
    if (!token_file_.empty() && token_.empty()) throw Error(ExitCode::kUsage, "'" + token_file_ + "' has no token");
    const Address address = ReadAddress(listen_);
    const HttpServer server(address.host, address.port);
    is_for_others_ = !IsLoopbackHost(address.host);
    Say("http://" + address.host + ":" + std::to_string(server.port()) + "/metrics, until Ctrl-C");
    LivePrograms programs(interval_ns);
    server.Serve([&](const HttpRequest& request) { return AnswerTo(request, &programs); },
                 [&] {
                   const int64_t now_ns = MonotonicNs();
                   return (programs.Attend(now_ns) - now_ns) / 1'000'000 + 1;
                 });
    return CodeOf(ExitCode::kGood);
  }

 private:
  HttpAnswer AnswerTo(const HttpRequest& request, LivePrograms* programs) const {
    // Pages of somebody else's, in a browser here, must not get at what is for this machine.
    if (!is_for_others_ && !IsLoopbackHost(request.host)) return Text(403, "this host is not served\n");
    if (!token_.empty() && !IsSame(request.authorization, "Bearer " + token_)) {
      HttpAnswer answer = Text(401, "send the token of --token-file: Authorization: Bearer SECRET\n");
      answer.headers = "WWW-Authenticate: Bearer\r\n";
      return answer;
    }
    const std::map<std::string, std::string> fields = FieldsOf(request.query);
    const auto field = [&](const char* name) {
      const auto at = fields.find(name);
      return at == fields.end() ? std::string() : at->second;
    };
    try {
      if (request.path == "/snapshot") return Snapshot(request, &programs->ReaderOf(field("recorder")));
      if (request.method != "GET" && request.method != "HEAD")
        return {.status = 405, .headers = "Allow: GET, HEAD\r\n"};
      if (request.path == "/metrics") return Metrics(request, *programs);
      const bool is_otlp = request.path == "/otlp";
      if (is_otlp || request.path == "/pprof")
        return Profile(&programs->ReaderOf(field("recorder")), field("seconds"), is_otlp);
      return request.path == "/" ? Text(200, std::string(kHelp)) : Text(404, std::string(kHelp));
    } catch (const Error& error) {
      const bool is_ours = error.code() == ExitCode::kUsage;
      return Text(is_ours ? 400 : 503,
                  std::string(error.what()) + (error.hint().empty() ? "" : "; " + error.hint()) + "\n");
    }
  }

  static HttpAnswer Metrics(const HttpRequest& request, const LivePrograms& programs) {
    if (request.accept.find("application/openmetrics-text") != std::string::npos) {
      return {.type = "application/openmetrics-text; version=1.0.0; charset=utf-8",
              .made = MetricsText(programs.All(), MetricsFormat::kOpenMetrics)};
    }
    return {.type = "text/plain; version=0.0.4; charset=utf-8",
            .made = MetricsText(programs.All(), MetricsFormat::kPrometheus)};
  }

  static HttpAnswer Profile(LiveReader* reader, const std::string& seconds, bool is_otlp) {
    const int64_t length_ns = seconds.empty() ? 10'000'000'000 : ReadTime("seconds", seconds + "s");
    const int64_t now_ns = MonotonicNs();
    reader->Refresh();
    const std::optional<Trace> trace = reader->Between(now_ns - length_ns, now_ns);
    if (!trace) return Text(503, "nothing is known of the program yet\n");
    HttpAnswer answer{.type = is_otlp ? "application/x-protobuf" : "application/octet-stream"};
    OutputStream stream([&](std::string_view bytes) { answer.made += bytes; }, !is_otlp);
    const ExportOptions options;
    is_otlp ? WriteOtlp(*trace, options, stream) : WritePprof(*trace, options, stream);
    stream.Finish();
    return answer;
  }

  HttpAnswer Snapshot(const HttpRequest& request, LiveReader* reader) const {
    if (request.method != "POST") return {.status = 405, .headers = "Allow: POST\r\n"};
    // Without one, any page in a browser of this machine could have the disk filled.
    if (token_.empty()) return Text(403, "start gprof-cli serve with --token-file to allow this\n");
    Json answer = AskSession(reader->recorder(), {{"do", "snapshot"}, {"reason", "an HTTP request"}});
    answer.erase("ok");
    return {.type = "application/json", .made = LineOf(answer)};
  }

  std::string listen_ = "9464", token_file_, interval_ = "5s", token_;
  bool is_for_others_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeServe() { return std::make_unique<Serve>(); }

}  // namespace gprof::cli

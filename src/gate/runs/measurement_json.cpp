#include "gate/runs/measurement_json.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "analysis/result/idle_causes.h"
#include "gate/breakdown/breakdown_json.h"
#include "gprof/error.h"

namespace gprof {
namespace {

constexpr std::size_t kMostScopes = 300;  // NVTX paths or kernels in a document

bool IsPlain(const Json& json) { return !json.is_structured(); }

bool HoldsPlainValues(const Json& json) { return std::all_of(json.begin(), json.end(), IsPlain); }

std::string Spaced(const Json& json) {
  std::string text;
  for (auto at = json.begin(); at != json.end(); ++at) {
    text += text.empty() ? "" : ", ";
    if (json.is_object()) text += CompactText(Json(at.key())) + ": ";
    text += CompactText(*at);
  }
  return json.is_object() ? "{" + text + "}" : "[" + text + "]";
}

void Write(const Json& json, std::size_t indent, bool is_in_list, std::string* out) {
  if (IsPlain(json)) {
    *out += CompactText(json);
  } else if (json.empty() || (HoldsPlainValues(json) && (json.is_array() || is_in_list))) {
    *out += Spaced(json);
  } else {
    *out += json.is_object() ? "{" : "[";
    const char* separator = "\n";
    for (auto at = json.begin(); at != json.end(); ++at) {
      *out += separator + std::string(indent + 2, ' ');
      if (json.is_object()) *out += CompactText(Json(at.key())) + ": ";
      Write(*at, indent + 2, json.is_array(), out);
      separator = ",\n";
    }
    *out += "\n" + std::string(indent, ' ') + (json.is_object() ? "}" : "]");
  }
}

std::string KeyOf(const Metric& metric) {
  return metric.scope.empty() ? std::string(metric.id) : std::string(metric.id) + "@" + metric.scope;
}

// By the kind of scope ("nvtx", "kernel"): the scopes with most time in any run, where there are too many.
class ScopeFilter {
 public:
  explicit ScopeFilter(const RunSet& set) {
    std::map<std::string, std::map<std::string, double>> times_ns;
    for (const Measurement& run : set.runs) {
      for (const Metric& metric : run.metrics) {
        if (metric.scope.find(':') == std::string::npos) continue;
        double& most_ns = times_ns[KindOf(metric.scope)][metric.scope];
        if (metric.id.ends_with(".total_ns")) most_ns = std::max(most_ns, metric.value);
      }
    }
    for (const auto& [kind, of_scope] : times_ns) Choose(of_scope);
  }

  bool Keeps(const std::string& scope) const {
    return scope.find(':') == std::string::npos || !is_cut_.contains(scope);
  }

 private:
  static std::string KindOf(const std::string& scope) { return scope.substr(0, scope.find(':')); }

  void Choose(const std::map<std::string, double>& of_scope) {
    if (of_scope.size() <= kMostScopes) return;
    std::vector<std::pair<double, std::string>> order;
    for (const auto& [scope, ns] : of_scope) order.emplace_back(-ns, scope);
    std::sort(order.begin(), order.end());
    for (std::size_t i = kMostScopes; i < order.size(); ++i) is_cut_.emplace(order[i].second, true);
  }

  std::unordered_map<std::string, bool> is_cut_;
};

Json RunJson(const Measurement& run) {
  Json json = {{"source", run.source},
               {"selected", run.selected},
               {"fingerprint", FingerprintJson(run.fingerprint)},
               {"complete", run.is_complete},
               {"host_complete", run.is_host_complete},
               {"missing", run.missing},
               {"exact", run.is_exact}};
  json["not_recorded"] = Json::array();
  for (const NotRecorded& entry : run.not_recorded) {
    json["not_recorded"].push_back({{"prefix", entry.prefix}, {"why", entry.why}});
  }
  json["breakdown"] = BreakdownJson(run.breakdown);
  return json;
}

Measurement RunFrom(const Json& json) {
  Measurement run;
  run.source = json.at("source").get<std::string>();
  run.selected = json.value("selected", "");
  run.fingerprint = FingerprintFrom(json.at("fingerprint"));
  run.is_complete = json.at("complete").get<bool>();
  run.is_host_complete = json.value("host_complete", run.is_complete);
  run.missing = json.value("missing", std::vector<std::string>());
  run.is_exact = json.value("exact", true);
  for (const Json& entry : json.value("not_recorded", Json::array())) {
    run.not_recorded.push_back({entry.at("prefix").get<std::string>(), entry.at("why").get<std::string>()});
  }
  if (json.contains("breakdown")) run.breakdown = BreakdownFrom(json["breakdown"]);
  return run;
}

void AddValues(const std::string& key, const Json& values, const std::string& path, std::vector<Measurement>* runs) {
  const std::size_t at = key.find('@');
  const MetricInfo* info = FindMetric(key.substr(0, at));
  if (values.size() != runs->size()) {
    throw Error(ExitCode::kUnreadable,
                path + ": " + key + " has " + std::to_string(values.size()) + " values for " +
                    std::to_string(runs->size()) + " runs",
                "the file was modified: create it again, or restore it from version control");
  }
  if (info == nullptr) return;
  const std::string scope = at == std::string::npos ? "" : key.substr(at + 1);
  for (std::size_t i = 0; i < runs->size(); ++i) {
    if (!values[i].is_null()) (*runs)[i].metrics.push_back({info->id, scope, values[i].get<double>()});
  }
}

}  // namespace

std::string DocumentText(const Json& json) {
  std::string text;
  Write(json, 0, false, &text);
  return text + "\n";
}

Json ReadDocument(const std::string& text, const std::string& path, const std::string& schema) {
  Json json;
  try {
    json = Json::parse(text);
  } catch (const Json::exception& error) {
    const std::string_view what = error.what();  // "[json.exception.parse_error.101] parse error at line 2, …"
    const std::size_t end = what.find("] ");
    throw Error(
        ExitCode::kUnreadable,
        path + " is not valid JSON: " + std::string(end == std::string_view::npos ? what : what.substr(end + 2)),
        "the file was truncated or modified");
  }
  const std::string found = json.is_object() && json.contains("schema") && json["schema"].is_string()
                                ? json["schema"].get<std::string>()
                                : "";
  if (found == schema) return json;
  const std::string family = schema.substr(0, schema.find('/') + 1);
  if (found.starts_with(family)) {
    throw Error(ExitCode::kUnreadable,
                path + " has version " + found.substr(family.size()) + " of " + family.substr(0, family.size() - 1) +
                    "; this gprof-cli reads " + schema,
                "use a newer gprof-cli");
  }
  throw Error(
      ExitCode::kUnreadable,
      path + " is " + (found.empty() ? "not a gprof-cli document" : "of the kind " + found) + ", not " + schema);
}

Json FingerprintJson(const Fingerprint& f) {
  return {{"gpus", f.gpus},
          {"driver_version", f.driver_version},
          {"cuda_version", f.cuda_version},
          {"cupti_version", f.cupti_version},
          {"tool_version", f.tool_version},
          {"clocks", f.clocks},
          {"capture_mode", f.capture_mode},
          {"host", f.host},
          {"program", f.program},
          {"commit", f.commit}};
}

Fingerprint FingerprintFrom(const Json& json) {
  Fingerprint f;
  f.gpus = json.value("gpus", std::vector<std::string>());
  f.driver_version = json.value("driver_version", "");
  f.cuda_version = json.value("cuda_version", "");
  f.cupti_version = json.value("cupti_version", "");
  f.tool_version = json.value("tool_version", "");
  f.clocks = json.value("clocks", "");
  f.capture_mode = json.value("capture_mode", "");
  f.host = json.value("host", "");
  f.program = json.value("program", "");
  f.commit = json.value("commit", "");
  return f;
}

void AddRuns(const RunSet& set, Json* json) {
  const ScopeFilter filter(set);
  (*json)["runs"] = Json::array();
  std::vector<std::string> order;
  std::unordered_map<std::string, std::vector<std::optional<double>>> values;
  for (std::size_t i = 0; i < set.runs.size(); ++i) {
    (*json)["runs"].push_back(RunJson(set.runs[i]));
    for (const Metric& metric : set.runs[i].metrics) {
      if (!filter.Keeps(metric.scope)) continue;
      const auto [at, is_new] = values.try_emplace(KeyOf(metric), set.runs.size());
      if (is_new) order.push_back(at->first);
      at->second[i] = metric.value;
    }
  }
  Json metrics = Json::object();
  for (const std::string& key : order) {
    Json list = Json::array();
    for (const std::optional<double>& value : values[key]) list.push_back(value ? NumberJson(*value) : Json());
    // Not operator[]: it looks through all keys that are there already.
    metrics.get_ref<Json::object_t&>().push_back({key, std::move(list)});
  }
  (*json)["metrics"] = std::move(metrics);
}

std::vector<Measurement> RunsFrom(const Json& json, const std::string& path) {
  std::vector<Measurement> runs;
  try {
    for (const Json& run : json.at("runs")) runs.push_back(RunFrom(run));
    if (runs.empty()) throw Error(ExitCode::kUnreadable, path + " holds no runs", "create it again");
    for (const auto& [key, values] : json.at("metrics").items()) AddValues(key, values, path, &runs);
  } catch (const Json::exception& error) {
    throw Error(ExitCode::kUnreadable, path + ": " + error.what(),
                "the file was modified: create it again, or restore it from version control");
  }
  return runs;
}

}  // namespace gprof

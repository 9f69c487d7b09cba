#include "import/spans/request_spans.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "gprof/error.h"
#include "import/shared/decimal.h"
#include "import/shared/json_scanner.h"
#include "trace/file/mapped_file.h"
#include "trace/file/memory_budget.h"

namespace gprof {
namespace {

constexpr int64_t kMost = int64_t{1} << 61;  // ns of a time: the year 2043

class SpanReader {
 public:
  SpanReader(std::string_view text, const std::string& path)
      : scanner_(text), path_(path), budget_(path, text.size()) {}

  RequestSpans Run() {
    while (scanner_.Peek() != '\0') {
      JsonPiece document;
      if (!scanner_.ReadValue(&document)) {
        found_.is_cut = scanner_.status() == JsonScanner::Status::kCut && !found_.spans.empty();
        if (found_.is_cut) break;
        Fail("invalid JSON at byte " + std::to_string(scanner_.position()));
      }
      if (document.kind == JsonPiece::Kind::kObject) ReadGroup(document.text);
    }
    if (!has_spans_) Fail("it has no resourceSpans");
    if (found_.spans.empty())
      Fail("none of its " + std::to_string(found_.other_spans) + " spans is one of a request of an LLM engine");
    std::ranges::stable_sort(found_.spans, {}, &RequestSpan::start_unix_ns);
    return std::move(found_);
  }

 private:
  [[noreturn]] void Fail(const std::string& why) const {
    throw Error(ExitCode::kUnreadable, "cannot read spans from '" + path_ + "': " + why,
                "--spans takes OTLP as JSON: what the file exporter of an OpenTelemetry collector writes");
  }

  void Require(bool is_read) const {
    if (!is_read) Fail("invalid JSON in the document before byte " + std::to_string(scanner_.position()));
  }

  template <class F>
  void ForEach(const JsonPiece& array, F&& f) const {
    Require(JsonScanner(array.text).ReadArray(f));
  }

  // A document, the spans of a resource, or those of a scope.
  void ReadGroup(std::string_view group) {
    Require(JsonScanner(group).ReadObject([&](std::string_view key, const JsonPiece& value) {
      if (key == "resourceSpans" || key == "scopeSpans" || key == "instrumentationLibrarySpans") {
        has_spans_ = true;
        ForEach(value, [&](const JsonPiece& inner) { ReadGroup(inner.text); });
      } else if (key == "spans") {
        ForEach(value, [&](const JsonPiece& span) { ReadSpan(span.text); });
      }
    }));
  }

  void ReadSpan(std::string_view text) {
    RequestSpan span;
    std::optional<int64_t> start_ns, end_ns;
    has_latency_ = false;
    Require(JsonScanner(text).ReadObject([&](std::string_view key, const JsonPiece& value) {
      if (key == "startTimeUnixNano") start_ns = NumberOf(value, 0);
      if (key == "endTimeUnixNano") end_ns = NumberOf(value, 0);
      if (key == "attributes") ForEach(value, [&](const JsonPiece& one) { ReadAttribute(one.text, &span); });
    }));
    if (span.request.empty() || !has_latency_ || !start_ns) {
      ++found_.other_spans;
      return;
    }
    span.start_unix_ns = *start_ns;
    if (!span.end_ns && end_ns && *end_ns >= *start_ns) span.end_ns = *end_ns - *start_ns;
    budget_.Take(sizeof(span) + span.request.size());
    found_.spans.push_back(std::move(span));
  }

  // {"key": "gen_ai.latency.e2e", "value": {"doubleValue": 0.5}}
  void ReadAttribute(std::string_view text, RequestSpan* span) {
    std::string_view name;
    JsonPiece value;
    Require(JsonScanner(text).ReadObject([&](std::string_view key, const JsonPiece& of_key) {
      if (key == "key") name = of_key.text;
      if (key == "value" && of_key.kind == JsonPiece::Kind::kObject)
        Require(JsonScanner(of_key.text).ReadObject([&](std::string_view, const JsonPiece& typed) { value = typed; }));
    }));
    // SGLang calls it "rid".
    if (name == "gen_ai.request.id" || (name == "rid" && span->request.empty())) {
      std::string buffer;
      span->request = Unescaped(value, &buffer);
    } else if (name == "gen_ai.usage.prompt_tokens" || name == "gen_ai.usage.input_tokens") {
      span->prompt_tokens = std::min<int64_t>(NumberOf(value, 0).value_or(0), UINT32_MAX);
    } else if (name == "gen_ai.usage.completion_tokens" || name == "gen_ai.usage.output_tokens") {
      span->output_tokens = std::min<int64_t>(NumberOf(value, 0).value_or(0), UINT32_MAX);
    } else if (name == "gen_ai.latency.time_to_first_token") {
      TakeLatency(value, &span->first_token_ns);
    } else if (name == "gen_ai.latency.time_in_queue") {
      TakeLatency(value, &span->queue_ns);
    } else if (name == "gen_ai.latency.e2e") {
      TakeLatency(value, &span->end_ns);
    }
  }

  // They are in seconds.
  void TakeLatency(const JsonPiece& value, std::optional<int64_t>* latency_ns) {
    *latency_ns = NumberOf(value, 9);
    has_latency_ |= latency_ns->has_value();
  }

  // Of what is no number, below 0 or far too large: nothing.
  static std::optional<int64_t> NumberOf(const JsonPiece& value, int shift) {
    const std::optional<int64_t> number = value.IsNumber() ? ReadDecimal(value.text, shift) : std::nullopt;
    return number && *number >= 0 && *number < kMost ? number : std::nullopt;
  }

  JsonScanner scanner_;
  const std::string& path_;
  MemoryBudget budget_;
  RequestSpans found_;
  bool has_spans_ = false, has_latency_ = false;
};

}  // namespace

RequestSpans RequestSpansOf(std::string_view text, const std::string& path) { return SpanReader(text, path).Run(); }

RequestSpans ReadRequestSpans(const std::string& path) {
  const MappedFile file(path == "-" ? "/dev/stdin" : path);
  return RequestSpansOf(file.bytes(), path);
}

}  // namespace gprof

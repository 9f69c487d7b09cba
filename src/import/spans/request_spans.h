// Spans of requests, as the file exporter of an OpenTelemetry collector writes them: OTLP as JSON, one document with
// `resourceSpans` a line, or one in all.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gprof/request_span.h"

namespace gprof {

struct RequestSpans {
  std::vector<RequestSpan> spans;  // by start
  uint64_t other_spans = 0;        // of something else than a request
  bool is_cut = false;             // the file ends within a document
};

// Throws Error for what cannot be read, is no such file, or has no span of a request. "-" is the standard input.
RequestSpans ReadRequestSpans(const std::string& path);
// Of the text of that file, for tests.
RequestSpans RequestSpansOf(std::string_view text, const std::string& path);

}  // namespace gprof

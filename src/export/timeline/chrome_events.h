// Events of a Chrome trace, one a line: what each has, in the order in which it is written.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "export/events/event_args.h"
#include "export/events/labels.h"
#include "export/output/json_text.h"
#include "export/output/output_stream.h"
#include "gprof/trace.h"

namespace gprof {

// The track of an event.
struct ChromePlace {
  uint32_t pid = 0, tid = 0;
};

// Writes arguments into the line of their event.
class ChromeArgs : public ArgSink {
 public:
  explicit ChromeArgs(std::string* line) : line_(line) {}
  void Start() { is_first_ = true; }
  void Int(std::string_view key, int64_t value) override {
    Key(key);
    AppendInteger(value, line_);
  }
  void Uint(std::string_view key, uint64_t value) override {
    Key(key);
    AppendInteger(value, line_);
  }
  void Real(std::string_view key, double value) override {
    Key(key);
    AppendJsonNumber(value, line_);
  }
  void Bool(std::string_view key, bool value) override {
    Key(key);
    *line_ += value ? "true" : "false";
  }
  void Text(std::string_view key, std::string_view value) override {
    Key(key);
    AppendJsonString(Utf8(value), line_);
  }
  void Dim(std::string_view key, uint32_t x, uint32_t y, uint32_t z) override {
    Key(key);
    for (const auto& [before, size] : {std::pair{'[', x}, {',', y}, {',', z}}) {
      *line_ += before;
      AppendInteger(size, line_);
    }
    *line_ += ']';
  }
  // `value` is JSON.
  void Json(std::string_view key, std::string_view value) {
    Key(key);
    *line_ += value;
  }

 private:
  void Key(std::string_view key) {
    if (!is_first_) *line_ += ',';
    is_first_ = false;
    AppendJsonString(key, line_);
    *line_ += ':';
  }

  std::string* line_;
  bool is_first_ = true;
};

class ChromeEvents {
 public:
  // `shift_ns` is added to times of the trace.
  ChromeEvents(Labels* labels, int64_t shift_ns, OutputStream& out)
      : labels_(*labels), out_(out), shift_ns_(shift_ns), args_(&line_) {}
  ChromeEvents(const ChromeEvents&) = delete;
  ChromeEvents& operator=(const ChromeEvents&) = delete;

  void Open(char phase, std::string_view category, uint32_t label, ChromePlace place, int64_t time_ns);
  void Duration(Interval time);
  // What only some events have, with the comma before it.
  void Add(std::string_view members) { line_ += members; }
  void Id(uint64_t id);
  // `f(sink)` is told where the arguments go.
  template <class F>
  void Args(F&& f) {
    line_ += ",\"args\":{";
    args_.Start();
    f(args_);
    line_ += '}';
  }
  void Close();

  // What a viewer is to call a track, or where it is to show it.
  void Metadata(std::string_view name, ChromePlace place, std::string_view key, std::string_view text, int64_t time_ns);
  void MetadataIndex(std::string_view name, ChromePlace place, uint64_t index, int64_t time_ns);

 private:
  const std::string& Quoted(uint32_t label);

  Labels& labels_;
  OutputStream& out_;
  int64_t shift_ns_;
  std::vector<std::string> quoted_;  // by label
  std::string line_;
  ChromeArgs args_;
  bool is_first_event_ = true;
};

}  // namespace gprof

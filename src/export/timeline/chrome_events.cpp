#include "export/timeline/chrome_events.h"

namespace gprof {

const std::string& ChromeEvents::Quoted(uint32_t label) {
  if (quoted_.size() <= label) quoted_.resize(labels_.size());
  if (quoted_[label].empty()) AppendJsonString(labels_.Text(label), &quoted_[label]);
  return quoted_[label];
}

void ChromeEvents::Open(char phase, std::string_view category, uint32_t label, ChromePlace place, int64_t time_ns) {
  line_ = is_first_event_ ? "\n" : ",\n";
  is_first_event_ = false;
  line_ += "{\"ph\":\"";
  line_ += phase;
  line_ += "\",\"cat\":\"";
  line_ += category;
  line_ += "\",\"name\":";
  line_ += Quoted(label);
  line_ += ",\"pid\":";
  AppendInteger(place.pid, &line_);
  line_ += ",\"tid\":";
  AppendInteger(place.tid, &line_);
  line_ += ",\"ts\":";
  AppendMicroseconds(time_ns + shift_ns_, &line_);
}

void ChromeEvents::Duration(Interval time) {
  line_ += ",\"dur\":";
  AppendMicroseconds(time.DurationNs(), &line_);
}

void ChromeEvents::Close() {
  line_ += '}';
  out_.Write(line_);
}

void ChromeEvents::Id(uint64_t id) {
  line_ += ",\"id\":";
  AppendInteger(id, &line_);
}

void ChromeEvents::Metadata(std::string_view name, ChromePlace place, std::string_view key, std::string_view text,
                            int64_t time_ns) {
  Open('M', "__metadata", labels_.Of(name), place, time_ns);
  Args([&](ArgSink& sink) { sink.Text(key, text); });
  Close();
}

void ChromeEvents::MetadataIndex(std::string_view name, ChromePlace place, uint64_t index, int64_t time_ns) {
  Open('M', "__metadata", labels_.Of(name), place, time_ns);
  Args([&](ArgSink& sink) { sink.Uint("sort_index", index); });
  Close();
}

}  // namespace gprof

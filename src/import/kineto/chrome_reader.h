// Trace Event JSON: an array of events, or an object that has one as "traceEvents".
#pragma once

#include <cstdint>
#include <string_view>

#include "import/shared/byte_window.h"
#include "import/shared/json_scanner.h"

namespace gprof {

// An event as it is written: whatever a key lacks or has of another type is the reader's to judge.
struct ChromeEvent {
  JsonPiece category, name, pid, tid, time, duration, id, scope, args;
  char phase = 0;  // 'X', 'B', 'M', …
};

class ChromeReader {
 public:
  // What is given is good until the call returns.
  class Sink {
   public:
    virtual ~Sink() = default;
    virtual void OnEvent(const ChromeEvent& event) = 0;
    // Another member of the object.
    virtual void OnMember(std::string_view key, const JsonPiece& value) = 0;
  };

  ChromeReader(ByteWindow* window, Sink* sink) : window_(*window), sink_(*sink) {}

  void Read();

  bool has_events() const { return has_events_; }  // there is an array of them, maybe empty
  uint64_t event_count() const { return event_count_; }
  uint64_t bad_event_count() const { return bad_event_count_; }
  bool is_cut() const { return is_cut_; }  // the text ends before its end
  bool is_bad() const { return is_bad_; }  // what is around the events is no JSON
  uint64_t bad_position() const { return bad_position_; }

 private:
  enum class Next : uint8_t { kGoOn, kDone };
  bool ReadMember();
  void ReadEvents(bool needs_end);
  Next ReadWindow(bool needs_end);
  Next AtEnd(bool needs_end, bool is_within);
  bool ReadEvent(JsonScanner* scanner);
  bool Fail(const JsonScanner& scanner);
  bool FindNextEvent();
  char Peek();

  ByteWindow& window_;
  Sink& sink_;
  uint64_t event_count_ = 0, bad_event_count_ = 0, bad_position_ = 0;
  bool has_events_ = false, is_cut_ = false, is_bad_ = false;
};

}  // namespace gprof

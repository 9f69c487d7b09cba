#include "import/kineto/chrome_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "gprof/error.h"

namespace gprof {
namespace {

bool IsBlank(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

// "id2" is an object that says whose the id is.
JsonPiece InnerId(const JsonPiece& id2) {
  JsonPiece id;
  if (id2.kind != JsonPiece::Kind::kObject) return id;
  JsonScanner(id2.text).ReadObject([&](std::string_view, const JsonPiece& value) { id = value; });
  return id;
}

void SetMember(std::string_view key, const JsonPiece& value, ChromeEvent* event) {
  if (key == "name") {
    event->name = value;
  } else if (key == "ts") {
    event->time = value;
  } else if (key == "dur") {
    event->duration = value;
  } else if (key == "pid") {
    event->pid = value;
  } else if (key == "tid") {
    event->tid = value;
  } else if (key == "ph") {
    event->phase = value.IsText() && value.text.size() == 1 ? value.text[0] : '\0';
  } else if (key == "cat") {
    event->category = value;
  } else if (key == "args") {
    event->args = value;
  } else if (key == "id") {
    event->id = value;
  } else if (key == "id2") {
    event->id = InnerId(value);
  } else if (key == "s") {
    event->scope = value;
  }
}

}  // namespace

char ChromeReader::Peek() {
  do {
    const std::string_view bytes = window_.bytes();
    const auto at = std::find_if_not(bytes.begin(), bytes.end(), IsBlank);
    window_.Consume(static_cast<std::size_t>(at - bytes.begin()));
  } while (window_.bytes().empty() && window_.More());
  return window_.bytes().empty() ? '\0' : window_.bytes().front();
}

void ChromeReader::Read() {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (window_.bytes().starts_with(kByteOrderMark)) window_.Consume(kByteOrderMark.size());
  const char first = Peek();
  if (first == '[') {
    has_events_ = true;
    ReadEvents(false);  // the format lets writers leave out its end, so that they may die at any time
  } else if (first == '{') {
    window_.Consume(1);
    while (ReadMember()) {
    }
  } else {
    is_bad_ = true;
  }
  is_cut_ = is_cut_ || !window_.damage().empty();
}

bool ChromeReader::Fail(const JsonScanner& scanner) {
  is_bad_ = true;
  bad_position_ = window_.position() + scanner.position();
  return false;
}

// False at the end of the object, and of what can be read.
bool ChromeReader::ReadMember() {
  while (Peek() == ',') window_.Consume(1);
  while (true) {
    if (window_.bytes().empty()) return is_cut_ = true, false;
    if (window_.bytes().front() == '}') return false;
    JsonScanner scanner(window_.bytes());
    JsonPiece key;
    const bool has_key = scanner.Peek() == '"' && scanner.ReadValue(&key) && scanner.Take(':');
    if (has_key && key.text == "traceEvents" && scanner.Peek() == '[') {
      window_.Consume(scanner.position());
      has_events_ = true;
      ReadEvents(true);
      return !is_cut_;
    }
    JsonPiece value;
    if (has_key && scanner.ReadValue(&value)) {
      sink_.OnMember(key.text, value);
      window_.Consume(scanner.position());
      return true;
    }
    const bool is_at_end = scanner.position() >= window_.bytes().size();
    if (scanner.status() == JsonScanner::Status::kBad || !is_at_end) return Fail(scanner);
    if (!window_.More()) return is_cut_ = true, false;
  }
}

void ChromeReader::ReadEvents(bool needs_end) {
  window_.Consume(1);
  while (ReadWindow(needs_end) == Next::kGoOn) {
  }
}

// The window ends: is there more?
ChromeReader::Next ChromeReader::AtEnd(bool needs_end, bool is_within) {
  if (window_.More()) return Next::kGoOn;
  is_cut_ = needs_end || is_within;
  return Next::kDone;
}

ChromeReader::Next ChromeReader::ReadWindow(bool needs_end) {
  JsonScanner scanner(window_.bytes());
  while (true) {
    while (scanner.Take(',')) {
    }
    const std::size_t start = scanner.position();
    const char first = scanner.Peek();
    if (first == '{' && ReadEvent(&scanner)) continue;
    if (first == ']') {
      window_.Consume(scanner.position() + 1);
      return Next::kDone;
    }
    const bool is_cut = scanner.status() == JsonScanner::Status::kCut;
    if (is_cut || scanner.position() >= window_.bytes().size()) {
      window_.Consume(start);
      return AtEnd(needs_end, is_cut);
    }
    ++bad_event_count_;
    if (bad_event_count_ == 1) bad_position_ = window_.position() + scanner.position();
    window_.Consume(std::max(scanner.position(), start + 1));
    if (FindNextEvent()) return Next::kGoOn;
    is_cut_ = true;
    return Next::kDone;
  }
}

bool ChromeReader::ReadEvent(JsonScanner* scanner) {
  ChromeEvent event;
  const bool is_good =
      scanner->ReadObject([&](std::string_view key, const JsonPiece& value) { SetMember(key, value, &event); });
  if (!is_good) return false;
  ++event_count_;
  sink_.OnEvent(event);
  return true;
}

// After what is no JSON: an object that begins with a key and follows upon another one. So one bad event costs one
// event, or a few.
bool ChromeReader::FindNextEvent() {
  constexpr std::size_t kLook = 256;  // blanks there may be around a brace
  while (true) {
    const std::string_view bytes = window_.bytes();
    for (std::size_t at = bytes.find('{'); at != std::string_view::npos; at = bytes.find('{', at + 1)) {
      std::size_t before = at, after = at + 1;
      while (before > 0 && at - before < kLook && IsBlank(bytes[before - 1])) --before;
      while (after < bytes.size() && after - at < kLook && IsBlank(bytes[after])) ++after;
      const bool follows = before > 0 && bytes[before - 1] == ',';
      if (!follows || after >= bytes.size() || bytes[after] != '"') continue;
      window_.Consume(at);
      return true;
    }
    window_.Consume(bytes.size() - std::min(bytes.size(), 2 * kLook));
    if (!window_.More()) return false;
  }
}

}  // namespace gprof

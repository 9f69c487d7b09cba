#include "html/page/page.h"

#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/json_style.h"
#include "base/text.h"
#include "gprof/error.h"
#include "html/page/base64.h"
#include "html/page/page_parts.h"
#include "html/timeline/encode_timeline.h"

namespace gprof {
namespace {

struct Unpacked {
  std::string text;
  std::string_view style, boot, script, page;
};

Unpacked Unpack() {
  Unpacked parts;
  parts.text.resize(kPageParts.style_bytes + kPageParts.boot_bytes + kPageParts.script_bytes +
                    kPageParts.template_bytes);
  const std::size_t size =
      ZSTD_decompress(parts.text.data(), parts.text.size(), kPageParts.compressed, kPageParts.compressed_bytes);
  if (size != parts.text.size()) throw Error(ExitCode::kBug, "the page in this program is damaged");
  std::string_view text = parts.text;
  const auto take = [&text](std::size_t bytes) {
    const std::string_view part = text.substr(0, bytes);
    text.remove_prefix(bytes);
    return part;
  };
  parts.style = take(kPageParts.style_bytes);
  parts.boot = take(kPageParts.boot_bytes);
  parts.script = take(kPageParts.script_bytes);
  parts.page = text;
  return parts;
}

std::string Base64OfHex(std::string_view hex) {
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  std::string bytes, out;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes += static_cast<char>(digit(hex[i]) * 16 + digit(hex[i + 1]));
  Base64 base64;
  base64.Add(bytes, &out);
  base64.Finish(&out);
  return out;
}

// Nothing is fetched and nothing runs but the scripts and the style that are part of the page.
std::string SecurityPolicy() {
  const auto source = [](std::string_view hex) { return " 'sha256-" + Base64OfHex(hex) + "'"; };
  return "default-src 'none'; script-src" + source(kPageParts.boot_sha256) + source(kPageParts.script_sha256) +
         "; style-src" + source(kPageParts.style_sha256) + "; img-src data:; base-uri 'none'; form-action 'none'";
}

// Levels of zlib. Of events, 6 takes twice as long as 3 for 0.2 % less; of JSON, 9 leaves three quarters of what 3
// does.
constexpr int kForEvents = 3, kForText = 9;

// `blob` deflated and as text.
void WriteBlob(std::string_view blob, int level, OutputStream& out) {
  z_stream stream{};
  if (deflateInit(&stream, level) != Z_OK) throw Error(ExitCode::kBug, "zlib does not start");
  Septets septets;
  std::string text, packed(std::size_t{1} << 18, '\0');
  std::size_t at = 0;
  constexpr std::size_t kMostAtOnce = std::size_t{1} << 30;  // zlib counts in 32 bits
  for (int code = Z_OK; code != Z_STREAM_END;) {
    const std::size_t given = std::min(blob.size() - at, kMostAtOnce);
    // zlib does not write to its input.
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(blob.data() + at));
    stream.avail_in = static_cast<uInt>(given);
    stream.next_out = reinterpret_cast<Bytef*>(packed.data());
    stream.avail_out = static_cast<uInt>(packed.size());
    code = deflate(&stream, at + given == blob.size() ? Z_FINISH : Z_NO_FLUSH);
    at += given - stream.avail_in;
    septets.Add(std::string_view(packed).substr(0, packed.size() - stream.avail_out), &text);
    out.Write(text);
    text.clear();
  }
  deflateEnd(&stream);
  septets.Finish(&text);
  out.Write(text);
}

class PageWriter {
 public:
  PageWriter(const PageContents& contents, OutputStream& out) : contents_(contents), out_(out), parts_(Unpack()) {}

  void Write() {
    const uint64_t budget = contents_.event_budget / std::max<std::size_t>(1, contents_.timelines.size());
    for (const PageTimeline& timeline : contents_.timelines) {
      timelines_.push_back(EncodeTimeline(timeline.input, timeline.label, budget, timeline.step));
    }
    std::string_view page = parts_.page;
    for (;;) {
      const std::size_t begin = page.find("{{"), end = page.find("}}");
      if (begin == std::string_view::npos || end == std::string_view::npos) break;
      out_.Write(page.substr(0, begin));
      WritePart(page.substr(begin + 2, end - begin - 2));
      page.remove_prefix(end + 2);
    }
    out_.Write(page);
  }

 private:
  void WritePart(std::string_view name) {
    if (name == "csp") return out_.Write(SecurityPolicy());
    if (name == "title") return out_.Write(EscapeForText(Utf8(contents_.title)));
    if (name == "style") return WriteBlob(parts_.style, kForText, out_);
    if (name == "boot") return out_.Write(parts_.boot);
    if (name == "program") return WriteBlob(parts_.script, kForText, out_);
    if (name == "page") return WriteData();
    if (name == "events") return WriteEvents();
    throw Error(ExitCode::kBug, "the page has no part '" + std::string(name) + "'");
  }

  // The documents are JSON already. Their tables deflate to a tenth.
  void WriteData() {
    Json places = Json::array();
    for (const FindingPlace& place : contents_.places)
      places.push_back({{"finding", place.finding}, {"query", place.query}});
    std::string data = R"({"version":3,"kind":)";
    data += !contents_.fleet.empty() ? R"("fleet")" : contents_.diff.empty() ? R"("report")" : R"("diff")";
    const auto write = [&](std::string_view key, const std::string& json) {
      data.append(",\"").append(key).append("\":").append(json.empty() ? "null" : json);
    };
    write("title", CompactText(Json(Utf8(contents_.title))));
    write("verdict", CompactText(Json(Utf8(contents_.verdict))));
    write("report", contents_.report);
    write("diff", contents_.diff);
    write("places", CompactText(places));
    if (!contents_.flames.empty()) write("flames", contents_.flames);
    if (!contents_.occupancy.empty()) write("occupancy", contents_.occupancy);
    if (!contents_.fleet.empty()) write("fleet", contents_.fleet);
    Json timelines = Json::array();
    for (EncodedTimeline& timeline : timelines_) timelines.push_back(std::move(timeline.description));
    write("timelines", CompactText(timelines));
    data += '}';
    WriteBlob(data, kForText, out_);
  }

  void WriteEvents() {
    const auto write = [this](std::size_t number, const std::string& blob) {
      out_.Write("<script type=\"application/octet-stream\" id=\"events-" + std::to_string(number) + "\">");
      WriteBlob(blob, kForEvents, out_);
      out_.Write("</script>\n");
    };
    for (std::size_t i = 0; i < timelines_.size(); ++i) write(i, timelines_[i].blob);
    if (!contents_.fleet.empty()) write(0, contents_.fleet_blob);
  }

  const PageContents& contents_;
  OutputStream& out_;
  Unpacked parts_;
  std::vector<EncodedTimeline> timelines_;
};

}  // namespace

bool HasPage() { return kPageParts.template_bytes != 0; }

void WritePage(const PageContents& contents, OutputStream& out) {
  if (!HasPage()) {
    throw Error(ExitCode::kUsage, "this gprof-cli was built without the HTML page",
                "it was configured with GPROF_BUILD_HTML=OFF; use another format");
  }
  PageWriter(contents, out).Write();
}

std::string EscapeForText(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '&') {
      out += "&amp;";
    } else if (c == '"') {
      out += "&quot;";
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace gprof

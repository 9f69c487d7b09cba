// The pieces of the text form of records that dump writes and assemble reads: quoting, and the line of a chunk.
// docs/trace-format.md describes the form.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "gprof/trace/file.h"
#include "gprof/trace/record.h"

namespace gprof {

// Appends `text` in double quotes. What is Printable stays as it is; the bytes of all else, and what is not UTF-8,
// become \xHH, so that unquoting gives the same bytes back.
void AppendQuoted(std::string_view text, std::string* out);

// Reads a quoted text at `*at` of `line`, moves behind it. Null, or what is wrong.
const char* ReadQuoted(std::string_view line, std::size_t* at, std::string* text);

inline constexpr std::string_view kChunkWord = "chunk";

// What a `chunk` line says of the header; the rest of it follows from the records. The kind is a word of its own.
struct ChunkLine {
  uint32_t pid = 0, image = 0;
  uint64_t host = 0, start_ticks = 0, sequence = 0;
  uint64_t run = 0;
  uint8_t zstd = 0, collector = 0;
  template <class R, class V>
  static constexpr void Fields(R& r, V&& v) {
    using trace::FieldInfo;
    using trace::Shape;
    v(FieldInfo{"pid", Shape::kPlain, "process id"}, r.pid);
    v(FieldInfo{"sequence", Shape::kPlain, "number of the chunk in its process"}, r.sequence);
    v(FieldInfo{"host", Shape::kPlain, "hash of host name and boot id"}, r.host);
    v(FieldInfo{"start_ticks", Shape::kPlain, "start of the process in clock ticks"}, r.start_ticks);
    v(FieldInfo{"image", Shape::kPlain, "how often the process called exec"}, r.image);
    v(FieldInfo{"run", Shape::kPlain, "random number of the recording, 0 when not known"}, r.run);
    v(FieldInfo{"zstd", Shape::kPlain, "1 when the body is compressed"}, r.zstd);
    v(FieldInfo{"collector", Shape::kPlain, "1 for a process that looks at others"}, r.collector);
  }
};

// Null for a number that is no kind.
const char* KindName(uint16_t kind);
// False when no kind has the name.
bool FindKind(std::string_view name, trace::RecordKind* kind);

}  // namespace gprof

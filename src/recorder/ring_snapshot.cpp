#include "recorder/ring_snapshot.h"

#include <algorithm>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include "gprof/trace/record.h"
#include "gprof/trace/wire.h"
#include "recorder/kept_kinds.h"
#include "trace/file/checksum.h"
#include "trace/file/reader.h"
#include "trace/write/chunk_writer.h"
#include "trace/write/dictionary.h"
#include "trace/write/record_span.h"

namespace gprof {
namespace {

using trace::RecordKind;

constexpr std::size_t kWriteBytes = 4u << 20;

// When a record was over; 0 for one that has no time.
template <class R>
uint64_t EndOf(const R& record) {
  RecordSpan span;
  Extend(record, &span);
  return span.last_ns;
}

struct ProcessState {
  uint64_t sequence = 0;  // of its next chunk
  uint64_t first_ns = 0;  // of what is known of it
  bool is_collector = false, has_ended = false;
  bool has_base_level = false;  // between two windows
  std::vector<trace::CaptureRecord> captures;
};

class SnapshotWriter {
 public:
  SnapshotWriter(const Ring& ring, const SnapshotRequest& request) : ring_(ring), request_(request) {
    snapshot_.from_ns = std::max<int64_t>(request.from_ns, static_cast<int64_t>(ring.complete_since_ns()));
  }

  Snapshot Write() {
    for (const RingChunk& chunk : ring_.Chunks()) {
      if (chunk.header.process.image != trace::kFirstChunkImage) Take(chunk);
    }
    // What is younger than the time that is kept has been there from its beginning.
    int64_t first_ns = request_.until_ns;
    for (auto& [key, state] : processes_) {
      if (state.is_collector) continue;
      Close(key, &state);
      if (state.first_ns != 0) first_ns = std::min(first_ns, static_cast<int64_t>(state.first_ns));
    }
    snapshot_.from_ns = std::max(snapshot_.from_ns, first_ns);
    if (!request_.reason.empty()) SayReason();
    Append(0);
    return snapshot_;
  }

 private:
  void Take(const RingChunk& chunk) {
    const trace::ChunkHeader& header = chunk.header;
    const bool is_event = IsForgettable(header.kind);
    const auto from_ns = static_cast<uint64_t>(snapshot_.from_ns);
    const bool is_capture = header.kind == static_cast<uint16_t>(RecordKind::kCapture);
    const auto last_ns = static_cast<uint64_t>(request_.last_ns);
    if (is_event && !is_capture && (header.last_ns < from_ns || header.first_ns > last_ns)) return;
    if (!ring_.Read(chunk, &body_)) {
      ++snapshot_.damaged;
      return;
    }
    ProcessState& state = processes_[header.process];
    state.is_collector = state.is_collector || (header.flags & trace::kChunkCollector) != 0;
    if (header.first_ns != 0 && (state.first_ns == 0 || header.first_ns < state.first_ns))
      state.first_ns = header.first_ns;
    state.has_base_level = state.has_base_level || header.kind == static_cast<uint16_t>(RecordKind::kBaseTime);
    if (is_capture) return KeepCaptures(&state);
    if (header.kind == static_cast<uint16_t>(RecordKind::kEnd)) return Renumber(header, &state);
    if (is_event && (header.first_ns < from_ns || header.last_ns > last_ns)) return Shorten(header, &state);
    Copy(header, body_.data(), body_.size(), &state);
  }

  // Calls take(blocks so far, rows) for the rows of the chunk's own kind, behind its dictionary.
  template <class Take>
  void WithRows(Take&& take) {
    trace::ByteReader body(body_.data(), body_.size());
    trace::BlockView block;
    while (true) {
      const std::size_t dictionary_bytes = body_.size() - body.left();
      if (!trace::NextBlock(body, &block)) return;
      trace::ForEachKind([&](auto* null_record) {
        using R = std::decay_t<decltype(*null_record)>;
        if constexpr (R::kKind != RecordKind::kString && R::kKind != RecordKind::kKernelShape) {
          if (static_cast<uint16_t>(R::kKind) != block.kind) return;
          std::vector<R> rows(block.record_count);
          if (trace::DecodeBlock(block, rows.data())) take(dictionary_bytes, &rows);
        }
      });
    }
  }

  void KeepCaptures(ProcessState* state) {
    WithRows([&](std::size_t, auto* rows) {
      using R = typename std::decay_t<decltype(*rows)>::value_type;
      if constexpr (std::is_same_v<R, trace::CaptureRecord>)
        state->captures.insert(state->captures.end(), rows->begin(), rows->end());
    });
  }

  // The end of a process says how many chunks there were of it.
  void Renumber(const trace::ChunkHeader& header, ProcessState* state) {
    state->has_ended = true;
    WithRows([&](std::size_t dictionary_bytes, auto* rows) {
      using R = typename std::decay_t<decltype(*rows)>::value_type;
      if constexpr (std::is_same_v<R, trace::EndRecord>) {
        WriteCaptures(header.process, state, rows->front().time_ns);
        for (trace::EndRecord& end : *rows) end.chunks_written = state->sequence;
        CopyRows(header, dictionary_bytes, *rows, state);
      }
    });
  }

  void Shorten(const trace::ChunkHeader& header, ProcessState* state) {
    const auto from_ns = static_cast<uint64_t>(snapshot_.from_ns), last_ns = static_cast<uint64_t>(request_.last_ns);
    WithRows([&](std::size_t dictionary_bytes, auto* rows) {
      std::erase_if(*rows, [=](const auto& row) { return EndOf(row) < from_ns || EndOf(row) > last_ns; });
      Clip(from_ns, rows);
      CopyRows(header, dictionary_bytes, *rows, state);
    });
  }

  // Ranges of before are not kept, so the base level was on from where they are.
  template <class R>
  static void Clip(uint64_t from_ns, std::vector<R>* rows) {
    if constexpr (std::is_same_v<R, trace::BaseTimeRecord>) {
      for (R& row : *rows) {
        const uint64_t cut_ns = row.start_ns < from_ns ? from_ns - row.start_ns : 0;
        row = {row.start_ns + cut_ns, row.duration_ns - cut_ns};
      }
    }
  }

  template <class R>
  void CopyRows(trace::ChunkHeader header, std::size_t dictionary_bytes, const std::vector<R>& rows,
                ProcessState* state) {
    if (rows.empty()) return;
    std::vector<unsigned char> body(trace::kMaxBodyBytes);
    std::copy_n(body_.begin(), dictionary_bytes, body.begin());
    trace::ByteWriter out(body.data() + dictionary_bytes, body.size() - dictionary_bytes);
    trace::EncodeBlock(rows.data(), rows.size(), out);
    if (out.overflow()) return;
    header.record_count = static_cast<uint32_t>(rows.size());
    Copy(header, body.data(), dictionary_bytes + out.size(), state);
  }

  void Copy(trace::ChunkHeader header, const unsigned char* body, std::size_t size, ProcessState* state) {
    header.sequence = state->sequence++;
    header.run = request_.run;
    header.body_bytes = header.unpacked_bytes = static_cast<uint32_t>(size);
    header.body_crc = Checksum(body, size);
    unsigned char head[trace::kChunkHeaderBytes];
    trace::WriteHeader(header, head);
    out_.append(reinterpret_cast<const char*>(head), sizeof head);
    out_.append(reinterpret_cast<const char*>(body), size);
    if (IsForgettable(header.kind)) snapshot_.records += header.record_count;
    Append(kWriteBytes);
  }

  // To the trace the process was recorded from the beginning of what is kept, and no longer than until now.
  void WriteCaptures(const trace::ProcessKey& key, ProcessState* state, uint64_t until_ns) {
    const auto from_ns = std::max(static_cast<uint64_t>(snapshot_.from_ns), state->first_ns);
    std::vector<trace::CaptureRecord> kept;
    trace::CaptureRecord open{from_ns, static_cast<uint8_t>(trace::CaptureEvent::kStart),
                              static_cast<uint8_t>(trace::CaptureTrigger::kCommand), 1};
    const bool is_in_pause = state->has_base_level || (request_.is_in_pause && request_.is_in_pause(key));
    bool is_open = state->captures.empty() && !is_in_pause;
    for (const trace::CaptureRecord& record : state->captures) {
      const bool starts = record.event == static_cast<uint8_t>(trace::CaptureEvent::kStart);
      if (record.time_ns >= from_ns) {
        if (kept.empty() && !starts) kept.push_back(open);
        kept.push_back(record);
      } else {
        open.number = record.number;
      }
      is_open = starts;
    }
    if (is_open && kept.empty()) kept.push_back(open);
    // All windows are older than what is kept. One without length says that there was none.
    if (!is_open && kept.empty()) {
      open.trigger = static_cast<uint8_t>(trace::CaptureTrigger::kWindow);
      kept = {open, open};
      kept.back().event = static_cast<uint8_t>(trace::CaptureEvent::kStop);
    }
    if (is_open) {
      kept.push_back({until_ns, static_cast<uint8_t>(trace::CaptureEvent::kStop),
                      static_cast<uint8_t>(trace::CaptureTrigger::kCommand), kept.back().number});
    }
    Write(key, state, kept);
  }

  // A process that lives on was recorded until now, in order.
  void Close(const trace::ProcessKey& key, ProcessState* state) {
    if (state->has_ended) return;
    const auto until_ns = static_cast<uint64_t>(request_.until_ns);
    WriteCaptures(key, state, until_ns);
    trace::EndRecord end;
    end.time_ns = until_ns;
    end.reason = static_cast<uint8_t>(trace::EndReason::kStopped);
    end.chunks_written = state->sequence;
    Write(key, state, std::vector<trace::EndRecord>{end});
  }

  void SayReason() {
    ProcessState state;
    state.is_collector = true;
    Dictionary dictionary;
    trace::NoticeRecord notice;
    notice.time_ns = static_cast<uint64_t>(request_.until_ns);
    notice.level = static_cast<uint8_t>(trace::NoticeLevel::kReason);
    notice.message = dictionary.String(request_.reason);
    Write(request_.writer, &state, std::vector<trace::NoticeRecord>{notice}, &dictionary);
  }

  template <class R>
  void Write(const trace::ProcessKey& key, ProcessState* state, const std::vector<R>& rows,
             Dictionary* dictionary = nullptr) {
    Dictionary none;
    ChunkWriter writer(
        dictionary != nullptr ? dictionary : &none,
        {.process = key, .sequence = state->sequence, .run = request_.run, .is_collector = state->is_collector});
    for (const R& row : rows) writer.Add(row);
    writer.Take(&out_);
    state->sequence = writer.options().sequence;
  }

  // Once there is so much of it.
  void Append(std::size_t least_bytes) {
    if (out_.size() < least_bytes || out_.empty()) return;
    const int error = request_.write(out_);
    if (snapshot_.error == 0) snapshot_.error = error;
    snapshot_.bytes += out_.size();
    out_.clear();
  }

  const Ring& ring_;
  const SnapshotRequest& request_;
  Snapshot snapshot_;
  std::unordered_map<trace::ProcessKey, ProcessState, ProcessKeyHash> processes_;
  std::vector<unsigned char> body_;
  std::string out_;
};

}  // namespace

std::function<int(std::string_view chunks)> AppendTo(TraceFile file) {
  return [file = std::move(file)](std::string_view chunks) { return AppendChunks(file, chunks).error; };
}

Snapshot WriteSnapshot(const Ring& ring, const SnapshotRequest& request) {
  return SnapshotWriter(ring, request).Write();
}

}  // namespace gprof

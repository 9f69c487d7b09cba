#include "import/shared/foreign_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "gprof/error.h"

namespace gprof {
namespace {

constexpr std::size_t kMaxProcesses = 1 << 16;

trace::KernelShapeRecord WithoutId(trace::KernelShapeRecord shape) {
  shape.id = 0;
  return shape;
}

}  // namespace

ForeignBuilder::ForeignBuilder(const std::string& path, std::string recorder)
    : builder_(path), recorder_(std::move(recorder)), texts_(1) {}

uint32_t ForeignBuilder::AddProcess(uint64_t space, uint32_t pid) {
  if (headers_.size() >= kMaxProcesses) {
    throw Error(ExitCode::kUnreadable, fmt::format("the trace has more than {} processes", kMaxProcesses));
  }
  trace::ChunkHeader header;
  header.process.host = space;
  header.process.pid = pid;
  header.process.image = static_cast<uint32_t>(headers_.size());
  headers_.push_back(header);
  return static_cast<uint32_t>(headers_.size() - 1);
}

void ForeignBuilder::Enter(uint32_t process) {
  if (process == process_) return;
  if (process_ != kNone) builder_.EndChunk();
  process_ = process;
  builder_.BeginChunk(headers_[process]);
}

uint32_t ForeignBuilder::Text(std::string_view text) {
  if (text.empty()) return 0;
  const auto at = text_ids_.find(text);
  if (at != text_ids_.end()) return at->second;
  const auto id = static_cast<uint32_t>(texts_.size());
  text_ids_.emplace(texts_.emplace_back(text), id);
  return id;
}

bool ForeignBuilder::Known::IsFirst(uint32_t process, uint32_t id) {
  if (process >= kTables) return std::exchange(others_(process, id), 0) == kNone;
  std::vector<bool>& known = tables_[process];
  if (id >= known.size()) known.resize(std::max<std::size_t>(id + 1, 2 * known.size()));
  if (known[id]) return false;
  known[id] = true;
  return true;
}

trace::StringId ForeignBuilder::Name(uint32_t text) {
  if (text == 0) return {};
  if (known_texts_.IsFirst(process_, text)) {
    const std::string& bytes = texts_[text];
    builder_.Add(trace::StringRecord{text, {bytes.data(), static_cast<uint32_t>(bytes.size())}});
  }
  return {text};
}

bool ForeignBuilder::SameShape::operator()(const trace::KernelShapeRecord& a, const trace::KernelShapeRecord& b) const {
  std::array<uint64_t, 32> values{};
  std::size_t count = 0, at = 0;
  trace::KernelShapeRecord::Fields(a, [&](const trace::FieldInfo&, auto value) { values[count++] = value; });
  bool is_same = true;
  trace::KernelShapeRecord::Fields(
      b, [&](const trace::FieldInfo&, auto value) { is_same = is_same && values[at++] == uint64_t{value}; });
  return is_same;
}

std::size_t ForeignBuilder::ShapeHash::operator()(const trace::KernelShapeRecord& shape) const {
  uint64_t h = 0x9E3779B97F4A7C15u;
  trace::KernelShapeRecord::Fields(shape, [&](const trace::FieldInfo&, auto value) {
    h = (h ^ uint64_t{value}) * 0xBF58476D1CE4E5B9u;
    h ^= h >> 29;
  });
  return static_cast<std::size_t>(h);
}

trace::ShapeId ForeignBuilder::Shape(const trace::KernelShapeRecord& given) {
  const trace::KernelShapeRecord shape = WithoutId(given);
  if (last_shape_id_ == 0 || !SameShape()(shape, last_shape_)) {
    last_shape_ = shape;
    last_shape_id_ = shape_ids_.emplace(shape, static_cast<uint32_t>(shape_ids_.size() + 1)).first->second;
  }
  if (known_shapes_.IsFirst(process_, last_shape_id_)) {
    trace::KernelShapeRecord record = shape;
    record.id = last_shape_id_;
    builder_.Add(record);
  }
  return {last_shape_id_};
}

void ForeignBuilder::AddNotice(trace::NoticeLevel level, std::string_view message) {
  trace::NoticeRecord notice;
  notice.level = static_cast<uint8_t>(level);
  notice.message = Name(message);
  Add(notice);
}

void ForeignBuilder::AddLoss(trace::LossReason reason, uint64_t count) {
  trace::LossRecord loss;
  loss.reason = static_cast<uint8_t>(reason);
  loss.count = count;
  Add(loss);
}

Trace ForeignBuilder::Finish(uint64_t file_bytes) {
  if (process_ != kNone) builder_.EndChunk();
  TraceHealth framing;
  framing.file_bytes = file_bytes;
  Trace trace = builder_.Finish(framing);
  trace.recorder = std::move(recorder_);
  trace.lacks = lacks_;
  trace.record_count = record_count_;
  return trace;
}

}  // namespace gprof

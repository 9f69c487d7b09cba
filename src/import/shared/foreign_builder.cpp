#include "import/shared/foreign_builder.h"

#include <fmt/format.h>

#include <utility>

#include "gprof/error.h"

namespace gprof {
namespace {

constexpr std::size_t kMaxProcesses = 1 << 16;

// All that tells shapes apart.
std::vector<uint64_t> KeyOf(const trace::KernelShapeRecord& shape) {
  std::vector<uint64_t> key;
  trace::KernelShapeRecord::Fields(shape, [&](const trace::FieldInfo&, auto value) { key.push_back(value); });
  key.front() = 0;  // its id
  return key;
}

}  // namespace

ForeignBuilder::ForeignBuilder(const std::string& path, std::string recorder, MemoryBudget* budget)
    : budget_(*budget), builder_(path), recorder_(std::move(recorder)), texts_(1) {}

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
  constexpr uint64_t kBytesOfAPlace = 160;  // in this table and that of the builder
  budget_.Take(2 * text.size() + kBytesOfAPlace);
  const auto id = static_cast<uint32_t>(texts_.size());
  text_ids_.emplace(texts_.emplace_back(text), id);
  return id;
}

trace::StringId ForeignBuilder::Name(uint32_t text) {
  if (text == 0) return {};
  if (std::exchange(known_texts_(process_, text), 0) == kNone) {
    const std::string& bytes = texts_[text];
    builder_.Add(trace::StringRecord{text, {bytes.data(), static_cast<uint32_t>(bytes.size())}});
  }
  return {text};
}

trace::ShapeId ForeignBuilder::Shape(trace::KernelShapeRecord shape) {
  shape.id = shape_ids_.emplace(KeyOf(shape), static_cast<uint32_t>(shape_ids_.size() + 1)).first->second;
  if (std::exchange(known_shapes_(process_, shape.id), 0) == kNone) builder_.Add(shape);
  return {shape.id};
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

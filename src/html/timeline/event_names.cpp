#include "html/timeline/event_names.h"

#include <utility>

namespace gprof {
namespace {

constexpr std::size_t kLongestNameBytes = 4096;
constexpr std::string_view kEllipsis = "…";

// A byte at which a character begins.
bool IsBoundary(std::string_view text, std::size_t at) {
  constexpr unsigned char kMask = 0xC0, kContinuation = 0x80;
  return at >= text.size() || (static_cast<unsigned char>(text[at]) & kMask) != kContinuation;
}

}  // namespace

std::string CutMiddle(std::string_view text, std::size_t limit) {
  if (text.size() <= limit || limit < kEllipsis.size()) return std::string(text);
  const std::size_t kept = limit - kEllipsis.size();
  std::size_t head = kept / 2, tail = text.size() - (kept - kept / 2);
  while (head > 0 && !IsBoundary(text, head)) --head;
  while (tail < text.size() && !IsBoundary(text, tail)) ++tail;
  return std::string(text.substr(0, head)).append(kEllipsis).append(text.substr(tail));
}

uint32_t EventNames::Number(uint32_t label) {
  if (numbers_.size() <= label) numbers_.resize(label + 1, kNone);
  uint32_t& number = numbers_[label];
  if (number != kNone) return number;
  std::string text = CutMiddle(labels_.Text(label), kLongestNameBytes);
  const auto [found, is_new] = number_of_text_.try_emplace(text, static_cast<uint32_t>(texts_.size()));
  if (is_new) texts_.push_back(std::move(text));
  return number = found->second;
}

}  // namespace gprof

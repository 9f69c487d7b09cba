#include "import/snapshot/pickle.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "gprof/error.h"
#include "trace/file/memory_budget.h"

namespace gprof {
namespace {

constexpr uint8_t kProto = 0x80, kFrame = 0x95, kStop = '.', kMark = '(', kPop = '0', kPopMark = '1';
// With what containers need beside them.
constexpr uint64_t kValueBytes = 48, kListBytes = 96;
constexpr std::size_t kMostKeys = 64;  // of a dict that are looked at: snapshots have a dozen

}  // namespace

bool Pickle::IsPickle(std::string_view bytes) {
  return bytes.size() > 2 && static_cast<uint8_t>(bytes[0]) == kProto && bytes[1] >= 2 && bytes[1] <= 5;
}

Pickle::Pickle(std::string_view bytes, MemoryBudget* budget) : bytes_(bytes), budget_(*budget) {
  while (true) {
    const auto code = static_cast<uint8_t>(TakeNumber(1));
    if (code == kStop) break;
    if (!Step(code)) Refuse("it would run code when loaded, or is damaged");
  }
  root_ = Top();
}

void Pickle::Refuse(const char* why) const { throw Error(ExitCode::kUnreadable, std::string("a pickle, but ") + why); }

uint64_t Pickle::TakeNumber(std::size_t bytes) {
  const std::string_view taken = TakeBytes(bytes);
  uint64_t number = 0;
  std::memcpy(&number, taken.data(), taken.size());  // little-endian, as we are
  return number;
}

std::string_view Pickle::TakeBytes(uint64_t count) {
  if (count > bytes_.size() - at_) Refuse("it is truncated");
  const std::string_view taken = bytes_.substr(at_, count);
  at_ += count;
  return taken;
}

Pickle::Value Pickle::Add(Node node) {
  budget_.Take(node.kind == Kind::kList || node.kind == Kind::kDict ? kListBytes : kValueBytes);
  nodes_.push_back(node);
  return static_cast<Value>(nodes_.size() - 1);
}

// Two's complement; what has more than 64 bits keeps the lower ones.
void Pickle::PushLong(uint64_t bytes) {
  const std::string_view digits = TakeBytes(bytes);
  uint64_t number = !digits.empty() && (digits.back() & 0x80) != 0 ? ~uint64_t{0} : 0;
  std::memcpy(&number, digits.data(), std::min<std::size_t>(digits.size(), sizeof number));
  PushInt(static_cast<int64_t>(number));
}

// As a whole number, which is all that is asked of one.
void Pickle::PushFloat() {
  uint64_t bits = 0;
  for (const char byte : TakeBytes(8)) bits = bits << 8 | static_cast<uint8_t>(byte);
  const double number = std::bit_cast<double>(bits);
  constexpr double kMost = 9e18;
  PushInt(std::isfinite(number) && std::fabs(number) < kMost ? static_cast<int64_t>(number) : 0);
}

void Pickle::PushText(uint64_t bytes) {
  const std::size_t begin = at_;
  const std::size_t size = TakeBytes(bytes).size();
  if (size > 0xFFFFFFFFu) Refuse("a text is longer than 4 GB");
  Push(Add({Kind::kText, static_cast<uint32_t>(size), static_cast<int64_t>(begin)}));
}

// Of the last items of the stack.
void Pickle::PushList(Kind kind, std::size_t items) {
  if (items > stack_.size()) Refuse("it is damaged");
  const auto first = stack_.end() - static_cast<std::ptrdiff_t>(items);
  lists_.emplace_back(first, stack_.end());
  stack_.erase(first, stack_.end());
  Push(Add({kind, 0, static_cast<int64_t>(lists_.size() - 1)}));
}

Pickle::Value Pickle::Top() const {
  if (stack_.empty()) Refuse("it is damaged");
  return stack_.back();
}

std::size_t Pickle::TakeMark() {
  if (marks_.empty() || marks_.back() > stack_.size()) Refuse("it is damaged");
  const std::size_t mark = marks_.back();
  marks_.pop_back();
  return mark;
}

void Pickle::Keep(uint64_t place) {
  budget_.Take(kValueBytes);
  memo_[place] = Top();
}

void Pickle::PushKept(uint64_t place) {
  const auto at = memo_.find(place);
  if (at == memo_.end()) Refuse("it is damaged");
  Push(at->second);
}

// Items from there on go to the list or dict below them.
void Pickle::MoveInto(Kind kind, std::size_t first) {
  if (first == 0 || first > stack_.size()) Refuse("it is damaged");
  const Node& node = nodes_[stack_[first - 1]];
  if (node.kind != kind) Refuse("it is damaged");
  std::vector<Value>& list = lists_[static_cast<std::size_t>(node.number)];
  const auto begin = stack_.begin() + static_cast<std::ptrdiff_t>(first);
  list.insert(list.end(), begin, stack_.end());
  if (kind == Kind::kDict && list.size() % 2 != 0) Refuse("it is damaged");
  stack_.erase(begin, stack_.end());
}

bool Pickle::Step(uint8_t code) {
  switch (code) {
    case kProto:
      TakeNumber(1);
      return true;
    case kFrame:
      TakeNumber(8);
      return true;
    case kMark:
      marks_.push_back(stack_.size());
      return true;
    case kPop:
      Top();
      stack_.pop_back();
      return true;
    case kPopMark:
      stack_.resize(TakeMark());
      return true;
    default:
      return StepOfNumber(code) || StepOfText(code) || StepOfList(code) || StepOfMemo(code);
  }
}

bool Pickle::StepOfNumber(uint8_t code) {
  constexpr uint8_t kTrue = 0x88, kFalse = 0x89, kLong1 = 0x8A, kLong4 = 0x8B;
  switch (code) {
    case 'N':
      Push(Add({}));
      return true;
    case kTrue:
    case kFalse:
      PushInt(code == kTrue ? 1 : 0);
      return true;
    case 'J':
      PushInt(static_cast<int32_t>(TakeNumber(4)));
      return true;
    case 'K':
      PushInt(static_cast<int64_t>(TakeNumber(1)));
      return true;
    case 'M':
      PushInt(static_cast<int64_t>(TakeNumber(2)));
      return true;
    case 'G':
      PushFloat();
      return true;
    case kLong1:
    case kLong4:
      PushLong(TakeNumber(code == kLong1 ? 1 : 4));
      return true;
    default:
      return false;
  }
}

bool Pickle::StepOfText(uint8_t code) {
  constexpr uint8_t kShortText = 0x8C, kLongText = 0x8D, kLongBytes = 0x8E;
  switch (code) {
    case kShortText:
    case 'C':
      PushText(TakeNumber(1));
      return true;
    case 'X':
    case 'B':
      PushText(TakeNumber(4));
      return true;
    case kLongText:
    case kLongBytes:
      PushText(TakeNumber(8));
      return true;
    default:
      return false;
  }
}

bool Pickle::StepOfList(uint8_t code) {
  constexpr uint8_t kTuple1 = 0x85, kTuple3 = 0x87;
  if (code >= kTuple1 && code <= kTuple3) {
    PushList(Kind::kList, code - kTuple1 + 1u);
    return true;
  }
  switch (code) {
    case ']':
    case ')':
      PushList(Kind::kList, 0);
      return true;
    case '}':
      PushList(Kind::kDict, 0);
      return true;
    case 't':
    case 'l': {
      const std::size_t mark = TakeMark();
      PushList(Kind::kList, stack_.size() - mark);
      return true;
    }
    case 'a':
    case 's': {
      const std::size_t items = code == 'a' ? 1 : 2;
      if (stack_.size() < items) return false;
      MoveInto(code == 'a' ? Kind::kList : Kind::kDict, stack_.size() - items);
      return true;
    }
    case 'e':
    case 'u':
      MoveInto(code == 'e' ? Kind::kList : Kind::kDict, TakeMark());
      return true;
    default:
      return false;
  }
}

bool Pickle::StepOfMemo(uint8_t code) {
  constexpr uint8_t kMemoize = 0x94;
  switch (code) {
    case kMemoize:
      Keep(memo_.size());
      return true;
    case 'q':
    case 'r':
      Keep(TakeNumber(code == 'q' ? 1 : 4));
      return true;
    case 'h':
    case 'j':
      PushKept(TakeNumber(code == 'h' ? 1 : 4));
      return true;
    default:
      return false;
  }
}

int64_t Pickle::Int(Value value) const {
  return value < nodes_.size() && nodes_[value].kind == Kind::kInt ? nodes_[value].number : 0;
}

std::string_view Pickle::Text(Value value) const {
  if (value >= nodes_.size() || nodes_[value].kind != Kind::kText) return {};
  return bytes_.substr(static_cast<std::size_t>(nodes_[value].number), nodes_[value].size);
}

std::span<const Pickle::Value> Pickle::Items(Value value) const {
  if (value >= nodes_.size() || (nodes_[value].kind != Kind::kList && nodes_[value].kind != Kind::kDict)) return {};
  return lists_[static_cast<std::size_t>(nodes_[value].number)];
}

Pickle::Value Pickle::Get(Value dict, std::string_view key) const {
  if (dict >= nodes_.size() || nodes_[dict].kind != Kind::kDict) return kMissing;
  const std::span<const Value> items = Items(dict);
  for (std::size_t i = 0; i + 1 < items.size() && i < 2 * kMostKeys; i += 2) {
    if (Text(items[i]) == key) return items[i + 1];
  }
  return kMissing;
}

}  // namespace gprof

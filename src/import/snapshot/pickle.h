// A pickle of Python, read as data: numbers, texts, lists and dicts. What would have Python import or call something is
// refused, and so is anything else that is not needed for data.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace gprof {

class MemoryBudget;

class Pickle {
 public:
  // The number of a value. A value may be in several lists, and in itself.
  using Value = uint32_t;
  static constexpr Value kMissing = 0xFFFFFFFFu;

  // Throws Error where it is damaged or refused. `bytes` must outlive it. Values count against `budget`.
  Pickle(std::string_view bytes, MemoryBudget* budget);

  static bool IsPickle(std::string_view bytes);

  Value root() const { return root_; }
  // Of a number or a truth value; 0 for others.
  int64_t Int(Value value) const;
  std::string_view Text(Value value) const;  // empty for others
  // Of a list or tuple; of a dict keys and values in turns. Empty for others.
  std::span<const Value> Items(Value value) const;
  // The value of a key among the first ones; kMissing without it, and for what is no dict.
  Value Get(Value dict, std::string_view key) const;
  int64_t GetInt(Value dict, std::string_view key) const { return Int(Get(dict, key)); }
  std::string_view GetText(Value dict, std::string_view key) const { return Text(Get(dict, key)); }
  std::span<const Value> GetItems(Value dict, std::string_view key) const { return Items(Get(dict, key)); }

 private:
  enum class Kind : uint8_t { kNothing, kInt, kText, kList, kDict };
  struct Node {
    Kind kind = Kind::kNothing;
    uint32_t size = 0;   // of a text
    int64_t number = 0;  // of a number; where a text begins; which list
  };

  [[noreturn]] void Refuse(const char* why) const;
  uint64_t TakeNumber(std::size_t bytes);
  std::string_view TakeBytes(uint64_t count);
  Value Add(Node node);
  void Push(Value value) { stack_.push_back(value); }
  void PushInt(int64_t number) { Push(Add({Kind::kInt, 0, number})); }
  void PushLong(uint64_t bytes);
  void PushFloat();
  void PushText(uint64_t bytes);
  void PushList(Kind kind, std::size_t items);
  Value Top() const;
  std::size_t TakeMark();
  void Keep(uint64_t place);
  void PushKept(uint64_t place);
  void MoveInto(Kind kind, std::size_t first);
  bool Step(uint8_t code);
  bool StepOfText(uint8_t code);
  bool StepOfNumber(uint8_t code);
  bool StepOfList(uint8_t code);
  bool StepOfMemo(uint8_t code);

  std::string_view bytes_;
  MemoryBudget& budget_;
  std::size_t at_ = 0;
  std::vector<Node> nodes_;
  std::deque<std::vector<Value>> lists_;
  std::vector<Value> stack_;
  std::vector<std::size_t> marks_;
  std::unordered_map<uint64_t, Value> memo_;
  Value root_ = kMissing;
};

}  // namespace gprof

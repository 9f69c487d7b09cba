// What operations, calls and NVTX ranges have in common as the model keeps them (gprof/packed.h,
// gprof/packed_ranges.h): a list of items, few bytes each, beside the traits that many of them share, each once.
// Reading one makes a value of both; of that, compilers leave out what nobody looks at, so take the fields that you
// need and do not hand the whole of it around in loops.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include "gprof/events.h"
#include "gprof/prefetch.h"

namespace gprof {

namespace packed_detail {

// An allocator whose vectors do not write new elements when they are made longer by resize(): whoever does that writes
// all of them, from several threads where there are many.
template <class T>
struct Unwritten : std::allocator<T> {
  template <class U>
  struct rebind {
    using other = Unwritten<U>;
  };
  Unwritten() = default;
  template <class U>
  Unwritten(const Unwritten<U>&) {}
  template <class U>
  void construct(U*) noexcept {}
  template <class U, class... Args>
  void construct(U* at, Args&&... args) {
    ::new (static_cast<void*>(at)) U(std::forward<Args>(args)...);
  }
};

// Goes over a list whose elements are made when they are looked at. Only where that is inlined a compiler knows what is
// not looked at, and by its size it would not be.
template <class List, class Value>
class Iterator {
 public:
  struct Arrow {
    Value value;
    const Value* operator->() const { return &value; }
  };
  // Enough for the algorithms of the standard library, which then jump instead of stepping.
  using iterator_category = std::random_access_iterator_tag;
  using value_type = Value;
  using difference_type = std::ptrdiff_t;
  using reference = Value;
  using pointer = Arrow;

  Iterator() = default;
  Iterator(const List* list, std::size_t at) : list_(list), at_(at) {}
  [[gnu::always_inline]] Value operator*() const { return (*list_)[at_]; }
  [[gnu::always_inline]] Arrow operator->() const { return {(*list_)[at_]}; }
  [[gnu::always_inline]] Value operator[](difference_type n) const {
    return (*list_)[at_ + static_cast<std::size_t>(n)];
  }
  Iterator& operator++() { return ++at_, *this; }
  Iterator& operator--() { return --at_, *this; }
  Iterator operator++(int) { return Iterator(list_, at_++); }
  Iterator operator--(int) { return Iterator(list_, at_--); }
  Iterator& operator+=(difference_type n) { return at_ += static_cast<std::size_t>(n), *this; }
  Iterator& operator-=(difference_type n) { return at_ -= static_cast<std::size_t>(n), *this; }
  friend Iterator operator+(Iterator i, difference_type n) { return i += n; }
  friend Iterator operator+(difference_type n, Iterator i) { return i += n; }
  friend Iterator operator-(Iterator i, difference_type n) { return i -= n; }
  friend difference_type operator-(Iterator a, Iterator b) { return static_cast<difference_type>(a.at_ - b.at_); }
  friend bool operator==(Iterator a, Iterator b) { return a.at_ == b.at_; }
  friend bool operator!=(Iterator a, Iterator b) { return a.at_ != b.at_; }
  friend bool operator<(Iterator a, Iterator b) { return a.at_ < b.at_; }
  friend bool operator>(Iterator a, Iterator b) { return a.at_ > b.at_; }
  friend bool operator<=(Iterator a, Iterator b) { return a.at_ <= b.at_; }
  friend bool operator>=(Iterator a, Iterator b) { return a.at_ >= b.at_; }

 private:
  const List* list_ = nullptr;
  std::size_t at_ = 0;
};

// Values that occur again and again, each once.
template <class T>
class Shared {
  static_assert(std::has_unique_object_representations_v<T> && sizeof(T) % 4 == 0, "is compared as bytes");

 public:
  uint32_t Intern(const T& value) {
    if (2 * (values_.size() + 1) > slots_.size()) Index();
    const std::size_t slot = Probe(value);
    if (slots_[slot] == kNone) {
      slots_[slot] = static_cast<uint32_t>(values_.size());
      values_.push_back(value);
    }
    return slots_[slot];
  }

  // Without looking for it.
  uint32_t Add(const T& value) {
    slots_.clear();
    values_.push_back(value);
    return static_cast<uint32_t>(values_.size() - 1);
  }
  void Reserve(std::size_t count) { values_.reserve(count); }

  const T& operator[](uint32_t i) const { return values_[i]; }
  std::size_t size() const { return values_.size(); }

  template <class F>
  void Change(F&& change) {
    for (T& value : values_) change(value);
    slots_ = {};  // made again when something is added
  }

 private:
  std::size_t Probe(const T& value) const {
    uint64_t hash = 0x9E3779B97F4A7C15u;
    for (std::size_t at = 0; at < sizeof(T); at += 8) {
      uint64_t word = 0;
      std::memcpy(&word, reinterpret_cast<const unsigned char*>(&value) + at, sizeof(T) - at < 8 ? 4 : 8);
      hash = (hash ^ word) * 0xBF58476D1CE4E5B9u;
      hash ^= hash >> 29;
    }
    const std::size_t mask = slots_.size() - 1;
    std::size_t slot = static_cast<std::size_t>(hash ^ (hash >> 32)) & mask;
    while (slots_[slot] != kNone && std::memcmp(&values_[slots_[slot]], &value, sizeof(T)) != 0)
      slot = (slot + 1) & mask;
    return slot;
  }

  void Index() {
    std::size_t count = 64;
    while (count < 4 * (values_.size() + 1)) count *= 2;
    slots_.assign(count, kNone);
    for (uint32_t i = 0; i < values_.size(); ++i) slots_[Probe(values_[i])] = i;
  }

  std::vector<T> values_;
  std::vector<uint32_t> slots_;
};

inline constexpr uint8_t kLong = 0xFF;  // in duration_high: the duration is kept elsewhere

// 40 bits hold 18 minutes; `duration` is the place of a longer one in a list of those, or of a negative one.
struct Times {
  uint32_t start_low = 0, start_high = 0, duration = 0;

  int64_t start_ns() const { return static_cast<int64_t>(uint64_t{start_high} << 32 | start_low); }
  void SetStart(int64_t ns) {
    start_low = static_cast<uint32_t>(static_cast<uint64_t>(ns));
    start_high = static_cast<uint32_t>(static_cast<uint64_t>(ns) >> 32);
  }
  static bool IsLong(int64_t duration_ns) { return duration_ns < 0 || duration_ns >> 32 >= kLong; }
  static bool FitsDuration(uint64_t duration_ns) { return duration_ns >> 32 < kLong; }
};

// A list of Items and their Traits, read as Values. Self is the list that has
//   Value operator[](std::size_t) const    always inlined
//   void Set(std::size_t, const Value&)
// and what else there is to its items. An Item has `traits`, the number of its own.
template <class Self, class Value, class ItemT, class TraitsT>
class List {
 public:
  using value_type = Value;
  using const_iterator = Iterator<Self, Value>;
  using iterator = const_iterator;
  using Item = ItemT;
  using Traits = TraitsT;

  std::size_t size() const { return items_.size(); }
  bool empty() const { return items_.empty(); }
  const_iterator begin() const { return {&self(), 0}; }
  const_iterator end() const { return {&self(), size()}; }
  Value front() const { return self()[0]; }
  Value back() const { return self()[size() - 1]; }

  // For loops over all of them, which wait for memory more than for anything else: at the beginning of each turn.
  [[gnu::always_inline]] void PrefetchAfter(std::size_t i) const { PrefetchForReading(&items_[i]); }

  // Sums over items with the same traits can be kept by the number of those: TraitsIndex(i) < TraitsCount().
  uint32_t TraitsIndex(std::size_t i) const { return items_[i].traits; }
  std::size_t TraitsCount() const { return traits_.size(); }
  const Traits& TraitsAt(uint32_t index) const { return traits_[index]; }
  const Traits& TraitsOf(const Item& item) const { return traits_[item.traits]; }

  // For loops over all of them that need little of each.
  using Items = std::vector<Item, Unwritten<Item>>;
  const Items& items() const { return items_; }

  // ---- for those who build a trace ----
  Items& items() { return items_; }
  // change(Value&) of one of them.
  template <class F>
  void Change(std::size_t i, F&& change) {
    Value value = self()[i];
    change(value);
    static_cast<Self*>(this)->Set(i, value);
  }
  // change(Traits&) of all: much less than one for each item.
  template <class F>
  void ChangeTraits(F&& change) {
    traits_.Change(change);
  }
  uint32_t Intern(const Traits& traits) { return traits_.Intern(traits); }

 protected:
  // Puts items of another list behind these: traits and what is kept elsewhere have the numbers that they are given
  // here.
  template <class TraitsHere>
  void AppendItems(const Items& others, uint32_t long_base, TraitsHere&& traits_here) {
    items_.reserve(items_.size() + others.size());
    for (Item item : others) {
      item.traits = traits_here(item.traits);
      if (item.duration_high == kLong) item.duration += long_base;
      items_.push_back(item);
    }
  }

  Items items_;
  Shared<Traits> traits_;

 private:
  const Self& self() const { return static_cast<const Self&>(*this); }
};

}  // namespace packed_detail

}  // namespace gprof

// Operations and calls as the model keeps them: what many of them have in common is kept once, and an operation or a
// call is the rest, 28 bytes. Reading one makes a GpuOp or an ApiCall of it; of that, compilers leave out what nobody
// looks at, so take the fields that you need and do not hand the whole of it around in loops.
//
// What changes them is for those who build a trace: readers, Select, MergeTraces.
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

// Only where it is inlined a compiler knows what is not looked at, and by its size it would not be.
#define GPROF_INLINE [[gnu::always_inline]]

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

// Goes over a list whose elements are made when they are looked at.
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
  GPROF_INLINE Value operator*() const { return (*list_)[at_]; }
  GPROF_INLINE Arrow operator->() const { return {(*list_)[at_]}; }
  GPROF_INLINE Value operator[](difference_type n) const { return (*list_)[at_ + static_cast<std::size_t>(n)]; }
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
    while (slots_[slot] != kNone && std::memcmp(&values_[slots_[slot]], &value, sizeof(T)) != 0) slot = (slot + 1) & mask;
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

}  // namespace packed_detail

class PackedOps {
 public:
  using value_type = GpuOp;
  using const_iterator = packed_detail::Iterator<PackedOps, GpuOp>;
  using iterator = const_iterator;

  // What operations have in common: all launches of a kernel into a stream, all copies of one size.
  struct Facts {
    uint64_t size_bytes = 0, graph_node = 0;
    uint32_t graph = 0, device = kNone, stream = kNone, process = kNone;
    NameId name;
    uint32_t shape = kNone, peer_device = kNone, node = kNone;
    OpKind kind = OpKind::kKernel;
    trace::CopyKind copy_kind = trace::CopyKind::kUnknown;
    trace::MemoryKind source_memory = trace::MemoryKind::kUnknown;
    trace::MemoryKind destination_memory = trace::MemoryKind::kUnknown;
    uint8_t is_async = 0, is_from_peer = 0, unused[2] = {};
  };
  struct Item : packed_detail::Times {
    uint32_t facts = 0, api = kNone, correlation = 0;
    uint8_t duration_high = 0, is_from_before = 0, unused[2] = {};
    void SetDuration(uint64_t duration_ns) {
      duration = static_cast<uint32_t>(duration_ns);
      duration_high = static_cast<uint8_t>(duration_ns >> 32);
    }
  };

  std::size_t size() const { return items_.size(); }
  bool empty() const { return items_.empty(); }
  const_iterator begin() const { return {this, 0}; }
  const_iterator end() const { return {this, size()}; }
  GpuOp front() const { return (*this)[0]; }
  GpuOp back() const { return (*this)[size() - 1]; }
  GPROF_INLINE GpuOp operator[](std::size_t i) const {
    const Item& item = items_[i];
    const Facts& f = facts_[item.facts];
    GpuOp op;
    op.start_ns = item.start_ns();
    op.end_ns = EndNs(item);
    op.size_bytes = f.size_bytes;
    op.graph_node = f.graph_node;
    op.graph = f.graph;
    op.device = f.device;
    op.stream = f.stream;
    op.process = f.process;
    op.api = item.api;
    op.correlation = item.correlation;
    op.name = f.name;
    op.shape = f.shape;
    op.kind = f.kind;
    op.copy_kind = f.copy_kind;
    op.source_memory = f.source_memory;
    op.destination_memory = f.destination_memory;
    op.peer_device = f.peer_device;
    op.node = f.node;
    op.is_async = f.is_async != 0;
    op.is_from_before = item.is_from_before != 0;
    op.is_from_peer = f.is_from_peer != 0;
    return op;
  }

  // For loops over all of them, which wait for memory more than for anything else: at the beginning of each turn.
  GPROF_INLINE void PrefetchAfter(std::size_t i) const { PrefetchForReading(&items_[i]); }

  // Sums over operations with the same facts can be kept by the number of those: FactsOf(i) < FactsCount().
  uint32_t FactsIndex(std::size_t i) const { return items_[i].facts; }
  std::size_t FactsCount() const { return facts_.size(); }
  const Facts& FactsAt(uint32_t index) const { return facts_[index]; }

  int64_t EndNs(const Item& item) const {
    const uint64_t ns = uint64_t{item.duration_high} << 32 | item.duration;
    return item.start_ns() +
           (item.duration_high == packed_detail::kLong ? long_durations_ns_[item.duration] : static_cast<int64_t>(ns));
  }
  const Facts& FactsOf(const Item& item) const { return facts_[item.facts]; }

  // For loops over all of them that need little of each.
  using Items = std::vector<Item, packed_detail::Unwritten<Item>>;
  const Items& items() const { return items_; }

  // ---- for those who build a trace ----
  Items& items() { return items_; }
  void push_back(const GpuOp& op);
  void Set(std::size_t i, const GpuOp& op);
  // change(GpuOp&) of one of them.
  template <class F>
  void Change(std::size_t i, F&& change) {
    GpuOp op = (*this)[i];
    change(op);
    Set(i, op);
  }
  // change(Facts&) of all: much less than one for each operation.
  template <class F>
  void ChangeFacts(F&& change) {
    facts_.Change(change);
  }
  uint32_t Intern(const Facts& facts) { return facts_.Intern(facts); }
  void Add(int64_t start_ns, int64_t end_ns, uint32_t facts, uint32_t correlation);
  void Append(PackedOps&& others);
  // One of others, which has `facts` here.
  void AddFrom(const PackedOps& others, std::size_t i, uint32_t facts) {
    Item item = others.items_[i];
    item.facts = facts;
    if (item.duration_high == packed_detail::kLong) {
      const int64_t duration_ns = others.long_durations_ns_[item.duration];
      item.duration = static_cast<uint32_t>(long_durations_ns_.size());
      long_durations_ns_.push_back(duration_ns);
    }
    items_.push_back(item);
  }
  void SetTimes(std::size_t i, int64_t start_ns, int64_t end_ns) { SetTimes(items_[i], start_ns, end_ns); }

 private:
  Item Pack(const GpuOp& op);
  void SetTimes(Item& item, int64_t start_ns, int64_t end_ns);

  Items items_;
  packed_detail::Shared<Facts> facts_;
  std::vector<int64_t> long_durations_ns_;
};

class PackedCalls {
 public:
  using value_type = ApiCall;
  using const_iterator = packed_detail::Iterator<PackedCalls, ApiCall>;
  using iterator = const_iterator;

  struct Facts {
    uint32_t thread = kNone, process = kNone;
    NameId function;
    int32_t result = 0;
    ApiClass api_class = ApiClass::kOther;
    trace::ApiDomain domain = trace::ApiDomain::kRuntime;
    uint8_t is_unfinished = 0, unused = 0;
  };
  struct Item : packed_detail::Times {
    uint32_t facts = 0, correlation = 0, range = kNone;
    uint16_t parent = 0;  // how far before this one, 0 for none
    uint8_t duration_high = 0, op_count = 0;
    // False for most: no call made it. Parent() knows for certain.
    bool MayHaveParent() const { return parent != 0 || duration_high == packed_detail::kLong; }
    void SetDuration(uint64_t duration_ns) {
      duration = static_cast<uint32_t>(duration_ns);
      duration_high = static_cast<uint8_t>(duration_ns >> 32);
    }
  };

  std::size_t size() const { return items_.size(); }
  bool empty() const { return items_.empty(); }
  const_iterator begin() const { return {this, 0}; }
  const_iterator end() const { return {this, size()}; }
  ApiCall front() const { return (*this)[0]; }
  ApiCall back() const { return (*this)[size() - 1]; }
  GPROF_INLINE ApiCall operator[](std::size_t i) const {
    const Item& item = items_[i];
    const Facts& f = facts_[item.facts];
    ApiCall call;
    call.start_ns = item.start_ns();
    call.end_ns = EndNs(item);
    call.thread = f.thread;
    call.process = f.process;
    call.correlation = item.correlation;
    call.parent = Parent(i);
    call.range = item.range;
    call.function = f.function;
    call.result = f.result;
    call.op_count = item.duration_high == packed_detail::kLong ? rare_[item.duration].op_count : item.op_count;
    call.api_class = f.api_class;
    call.domain = f.domain;
    call.is_unfinished = f.is_unfinished != 0;
    return call;
  }

  uint32_t FactsIndex(std::size_t i) const { return items_[i].facts; }
  std::size_t FactsCount() const { return facts_.size(); }
  const Facts& FactsAt(uint32_t index) const { return facts_[index]; }

  GPROF_INLINE void PrefetchAfter(std::size_t i) const { PrefetchForReading(&items_[i]); }

  uint32_t Correlation(std::size_t i) const { return items_[i].correlation; }
  uint32_t Parent(std::size_t i) const {
    const Item& item = items_[i];
    const uint32_t back = item.duration_high == packed_detail::kLong ? rare_[item.duration].parent : item.parent;
    return back == 0 ? kNone : static_cast<uint32_t>(i) - back;
  }
  int64_t EndNs(const Item& item) const {
    const uint64_t ns = uint64_t{item.duration_high} << 32 | item.duration;
    return item.start_ns() +
           (item.duration_high == packed_detail::kLong ? rare_[item.duration].duration_ns : static_cast<int64_t>(ns));
  }
  const Facts& FactsOf(const Item& item) const { return facts_[item.facts]; }

  // For loops over all of them that need little of each.
  using Items = std::vector<Item, packed_detail::Unwritten<Item>>;
  const Items& items() const { return items_; }

  // ---- for those who build a trace ----
  // Parents are relative: those of calls that are moved have to be set again.
  Items& items() { return items_; }
  void push_back(const ApiCall& call);
  void Set(std::size_t i, const ApiCall& call);
  template <class F>
  void Change(std::size_t i, F&& change) {
    ApiCall call = (*this)[i];
    change(call);
    Set(i, call);
  }
  template <class F>
  void ChangeFacts(F&& change) {
    facts_.Change(change);
  }
  uint32_t Intern(const Facts& facts) { return facts_.Intern(facts); }
  void Add(int64_t start_ns, int64_t end_ns, uint32_t facts, uint32_t correlation);
  void Append(PackedCalls&& others);
  void SetTimes(std::size_t i, int64_t start_ns, int64_t end_ns);
  void SetParent(std::size_t i, uint32_t parent);
  void SetRange(std::size_t i, uint32_t range) { items_[i].range = range; }
  void CountOp(std::size_t i) {
    Item& item = items_[i];
    if (item.duration_high == packed_detail::kLong || item.op_count == 0xFF) return CountOpOfRare(i);
    ++item.op_count;
  }

 private:
  // What few calls have does not fit into an item.
  struct Rare {
    int64_t duration_ns = 0;
    uint32_t parent = 0, op_count = 0;
  };
  Item Pack(const ApiCall& call, std::size_t i);
  void CountOpOfRare(std::size_t i);
  Rare RareOf(const Item& item) const;
  void Store(Item& item, const Rare& rare);

  Items items_;
  packed_detail::Shared<Facts> facts_;
  std::vector<Rare> rare_;
};

}  // namespace gprof

#undef GPROF_INLINE

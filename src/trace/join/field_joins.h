// From a record to the element of the model that it becomes, by the field lists of both (record.h, fields.h).
//
// A field of the model takes the field of the record with its name. What it is and its role say how: a NameId is the
// text that the record names, a time one that cannot overflow, an index into the list of a role what the writer gave
// the number to. Process, thread, call, stream and end follow from pid, tid, correlation, context and length. What
// nothing fits keeps its default; whoever joins the kind sets that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <vector>

#include "gprof/lists.h"
#include "trace/builder/unjoined.h"
#include "trace/join/kept_records.h"
#include "trace/model/saturating_time.h"

namespace gprof {

namespace field_joins_detail {

// What a field is in memory. Numbers are bits.
enum class Held : uint8_t { kOther, kByte, kFlag, kEnum, k32, kUnsigned64, kSigned64, kName };

struct Place {
  const char* name;
  uint16_t offset;
  Held held;
  Role role = Role::kPlain;
  uint8_t last = 0;  // of an enumeration
};

template <class T>
constexpr Held HeldBy() {
  if (std::is_same_v<T, NameId> || std::is_same_v<T, trace::StringId>) return Held::kName;
  if (std::is_same_v<T, bool>) return Held::kFlag;
  if (!std::is_integral_v<T>) return Held::kOther;
  if (sizeof(T) == 8) return std::is_signed_v<T> ? Held::kSigned64 : Held::kUnsigned64;
  return sizeof(T) == 4 ? Held::k32 : sizeof(T) == 1 ? Held::kByte : Held::kOther;
}

// Of a record or an element of the model.
template <class S>
std::vector<Place> PlacesOf() {
  std::vector<Place> places;
  const S s{};
  S::Fields(s, [&]<class T>(const auto& field, const T& value) {
    const auto offset = reinterpret_cast<const char*>(&value) - reinterpret_cast<const char*>(&s);
    Place place{field.name, static_cast<uint16_t>(offset), HeldBy<T>()};
    if constexpr (requires { field.role; }) place.role = field.role;
    if constexpr (requires { WordsOf(T{}); }) {  // others are for whoever joins the kind
      place.held = Held::kEnum;
      place.last = static_cast<uint8_t>(WordsOf(T{}).size() - 1);
    }
    places.push_back(place);
  });
  return places;
}

// What becomes of one field of a record.
struct Move {
  enum class How : uint8_t { kByte, k32, k64, kWiden, kTime, kFlag, kEnum, kName, kOneMore, kThing };
  How how;
  uint16_t from, to;
  Role role;
  uint8_t last;
};

std::vector<Move> PlanMoves(const std::vector<Place>& record, const std::vector<Place>& model);

}  // namespace field_joins_detail

// The list of Trace that has these elements.
template <class M>
inline constexpr ListOf<M> kListOf = std::get<ListOf<M>>(kLists);

// WhenOf, or the end of what has one.
template <class M>
constexpr int64_t EndOf(const M& m) {
  if constexpr (requires { m.end_ns; }) return m.end_ns;
  return WhenOf(m);
}

class FieldJoins {
 public:
  // Records that have a pid need `by_pid`.
  explicit FieldJoins(UnjoinedTrace& unjoined, const ProcessesByPid* by_pid = nullptr)
      : unjoined_(unjoined), by_pid_(by_pid), things_(kRoles, NumberedThings(unjoined)) {}

  // What writers gave numbers to, by the role of the indexes into its list.
  NumberedThings& things(Role role) { return things_[static_cast<std::size_t>(role)]; }

  // The element that is to be the next of its list.
  template <class M, class R>
  M ToModel(uint32_t writer, const R& r) {
    static const auto kMoves =
        field_joins_detail::PlanMoves(field_joins_detail::PlacesOf<R>(), field_joins_detail::PlacesOf<M>());
    M m;
    Run(kMoves, writer, &r, &m);
    uint32_t process = IsCollector(writer) ? kNone : writer;
    if constexpr (requires { r.pid; }) process = by_pid_->Find(writer, r.pid, WhenOf(m));
    if constexpr (requires { m.process; }) m.process = process;
    if constexpr (requires {
                    m.thread;
                    r.tid;
                  })
      m.thread = unjoined_.ThreadOrNone(process, r.tid);
    if constexpr (requires {
                    m.api;
                    r.correlation;
                  })
      m.api = r.correlation;  // until LinkOthers
    if constexpr (requires {
                    m.end_ns;
                    r.duration_ns;
                  })
      m.end_ns = EndNs(r.start_ns, r.duration_ns);
    if constexpr (HasRole<M>(Role::kStream)) {
      if constexpr (requires { r.context; }) m.stream = unjoined_.StreamOrNone(process, r.context, r.stream);
      if (r.stream != 0 && m.stream == kNone) {
        const auto next = static_cast<uint32_t>((unjoined_.trace.*kListOf<M>.list).size());
        unjoined_.late_streams.template Of<M>().streams.push_back({next, process, r.stream});
      }
    }
    return m;
  }

 private:
  void Run(const std::vector<field_joins_detail::Move>& moves, uint32_t writer, const void* record, void* model);

  UnjoinedTrace& unjoined_;
  const ProcessesByPid* by_pid_;
  std::vector<NumberedThings> things_;
};

}  // namespace gprof

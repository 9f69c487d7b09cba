#include "trace/join/field_joins.h"

#include <algorithm>
#include <cstring>
#include <string_view>

namespace gprof {
namespace field_joins_detail {
namespace {

constexpr Role kNumbered[] = {Role::kModule,       Role::kFrame,       Role::kStack,
                              Role::kMetricSource, Role::kCounterPlan, Role::kCounterRange};

// False: the field of the record says nothing of that of the model.
bool FindHow(const Place& from, const Place& to, Move::How* how) {
  using How = Move::How;
  const bool is_64 = to.held == Held::kSigned64 || to.held == Held::kUnsigned64;
  if (from.held == Held::kByte && to.held == Held::kFlag) return *how = How::kFlag, true;
  if (from.held == Held::kByte && to.held == Held::kEnum) return *how = How::kEnum, true;
  if (from.held == Held::k32 && is_64) return *how = How::kWiden, true;
  if (from.held == Held::kUnsigned64 && to.held == Held::kSigned64) return *how = How::kTime, true;
  if (from.held != to.held || to.held == Held::kOther) return false;
  const bool is_thing = std::find(std::begin(kNumbered), std::end(kNumbered), to.role) != std::end(kNumbered);
  *how = to.held == Held::kName     ? How::kName
         : to.held == Held::kByte   ? How::kByte
         : is_64                    ? How::k64
         : is_thing                 ? How::kThing
         : to.role == Role::kOrNone ? How::kOneMore
                                    : How::k32;
  return to.role != Role::kStream;
}

template <class T>
T Read(const char* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

template <class T>
void Write(char* at, T value) {
  std::memcpy(at, &value, sizeof value);
}

}  // namespace

std::vector<Move> PlanMoves(const std::vector<Place>& record, const std::vector<Place>& model) {
  std::vector<Move> moves;
  for (const Place& to : model) {
    const auto from =
        std::find_if(record.begin(), record.end(), [&](const Place& p) { return std::string_view(p.name) == to.name; });
    Move::How how{};
    if (from != record.end() && FindHow(*from, to, &how))
      moves.push_back({how, from->offset, to.offset, to.role, to.last});
  }
  return moves;
}

}  // namespace field_joins_detail

void FieldJoins::Run(const std::vector<field_joins_detail::Move>& moves, uint32_t writer, const void* record,
                     void* model) {
  using namespace field_joins_detail;
  for (const Move& move : moves) {
    const char* const from = static_cast<const char*>(record) + move.from;
    char* const to = static_cast<char*>(model) + move.to;
    switch (move.how) {
      case Move::How::kByte:
        *to = *from;
        break;
      case Move::How::k32:
        Write(to, Read<uint32_t>(from));
        break;
      case Move::How::k64:
        Write(to, Read<uint64_t>(from));
        break;
      case Move::How::kWiden:
        Write(to, uint64_t{Read<uint32_t>(from)});
        break;
      case Move::How::kTime:
        Write(to, TimeNs(Read<uint64_t>(from)));
        break;
      case Move::How::kFlag:
        Write(to, *from != 0);
        break;
      case Move::How::kEnum:  // a number that the format does not know yet leaves the default
        if (static_cast<uint8_t>(*from) <= move.last) *to = *from;
        break;
      case Move::How::kName:
        Write(to, unjoined_.Name(writer, {Read<uint32_t>(from)}));
        break;
      case Move::How::kOneMore:  // the format has 0 for none
        Write(to, Read<uint32_t>(from) - 1);
        break;
      case Move::How::kThing:
        Write(to, things(move.role).Find(writer, Read<uint32_t>(from)));
        break;
    }
  }
}

}  // namespace gprof

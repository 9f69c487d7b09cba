#include "tracer/mpi/mpi_functions.h"

#include "tracer/mpi/mpi_library.h"

namespace gprof::tracer {
namespace {

// Takes the arguments of one call apart. What MPI says not to look at is not looked at: types and counts of a process
// that has no part in a collective may be anything, and an invalid type would make the library end the program.
class Reader {
 public:
  Reader(std::size_t number, const MpiWords& words) : words_(words), is_large_(HasLargeCounts(number)) {}

  MpiCallDetails Read(MpiArguments arguments);

 private:
  int32_t Int(std::size_t place) const { return static_cast<int32_t>(words_[place]); }
  int64_t Count(std::size_t place) const { return is_large_ ? static_cast<int64_t>(words_[place]) : Int(place); }
  int64_t SumOfCounts(std::size_t place) const {
    int64_t sum = 0;
    for (uint32_t i = 0; i < details_.communicator_size; ++i) sum += CountOf(place, i);
    return sum;
  }
  int64_t CountOf(std::size_t place, uint32_t rank) const {
    return is_large_ ? reinterpret_cast<const int64_t*>(words_[place])[rank]
                     : reinterpret_cast<const int32_t*>(words_[place])[rank];
  }
  uint64_t Bytes(int64_t count, std::size_t type) const {
    int size = 0;
    if (count <= 0 || Mpi().type_size(words_[type], &size) != 0 || size < 0) return 0;
    return static_cast<uint64_t>(count) * static_cast<uint64_t>(size);
  }
  uint64_t BytesAt(std::size_t count, std::size_t type) const { return Bytes(Count(count), type); }
  // MPI_IN_PLACE is a pointer that points nowhere: 1 or -1.
  bool IsInPlace(std::size_t place) const { return words_[place] + 1 <= 2; }

  void SetPeer(std::size_t place) {
    const int32_t rank = Int(place);
    details_.peer = rank >= 0 ? rank : rank == Mpi().any_source ? kAnyPeer : -1;
  }
  bool HasPeer() const { return details_.peer != -1; }
  // False: there are two groups of processes, whose sizes differ, and so does what the arguments mean.
  bool SetCommunicator(std::size_t place) {
    handle_ = words_[place];
    details_.communicator = Mpi().comm_c2f != nullptr ? static_cast<uint32_t>(Mpi().comm_c2f(handle_)) + 1u
                                                      : static_cast<uint32_t>(handle_);
    int size = 0, is_inter = 0;
    if (Mpi().comm_size(words_[place], &size) == 0 && size > 0)
      details_.communicator_size = static_cast<uint32_t>(size);
    return Mpi().comm_test_inter(words_[place], &is_inter) == 0 && is_inter == 0 && size > 0;
  }
  int32_t OwnRank() const {
    int rank = -1;
    return Mpi().comm_rank(handle_, &rank) == 0 ? rank : -1;
  }
  int64_t OwnCount(std::size_t place) const {
    const int32_t rank = OwnRank();
    return rank < 0 ? 0 : CountOf(place, static_cast<uint32_t>(rank));
  }
  bool IsRoot(std::size_t place) {
    SetPeer(place);
    return OwnRank() == Int(place);
  }
  uint64_t size() const { return details_.communicator_size; }

  void SetEnvelope(std::size_t peer, std::size_t communicator) {
    SetPeer(peer);
    details_.tag = Int(peer + 1) < 0 ? -1 : Int(peer + 1);
    SetCommunicator(communicator);
  }
  void SetSent(std::size_t count, std::size_t type) {
    if (HasPeer()) details_.sent_bytes = BytesAt(count, type);
  }
  void SetReceived(std::size_t count, std::size_t type) {
    if (HasPeer()) details_.received_bytes = BytesAt(count, type);
  }

  void ReadMessage(MpiArguments arguments);
  void ReadRooted(MpiArguments arguments);
  void ReadAmongAll(MpiArguments arguments);
  void ReadOther(MpiArguments arguments);

  const MpiWords& words_;
  const bool is_large_;
  uintptr_t handle_ = 0;  // of the communicator
  MpiCallDetails details_;
};

void Reader::ReadMessage(MpiArguments arguments) {
  switch (arguments) {
    case MpiArguments::kSend:
      SetEnvelope(3, 5);
      return SetSent(1, 2);
    case MpiArguments::kReceive:
      SetEnvelope(3, 5);
      return SetReceived(1, 2);
    case MpiArguments::kProbe:
    case MpiArguments::kPollProbe:
      return SetEnvelope(0, 2);
    case MpiArguments::kSendReceive:
      SetEnvelope(8, 10);
      SetReceived(6, 7);
      SetEnvelope(3, 10);
      return SetSent(1, 2);
    case MpiArguments::kReplace:
      SetEnvelope(5, 7);
      SetReceived(1, 2);
      SetEnvelope(3, 7);
      return SetSent(1, 2);
    default:
      return;
  }
}

// The rank of the root sends to all others, or receives from them.
void Reader::ReadRooted(MpiArguments arguments) {
  uint64_t& sent = details_.sent_bytes;
  uint64_t& received = details_.received_bytes;
  switch (arguments) {
    case MpiArguments::kBroadcast:
      if (SetCommunicator(4)) (IsRoot(3) ? sent : received) = BytesAt(1, 2);
      return;
    case MpiArguments::kReduce:
      if (SetCommunicator(6)) (IsRoot(5) ? received : sent) = BytesAt(2, 3);
      return;
    case MpiArguments::kGather:
      if (!SetCommunicator(7)) return;
      if (IsRoot(6))
        received = size() * BytesAt(4, 5);
      else
        sent = BytesAt(1, 2);
      return;
    case MpiArguments::kScatter:
      if (!SetCommunicator(7)) return;
      if (IsRoot(6))
        sent = size() * BytesAt(1, 2);
      else
        received = BytesAt(4, 5);
      return;
    case MpiArguments::kGatherCounts:
      if (!SetCommunicator(8)) return;
      if (IsRoot(7))
        received = Bytes(SumOfCounts(4), 6);
      else
        sent = BytesAt(1, 2);
      return;
    case MpiArguments::kScatterCounts:
      if (!SetCommunicator(8)) return;
      if (IsRoot(7))
        sent = Bytes(SumOfCounts(1), 3);
      else
        received = BytesAt(5, 6);
      return;
    default:
      return;
  }
}

// Every rank sends and receives.
void Reader::ReadAmongAll(MpiArguments arguments) {
  uint64_t& sent = details_.sent_bytes;
  uint64_t& received = details_.received_bytes;
  switch (arguments) {
    case MpiArguments::kAllReduce:
      if (SetCommunicator(5)) sent = received = BytesAt(2, 3);
      return;
    case MpiArguments::kReduceBlocks:
      if (SetCommunicator(5)) received = BytesAt(2, 3);
      sent = size() * received;
      return;
    case MpiArguments::kReduceCounts:
      if (!SetCommunicator(5)) return;
      sent = Bytes(SumOfCounts(2), 3);
      received = Bytes(OwnCount(2), 3);
      return;
    case MpiArguments::kAllGather:
      if (SetCommunicator(6)) sent = BytesAt(4, 5);
      received = size() * sent;
      return;
    case MpiArguments::kAllGatherCounts:
      if (!SetCommunicator(7)) return;
      received = Bytes(SumOfCounts(4), 6);
      sent = Bytes(OwnCount(4), 6);
      return;
    case MpiArguments::kAllToAll:
      if (SetCommunicator(6)) sent = received = size() * BytesAt(4, 5);
      return;
    case MpiArguments::kAllToAllCounts:
      if (!SetCommunicator(8)) return;
      received = Bytes(SumOfCounts(5), 7);
      sent = IsInPlace(0) ? received : Bytes(SumOfCounts(1), 3);
      return;
    default:
      return;
  }
}

void Reader::ReadOther(MpiArguments arguments) {
  switch (arguments) {
    case MpiArguments::kCommunicator0:
      SetCommunicator(0);
      return;
    case MpiArguments::kCommunicator8:
      SetCommunicator(8);
      return;
    case MpiArguments::kPut:
      SetPeer(3);
      return SetSent(1, 2);
    case MpiArguments::kGet:
      SetPeer(3);
      return SetReceived(1, 2);
    case MpiArguments::kRead:
      details_.received_bytes = BytesAt(2, 3);
      return;
    case MpiArguments::kReadAt:
      details_.received_bytes = BytesAt(3, 4);
      return;
    case MpiArguments::kWrite:
      details_.sent_bytes = BytesAt(2, 3);
      return;
    case MpiArguments::kWriteAt:
      details_.sent_bytes = BytesAt(3, 4);
      return;
    default:
      return;
  }
}

// Of these each knows its own, in no more than one of them.
MpiCallDetails Reader::Read(MpiArguments arguments) {
  ReadMessage(arguments);
  ReadRooted(arguments);
  ReadAmongAll(arguments);
  ReadOther(arguments);
  return details_;
}

}  // namespace

MpiCallDetails DetailsOf(std::size_t number, const MpiWords& words) {
  return Reader(number, words).Read(MpiFunctionAt(number).arguments);
}

}  // namespace gprof::tracer

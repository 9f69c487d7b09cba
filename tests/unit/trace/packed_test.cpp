// What is packed comes out as it went in, whatever it is.
#include "gprof/packed.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <tuple>
#include <vector>

namespace gprof {
namespace {

constexpr int64_t kLimitNs = int64_t{1} << 60;  // of times, see saturating_time.h
// Around what an item has room for.
constexpr int64_t kDurationsNs[] = {0,
                                    1,
                                    (int64_t{1} << 32) - 1,
                                    int64_t{1} << 32,
                                    (int64_t{0xFE} << 32) + 0xFFFFFFFF,
                                    int64_t{0xFF} << 32,
                                    int64_t{1} << 40,
                                    kLimitNs,
                                    -1,
                                    -kLimitNs};

auto Fields(const GpuOp& o) {
  return std::make_tuple(o.start_ns, o.end_ns, o.size_bytes, o.graph_node, o.graph, o.device, o.stream, o.process,
                         o.api, o.correlation, o.name, o.shape, o.kind, o.copy_kind, o.source_memory,
                         o.destination_memory, o.peer_device, o.node, o.is_async, o.is_from_before, o.is_from_peer);
}

auto Fields(const ApiCall& c) {
  return std::make_tuple(c.start_ns, c.end_ns, c.thread, c.process, c.correlation, c.parent, c.range, c.function,
                         c.result, c.op_count, c.api_class, c.domain, c.is_unfinished);
}

class Random {
 public:
  explicit Random(uint32_t seed) : random_(seed) {}
  uint64_t Any() { return random_(); }
  uint32_t Index() { return random_() % 4 == 0 ? kNone : static_cast<uint32_t>(random_() % 5); }
  bool Truth() { return random_() % 2 == 0; }
  int64_t Start() { return static_cast<int64_t>(random_() % kLimitNs); }
  int64_t Duration() { return kDurationsNs[random_() % std::size(kDurationsNs)]; }

 private:
  std::mt19937_64 random_;
};

GpuOp RandomOp(Random& r) {
  GpuOp o;
  o.start_ns = r.Start();
  o.end_ns = o.start_ns + r.Duration();
  o.size_bytes = r.Truth() ? r.Any() : 0;
  o.graph_node = r.Truth() ? r.Any() : 0;
  o.graph = r.Index(), o.device = r.Index(), o.stream = r.Index(), o.process = r.Index(), o.api = r.Index();
  if (o.api == kNone) o.correlation = static_cast<uint32_t>(r.Any());
  o.name.value = r.Index();
  o.shape = r.Index(), o.peer_device = r.Index(), o.node = r.Index();
  o.kind = static_cast<OpKind>(r.Any() % 5);
  o.copy_kind = static_cast<trace::CopyKind>(r.Any() % 11);
  o.source_memory = static_cast<trace::MemoryKind>(r.Any() % 8);
  o.destination_memory = static_cast<trace::MemoryKind>(r.Any() % 8);
  o.is_async = r.Truth(), o.is_from_before = r.Truth(), o.is_from_peer = r.Truth();
  return o;
}

ApiCall RandomCall(Random& r, uint32_t i) {
  ApiCall c;
  c.start_ns = r.Start();
  c.end_ns = c.start_ns + r.Duration();
  c.thread = r.Index(), c.process = r.Index(), c.range = r.Index();
  c.correlation = static_cast<uint32_t>(r.Any());
  c.parent = i == 0 || r.Truth() ? kNone : static_cast<uint32_t>(r.Any() % i);
  c.function.value = r.Index();
  c.result = static_cast<int32_t>(r.Any());
  constexpr uint32_t kCounts[] = {0, 1, 254, 255, 256, 65'535, 65'536, kNone};
  c.op_count = kCounts[r.Any() % std::size(kCounts)];
  c.api_class = static_cast<ApiClass>(r.Any() % 11);
  c.domain = r.Truth() ? trace::ApiDomain::kDriver : trace::ApiDomain::kRuntime;
  c.is_unfinished = r.Truth();
  return c;
}

template <class List, class T>
void ExpectSame(const List& packed, const std::vector<T>& plain) {
  ASSERT_EQ(packed.size(), plain.size());
  std::size_t i = 0;
  for (const T& element : packed) {
    ASSERT_EQ(Fields(element), Fields(plain[i])) << i;
    ASSERT_EQ(Fields(packed[i]), Fields(plain[i])) << i;
    ++i;
  }
}

TEST(Packed, ItemsAreSmall) {
  EXPECT_EQ(sizeof(PackedOps::Item), 24u);
  EXPECT_EQ(sizeof(PackedCalls::Item), 28u);
}

TEST(Packed, OperationsComeOutAsTheyWentIn) {
  Random r(1);
  PackedOps packed;
  std::vector<GpuOp> plain;
  for (int i = 0; i < 3000; ++i) packed.push_back(plain.emplace_back(RandomOp(r)));
  for (int i = 0; i < 1000; ++i) {
    const std::size_t at = r.Any() % plain.size();
    packed.Set(at, plain[at] = RandomOp(r));
  }
  ExpectSame(packed, plain);
}

TEST(Packed, CallsComeOutAsTheyWentIn) {
  Random r(2);
  PackedCalls packed;
  std::vector<ApiCall> plain;
  for (uint32_t i = 0; i < 3000; ++i) packed.push_back(plain.emplace_back(RandomCall(r, i)));
  for (int i = 0; i < 1000; ++i) {
    const auto at = static_cast<uint32_t>(r.Any() % plain.size());
    packed.Set(at, plain[at] = RandomCall(r, at));
  }
  ExpectSame(packed, plain);
}

TEST(Packed, PartsOfACallChangeAlone) {
  Random r(3);
  PackedCalls packed;
  std::vector<ApiCall> plain;
  for (uint32_t i = 0; i < 500; ++i) packed.push_back(plain.emplace_back(RandomCall(r, i)));
  for (int i = 0; i < 5000; ++i) {
    const auto at = static_cast<uint32_t>(r.Any() % plain.size());
    ApiCall& call = plain[at];
    const ApiCall other = RandomCall(r, at);
    switch (r.Any() % 4) {
      case 0:
        packed.SetTimes(at, call.start_ns = other.start_ns, call.end_ns = other.end_ns);
        break;
      case 1:
        packed.SetParent(at, call.parent = other.parent);
        break;
      case 2:
        packed.SetRange(at, call.range = other.range);
        break;
      default:
        ++call.op_count, packed.CountOp(at);
    }
  }
  ExpectSame(packed, plain);
}

TEST(Packed, CallsFarFromTheirParentsKeepThem) {
  PackedCalls packed;
  for (int i = 0; i < 70'000; ++i) packed.push_back({});
  for (const uint32_t back : {1u, 65'535u, 65'536u, 69'999u}) {
    packed.SetParent(69'999, 69'999 - back);
    EXPECT_EQ(packed[69'999].parent, 69'999 - back);
  }
}

TEST(Packed, TraitsAreKeptOnceAndFoundAfterTheyChanged) {
  PackedOps packed;
  GpuOp op;
  for (uint32_t i = 0; i < 100; ++i) op.stream = i % 4, packed.push_back(op);
  EXPECT_EQ(packed.TraitsCount(), 4u);
  packed.ChangeTraits([](PackedOps::Traits& f) { f.stream += 10; });
  op.stream = 12;
  packed.push_back(op);
  EXPECT_EQ(packed.TraitsCount(), 4u);
  EXPECT_EQ(packed[100].stream, 12u);
  EXPECT_EQ(packed[3].stream, 13u);
}

TEST(Packed, ListsAreAppended) {
  Random r(4);
  for (int round = 0; round < 20; ++round) {
    PackedOps ops, more_ops;
    PackedCalls calls, more_calls;
    std::vector<GpuOp> plain_ops;
    std::vector<ApiCall> plain_calls;
    const uint32_t first = round == 0 ? 0 : 50;
    for (uint32_t i = 0; i < first; ++i) {
      ops.push_back(plain_ops.emplace_back(RandomOp(r)));
      calls.push_back(plain_calls.emplace_back(RandomCall(r, i)));
    }
    for (uint32_t i = 0; i < 50; ++i) {
      more_ops.push_back(plain_ops.emplace_back(RandomOp(r)));
      ApiCall call = RandomCall(r, i);
      more_calls.push_back(call);
      if (call.parent != kNone) call.parent += first;  // parents move with their calls
      plain_calls.push_back(call);
    }
    ops.Append(std::move(more_ops));
    calls.Append(std::move(more_calls));
    ExpectSame(ops, plain_ops);
    ExpectSame(calls, plain_calls);
  }
}

TEST(Packed, AlgorithmsGoOverThem) {
  PackedOps packed;
  for (int64_t i = 0; i < 1000; ++i) {
    GpuOp op;
    op.start_ns = 10 * i, op.end_ns = 10 * i + 5;
    packed.push_back(op);
  }
  const auto at =
      std::partition_point(packed.begin(), packed.end(), [](const GpuOp& op) { return op.start_ns < 5'000; });
  EXPECT_EQ(at - packed.begin(), 500);
  EXPECT_EQ(at->end_ns, 5'005);
  EXPECT_EQ(at[-1].start_ns, 4'990);
  EXPECT_TRUE(std::is_sorted(packed.begin(), packed.end(),
                             [](const GpuOp& a, const GpuOp& b) { return a.start_ns < b.start_ns; }));
}

}  // namespace
}  // namespace gprof

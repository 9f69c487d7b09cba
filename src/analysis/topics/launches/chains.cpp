#include "analysis/topics/launches/chains.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "analysis/facts/judged_time.h"
#include "analysis/facts/shared_facts.h"
#include "analysis/result/display_names.h"
#include "analysis/topics/launches/repeats.h"
#include "base/saturate.h"

namespace gprof {
namespace {

constexpr uint32_t kMinRepetitions = 4, kMinOperations = 16;  // fewer are not worth a change of the program
constexpr uint32_t kShownOperations = 8;

// The same for operations that a graph could repeat: the same kernel in the same shape, a copy in the same direction.
uint64_t SymbolOf(const GpuOp& op) {
  if (op.kind == OpKind::kKernel) return Mix((uint64_t{op.name.value} << 32) | op.shape);
  return Mix((uint64_t{1} << 62) | (static_cast<uint64_t>(op.kind) << 8) | static_cast<uint64_t>(DirectionOf(op)));
}

// Those of a stream.
class StreamSymbols {
 public:
  StreamSymbols(const SymbolNumbers& all, std::span<const uint32_t> numbers, std::span<const uint32_t> ops)
      : all_(all), numbers_(numbers), ops_(ops) {}
  size_t size() const { return numbers_.size(); }
  uint64_t operator[](size_t i) const {
    const uint32_t number = numbers_[i];
    return number != SymbolNumbers::kUnlike ? all_.symbols()[number] : Mix((uint64_t{3} << 62) | ops_[i]);
  }
  // Of two places.
  bool AreSame(size_t a, size_t b) const { return numbers_[a] == numbers_[b] && numbers_[a] != SymbolNumbers::kUnlike; }
  // The first place from `at` on whose symbol is not that of the one `period` places before.
  uint32_t EndOfSame(uint32_t at, uint32_t period) const {
    constexpr uint32_t kBlock = 128;
    const uint32_t* const numbers = numbers_.data();
    while (!all_.has_unlike() && at + uint64_t{kBlock} <= size() &&
           std::memcmp(numbers + at, numbers + at - period, kBlock * sizeof(uint32_t)) == 0) {
      at += kBlock;
    }
    while (at < size() && AreSame(at, at - period)) ++at;
    return at;
  }

 private:
  const SymbolNumbers& all_;
  std::span<const uint32_t> numbers_, ops_;
};

// The same wherever in the period one begins.
uint64_t HashOf(const StreamSymbols& symbols, uint32_t first, uint32_t period) {
  uint64_t sum = 0;
  for (uint32_t i = 0; i < period; ++i) sum += Mix(symbols[first + i] * 31 + symbols[first + (i + 1) % period]);
  return sum;
}

class Collector {
 public:
  Collector(const AnalysisInput& input, const SymbolNumbers& numbers)
      : trace_(input.trace()), gaps_(input), numbers_(numbers) {
    busy_of_streams_ns_.resize(trace_.streams.size());
    const std::vector<OpFacts::Sum>& sums = input.shared().ops().sums();
    for (uint32_t i = 0; i < sums.size(); ++i) {
      const uint32_t stream = trace_.ops.TraitsAt(i).stream;
      if (stream != kNone) AddWrapping(&busy_of_streams_ns_[stream], sums[i].time_ns);
    }
  }

  void AddStream(uint32_t stream, std::span<const uint32_t> ops) {
    if (ops.size() < kMinOperations) return;  // of which programs may have many
    const StreamSymbols symbols(numbers_, numbers_.Of(stream), ops);
    for (const Repeat& repeat : FindRepeats(symbols, kMinRepetitions, kMinOperations)) {
      Chain& chain = chains_[{repeat.period, HashOf(symbols, repeat.first, repeat.period)}];
      const size_t size = size_t{repeat.Repetitions()} * repeat.period;
      AddWrapping(&chain.busy_ns, BusyOf(stream, ops, repeat.first, size));
      AddRun(ops.subspan(repeat.first, size), repeat.period, stream, &chain);
    }
  }

  std::vector<Chain> Take() {
    std::vector<Chain> result;
    for (auto& entry : chains_) {
      if (entry.second.kernels > 0) result.push_back(std::move(entry.second));
    }
    std::ranges::stable_sort(result, [](const Chain& a, const Chain& b) {
      return std::make_tuple(-a.idle_ns, -a.busy_ns, a.operations) <
             std::make_tuple(-b.idle_ns, -b.busy_ns, b.operations);
    });
    return result;
  }

 private:
  // What operations add up to by their place in the period.
  struct Sums {
    explicit Sums(size_t places) : gaps_ns(places, 0), long_ns(places, 0) {}
    std::vector<int64_t> gaps_ns;  // before each: whole,
    std::vector<int64_t> long_ns;  // and those that are too long for launching to account for them
  };

  int64_t DurationsOf(std::span<const uint32_t> ops) const {
    const PackedOps::Item* const items = trace_.ops.items().data();
    int64_t sum_ns = 0;
    for (const uint32_t op : ops) AddWrapping(&sum_ns, trace_.ops.EndNs(items[op]) - items[op].start_ns());
    return sum_ns;
  }

  // Durations of a run. What those of the whole stream add up to is known, so that the fewer are looked at.
  int64_t BusyOf(uint32_t stream, std::span<const uint32_t> ops, size_t first, size_t size) const {
    if (size <= ops.size() / 2) return DurationsOf(ops.subspan(first, size));
    int64_t others_ns = DurationsOf(ops.first(first));
    AddWrapping(&others_ns, DurationsOf(ops.subspan(first + size)));
    return SubtractWrapping(busy_of_streams_ns_[stream], others_ns);
  }

  Sums AddUp(std::span<const uint32_t> run, uint32_t period) {
    Sums sums(period);
    for (size_t i = 0; i < run.size(); i += period) {
      for (uint32_t place = 0; place < period; ++place) {
        const int64_t gap_ns = gaps_.GapNs(run[i + place]);
        sums.gaps_ns[place] += gap_ns;
        if (gap_ns > kLaunchGapAtMostNs) sums.long_ns[place] += gap_ns;
      }
    }
    return sums;
  }

  void AddRun(std::span<const uint32_t> run, uint32_t period, uint32_t stream, Chain* chain) {
    // What comes before the first operation is not the chain's.
    auto [gaps_ns, long_ns] = AddUp(run, period);
    const int64_t first_gap_ns = gaps_.GapNs(run.front());
    gaps_ns[0] -= first_gap_ns;
    if (first_gap_ns > kLaunchGapAtMostNs) long_ns[0] -= first_gap_ns;
    // A repetition begins where the GPU waits longest: there the host may have something to do.
    const auto begin = static_cast<uint32_t>(std::ranges::max_element(gaps_ns) - gaps_ns.begin());
    for (uint32_t i = 0; i < period; ++i) {
      if (i != begin || period == 1) chain->idle_ns += gaps_ns[i] - long_ns[i];
    }
    chain->time.start_ns = std::min(chain->time.start_ns, Operation(trace_.ops, run.front()).start_ns());
    chain->time.end_ns = std::max(chain->time.end_ns, Operation(trace_.ops, run.back()).end_ns());
    chain->repetitions += static_cast<int64_t>(run.size() / period);
    if (chain->runs++ > 0) return;
    chain->stream = stream;
    chain->period = period;
    for (uint32_t i = 0; i < period; ++i) {
      const uint32_t op = run[begin + i];
      chain->kernels += trace_.ops[op].kind == OpKind::kKernel;
      if (i < kShownOperations) chain->operations.push_back(op);
    }
  }

  const Trace& trace_;
  GapsBefore gaps_;
  const SymbolNumbers& numbers_;
  std::vector<int64_t> busy_of_streams_ns_;  // sums of the durations
  std::map<std::pair<uint32_t, uint64_t>, Chain> chains_;
};

}  // namespace

SymbolNumbers::SymbolNumbers(const AnalysisInput& input) : symbols_{0} {
  const Trace& trace = input.trace();
  size_t size = 0;
  for (const uint32_t count : input.shared().ops().counts_of_streams()) firsts_.push_back(size), size += count;
  firsts_.push_back(size);
  numbers_.resize(size);
  for (const size_t first : firsts_) next_of_streams_.push_back(numbers_.data() + first);
  const std::vector<uint32_t> numbers = NumberFacts(trace, input.shared().ops());
  for (uint32_t i = 0; i < trace.ops.TraitsCount(); ++i) {
    const uint32_t stream = trace.ops.TraitsAt(i).stream;
    destinations_.push_back({stream == kNone ? nullptr : &next_of_streams_[stream], numbers[i]});
  }
}

std::vector<uint32_t> SymbolNumbers::NumberFacts(const Trace& trace, const OpFacts& ops) {
  std::unordered_map<uint64_t, uint32_t> number_of_symbol;
  std::vector<uint32_t> numbers;
  for (const OpFacts::Sum& sum : ops.sums()) {
    const GpuOp op = sum.count == 0 ? GpuOp() : trace.ops[sum.first];
    if (op.kind == OpKind::kGraph || op.graph != 0) {
      numbers.push_back(kUnlike);
      has_unlike_ |= sum.count != 0;
      continue;
    }
    const uint64_t symbol = SymbolOf(op);
    const auto [at, is_new] = number_of_symbol.try_emplace(symbol, static_cast<uint32_t>(symbols_.size()));
    if (is_new) symbols_.push_back(symbol);
    numbers.push_back(at->second);
  }
  return numbers;
}

GapsBefore::GapsBefore(const AnalysisInput& input) : trace_(input.trace()) {
  for (uint32_t i = 0; i < trace_.device_ops.size(); ++i) of_device_.push_back(&input.shared().gaps(i));
  const std::optional<SteadyTime>& steady = input.shared().judged(input).steady;
  if (steady) from_ns_ = steady->time.start_ns;
}

void GapsBefore::FindDevice(uint32_t op) {
  if (last_ != nullptr && last_->Has(op)) return;
  const uint32_t device = trace_.ops[op].device;
  last_ = device == kNone ? nullptr : of_device_[device];
}

int64_t GapsBefore::GapNs(uint32_t op) {
  FindDevice(op);
  if (last_ == nullptr || Operation(trace_.ops, op).start_ns() <= from_ns_) return 0;
  return last_->GapBefore(op);
}

std::vector<Chain> FindChains(const AnalysisInput& input, const SymbolNumbers& numbers) {
  const Trace& trace = input.trace();
  const StreamOps& streams = input.shared().stream_ops();
  Collector collector(input, numbers);
  for (uint32_t i = 0; i < trace.streams.size(); ++i) collector.AddStream(i, streams.OpsOf(i));
  return collector.Take();
}

}  // namespace gprof

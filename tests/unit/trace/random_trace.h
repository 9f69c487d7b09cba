// Records and traces with any values, the same ones for the same seed on every machine.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "gprof/trace/record.h"
#include "trace/write/chunk_writer.h"

namespace gprof {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15u + 1) {}
  uint64_t Next() {  // splitmix64
    uint64_t z = (state_ += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  uint64_t Below(uint64_t n) { return Next() % n; }
  // Small, large and at the edges of varints and types.
  uint64_t Value() {
    static constexpr uint64_t kEdges[] = {
        0, 1, 2, 127, 128, 16383, 16384, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, uint64_t{1} << 63, ~uint64_t{0}};
    switch (Below(4)) {
      case 0:
        return kEdges[Below(std::size(kEdges))];
      case 1:
        return Below(1000);
      default:
        return Next() >> Below(64);
    }
  }
  std::string_view Text() {
    using namespace std::string_view_literals;
    static constexpr std::string_view kTexts[] = {""sv,
                                                  "a"sv,
                                                  "saxpy"sv,
                                                  "_Z6kernelPfS_i"sv,
                                                  "with \"quotes\" and \\ and {braces} #12 = x"sv,
                                                  "line\nbreak\ttab"sv,
                                                  "\0\x01\x7F"sv,
                                                  "caf\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80"sv,
                                                  "\xFF\xFE\xC3"sv,
                                                  "\xED\xA0\x80\xC0\x80\xE2\x82"sv};
    return kTexts[Below(std::size(kTexts))];
  }

 private:
  uint64_t state_;
};

template <class R>
R RandomRecord(Random& random, Dictionary& dictionary) {
  R r;
  R::Fields(r, [&](const trace::FieldInfo&, auto& field) {
    using T = std::decay_t<decltype(field)>;
    if constexpr (std::is_same_v<T, trace::Text>) {
      const std::string_view text = random.Text();
      field = {text.data(), static_cast<uint32_t>(text.size())};
    } else if constexpr (std::is_same_v<T, trace::StringId>) {
      field = random.Below(8) == 0 ? trace::StringId{static_cast<uint32_t>(1000 + random.Below(5))}
                                   : dictionary.String(random.Text());
    } else if constexpr (std::is_same_v<T, trace::ShapeId>) {
      if (random.Below(8) == 0) field.value = static_cast<uint32_t>(2000 + random.Below(5));
    } else {
      field = static_cast<T>(random.Value());
    }
  });
  if constexpr (std::is_same_v<R, trace::KernelRecord>) {
    if (r.shape.value == 0 && random.Below(2) == 0) {
      r.shape = dictionary.Shape(RandomRecord<trace::KernelShapeRecord>(random, dictionary));
    }
  }
  // Definitions keep away from the ids that the dictionary gives out.
  if constexpr (trace::IsDictionary(R::kKind)) r.id = static_cast<uint32_t>(3000 + random.Below(50));
  return r;
}

// Chunks of every kind from several processes, in any order, some of them compressed.
inline std::string RandomTrace(uint64_t seed) {
  Random random(seed);
  std::vector<Dictionary> dictionaries(1 + random.Below(3));
  std::vector<uint64_t> sequences(dictionaries.size(), 0);
  std::string bytes;
  const uint64_t chunks = 1 + random.Below(12);
  for (uint64_t i = 0; i < chunks; ++i) {
    const std::size_t p = random.Below(dictionaries.size());
    ChunkWriterOptions options;
    options.process.pid = static_cast<uint32_t>(100 + p);
    options.process.host = p == 2 ? 77 : 0;
    options.is_zstd = random.Below(3) == 0;
    options.sequence = sequences[p];
    ChunkWriter writer(&dictionaries[p], options);
    const uint64_t wanted = random.Below(trace::AllRecords::kCount);
    uint64_t kind = 0;
    trace::ForEachKind([&](auto* null_record) {
      using R = std::decay_t<decltype(*null_record)>;
      if (kind++ != wanted) return;
      writer.Want(R::kKind);
      for (uint64_t n = random.Below(20); n > 0; --n) writer.Add(RandomRecord<R>(random, dictionaries[p]));
    });
    writer.Take(&bytes);
    sequences[p] = writer.options().sequence;
  }
  return bytes;
}

}  // namespace gprof

// Long lists are worked on in pieces, side by side. Where they are cut follows from the lists alone, so that what is
// made of them is the same on any number of cores.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/machine/parallel.h"
#include "gprof/trace.h"

namespace gprof {

inline constexpr uint32_t kPieceItems = 1u << 14;

// work(take) on each of the cores: take() gives the number of the next piece, or one that is not below `pieces`. What a
// core takes are pieces in their order, all of them where there is one core only.
template <class Work>
void ShareOut(std::size_t pieces, std::size_t cores, Work&& work) {
  std::atomic<std::size_t> next{0};
  const std::size_t workers = std::max<std::size_t>(1, std::min(cores, pieces));
  ForEachSideBySide(workers, workers, [&](std::size_t) { work([&] { return next++; }); });
}

inline std::size_t PieceCount(std::size_t items) { return items / kPieceItems + (items % kPieceItems == 0 ? 0 : 1); }

// work([first, last)) for pieces of a list with so many items.
template <class Work>
void ForEachPiece(std::size_t items, std::size_t cores, Work&& work) {
  ForEachSideBySide(PieceCount(items), cores, [&](std::size_t piece) {
    const std::size_t first = piece * kPieceItems, last = std::min(items, first + kPieceItems);
    work(Trace::Slice{static_cast<uint32_t>(first), static_cast<uint32_t>(last)});
  });
}

}  // namespace gprof

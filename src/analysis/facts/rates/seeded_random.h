// Random numbers that are the same each time: a report read twice must say the same.
#pragma once

#include <cmath>
#include <cstdint>

namespace gprof {

class SeededRandom {
 public:
  // Above 0 and below 1 (splitmix64).
  double Uniform() {
    state_ += 0x9e3779b97f4a7c15;
    uint64_t x = state_;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return (static_cast<double>((x ^ (x >> 31)) >> 11) + 0.5) * 0x1p-53;
  }
  double Exponential() { return -std::log(Uniform()); }
  double Normal() {
    constexpr double kTurn = 6.283185307179586;
    return std::sqrt(2 * Exponential()) * std::cos(kTurn * Uniform());
  }

 private:
  uint64_t state_ = 51;
};

}  // namespace gprof

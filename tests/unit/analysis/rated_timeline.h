// Timelines whose rates are known: what ran, and what a counter of the GPU would have said of it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <random>
#include <vector>

#include "analysis/facts/rates/rate_fit.h"

namespace gprof::test {

struct Hidden {
  uint32_t columns = 6;
  int streams = 1;
  double seconds = 2, hz = 10'000;
  double noise = 0.01, floor = 0.2;                // of a sample: of its value, and in percent
  double spread = 0.03;                            // of the rates of launches of one kernel
  double clock_from = 1, clock_to = 1;             // slow changes: launches take as much longer and do as much less
  double edge_jitter_ns = 100;                     // of what is recorded
  EdgeShift shift = {};                            // of what the counter sees
  double shortest_us = 4, longest_us = 60;         // of kernels
  double gap_us = 3;                               // between launches, on average
  std::function<double(double phase)> shape = {};  // of the first kernel along its launch, 1 on average
};

struct RatedTimeline {
  std::vector<RatedWork> work;  // as recorded
  std::vector<MetricSample> samples;
  std::vector<double> truth;  // mean rates while it ran, by column; that of idle at last
  uint32_t columns = 0;
  static constexpr double kUnit = 0.001;

  RatedTimeline(const Hidden& hidden, uint64_t seed) : columns(hidden.columns) {
    std::mt19937_64 random(seed);
    const auto uniform = [&](double from, double to) {
      return from + (to - from) * static_cast<double>(random() >> 11) * 0x1p-53;
    };
    std::normal_distribution<double> normal;
    std::vector<double> rate, length_ns;
    for (uint32_t i = 0; i < columns; ++i) {
      rate.push_back(uniform(5, 100) / hidden.streams);
      length_ns.push_back(1000 * hidden.shortest_us * std::pow(hidden.longest_us / hidden.shortest_us, uniform(0, 1)));
    }
    rate.push_back(uniform(0, 2));
    const double dt_ns = 1e9 / hidden.hz;
    std::vector<double> sums(static_cast<std::size_t>(hidden.seconds * hidden.hz)), busy(sums.size());
    std::vector<double> done(columns + 1), took(columns + 1);
    const double end_ns = hidden.seconds * 1e9;
    const auto spread_over = [&](double from, double to, double value, std::vector<double>* over) {
      for (auto i = static_cast<std::ptrdiff_t>(std::max(from, 0.0) / dt_ns);
           i < std::ssize(*over) && static_cast<double>(i) * dt_ns < to; ++i) {
        const double at = static_cast<double>(i) * dt_ns;
        (*over)[static_cast<std::size_t>(i)] += value * std::max(std::min(to, at + dt_ns) - std::max(from, at), 0.0);
      }
    };
    std::vector<std::pair<double, double>> seen;
    for (int stream = 0; stream < hidden.streams; ++stream) {
      for (double at = uniform(0, 50'000); at < end_ns;) {
        const auto column = static_cast<uint32_t>(random() % columns);
        const double share = (1 + std::sin(at * 3e-9 + static_cast<double>(seed))) / 2;
        const double clock = hidden.clock_from + (hidden.clock_to - hidden.clock_from) * share;
        const double length = length_ns[column] / clock * (1 + 0.02 * normal(random));
        const double value = rate[column] * clock * std::max(1 + hidden.spread * normal(random), 0.1);
        const double from = at + static_cast<double>(hidden.shift.start_ns),
                     to = at + length + static_cast<double>(hidden.shift.end_ns);
        const int pieces = column == 0 && hidden.shape ? 40 : 1;
        for (int i = 0; i < pieces; ++i) {
          const double piece = (to - from) / pieces;
          const double factor = pieces == 1 ? 1 : hidden.shape((i + 0.5) / pieces);
          spread_over(from + i * piece, from + (i + 1) * piece, value * factor, &sums);
        }
        done[column] += value * (to - from);
        took[column] += to - from;
        seen.push_back({from, to});
        work.push_back({std::llround(at + hidden.edge_jitter_ns * normal(random)),
                        std::llround(at + length + hidden.edge_jitter_ns * normal(random)), column});
        at += length - 2000 * hidden.gap_us * std::log(uniform(1e-9, 1)) / 2;
      }
    }
    std::ranges::sort(work, {}, &RatedWork::start_ns);
    std::ranges::sort(seen);
    double until = 0;
    for (const auto& [from, to] : seen) {
      spread_over(until, std::max(from, until), rate[columns], &sums);
      until = std::max(until, to);
    }
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const double value = sums[i] / dt_ns * (1 + hidden.noise * normal(random)) + hidden.floor * normal(random);
      const auto start_ns = std::llround(static_cast<double>(i) * dt_ns),
                 next_ns = std::llround(static_cast<double>(i + 1) * dt_ns);
      samples.push_back({start_ns, next_ns, std::llround(value / kUnit), 0});
    }
    for (uint32_t i = 0; i < columns; ++i) truth.push_back(took[i] > 0 ? done[i] / took[i] : 0);
    truth.push_back(rate[columns]);
  }

  RatedTime time() const { return {work, columns, {}}; }
  RateTrack track() const { return {samples, kUnit, Together::kAddUp}; }
};

}  // namespace gprof::test

// What is looked up in the lists of a Trace.
#include <algorithm>
#include <cmath>

#include "gprof/trace.h"

namespace gprof {

Trace::Trace() = default;
Trace::Trace(const Trace&) = default;
Trace::Trace(Trace&&) noexcept = default;
Trace& Trace::operator=(const Trace&) = default;
Trace& Trace::operator=(Trace&&) noexcept = default;
Trace::~Trace() = default;
namespace {

// The neighbours of a sorted list that name the same thing.
template <class T>
std::span<const T> OfOne(const std::vector<T>& all, uint32_t T::*index, uint32_t one) {
  const auto first = std::partition_point(all.begin(), all.end(), [&](const T& t) { return t.*index < one; });
  const auto last = std::partition_point(first, all.end(), [&](const T& t) { return t.*index == one; });
  return {first, last};
}

// A division by a power of ten is exact to the last digit, a multiplication by its inverse is not.
double Scaled(int64_t value, int32_t scale) {
  const double number = static_cast<double>(value);
  return scale < 0 ? number / std::pow(10.0, -static_cast<double>(scale)) : number * std::pow(10.0, scale);
}

}  // namespace

std::span<const Symbol> Trace::SymbolsOf(uint32_t frame) const { return OfOne(symbols, &Symbol::frame, frame); }

std::span<const MetricSample> Trace::SamplesOf(uint32_t metric_source) const {
  return OfOne(metric_samples, &MetricSample::source, metric_source);
}

double ScaledValue(const MetricSource& source, int64_t value) { return Scaled(value, source.scale); }

std::span<const CounterValue> Trace::CountersOf(uint32_t counter_range) const {
  return OfOne(counter_values, &CounterValue::range, counter_range);
}

double NumberOf(const CounterValue& value) { return Scaled(value.value, value.scale); }

}  // namespace gprof

#include "analysis/facts/rates/normal_equations.h"

#include <algorithm>
#include <cmath>

namespace gprof {
namespace {

// Of the square of a column: what is left of it beside others, where that is less, is rounding.
constexpr double kLeastPivot = 1e-9;

}  // namespace

NormalEquations::NormalEquations(uint32_t columns, uint32_t tracks)
    : columns_(columns),
      tracks_(tracks),
      gram_(std::size_t{columns} * (columns + 1) / 2),
      time_(columns),
      noise_(columns),
      moments_(std::size_t{columns} * tracks),
      squares_(tracks) {}

void NormalEquations::AddRow(std::span<const ColumnShare> row, std::span<const double> values) {
  rows_ += 1;
  for (std::size_t i = 0; i < row.size(); ++i) {
    time_[row[i].column] += row[i].share;
    for (std::size_t j = 0; j <= i; ++j) gram_[At(row[i].column, row[j].column)] += row[i].share * row[j].share;
    for (uint32_t track = 0; track < tracks_; ++track)
      moments_[std::size_t{track} * columns_ + row[i].column] += row[i].share * values[track];
  }
  for (uint32_t track = 0; track < tracks_; ++track) squares_[track] += values[track] * values[track];
}

void NormalEquations::ScaleShares(double times) {
  for (double& product : gram_) product *= times * times;
  for (double& moment : moments_) moment *= times;
  for (double& noise : noise_) noise *= times * times;
}

void NormalEquations::AddShareNoise(uint32_t column, uint32_t rest, double variance) {
  noise_[column] += variance;
  rest_ = rest;
}

std::vector<double> NormalEquations::ShareNoise(std::span<const double> x) const {
  std::vector<double> added(columns_);
  for (uint32_t column = 0; column < columns_; ++column) {
    const double part = noise_[column] * (x[column] - x[rest_]);
    added[column] += part;
    added[rest_] -= part;
  }
  return added;
}

void NormalEquations::AddPrior(uint32_t column, double value, double weight) {
  gram_[At(column, column)] += weight;
  for (uint32_t track = 0; track < tracks_; ++track) moments_[std::size_t{track} * columns_ + column] += weight * value;
}

void NormalEquations::AddLikeness(uint32_t a, uint32_t b, double weight) {
  gram_[At(a, a)] += weight;
  gram_[At(b, b)] += weight;
  gram_[At(a, b)] -= weight;
}

void NormalEquations::Add(const NormalEquations& other, double weight) {
  const auto add = [weight](const std::vector<double>& from, std::vector<double>* to) {
    for (std::size_t i = 0; i < from.size(); ++i) (*to)[i] += weight * from[i];
  };
  add(other.gram_, &gram_);
  add(other.time_, &time_);
  add(other.noise_, &noise_);
  rest_ = other.rest_;
  add(other.moments_, &moments_);
  add(other.squares_, &squares_);
  rows_ += weight * other.rows_;
}

NormalEquations NormalEquations::Merged(std::span<const uint32_t> of_column, uint32_t columns) const {
  NormalEquations out(columns, tracks_);
  for (uint32_t a = 0; a < columns_; ++a) {
    for (uint32_t b = 0; b <= a; ++b) {
      // (p + q)² has p·q twice, and only one half of the products is kept.
      const double times = a != b && of_column[a] == of_column[b] ? 2 : 1;
      out.gram_[At(of_column[a], of_column[b])] += times * Product(a, b);
    }
    for (uint32_t track = 0; track < tracks_; ++track)
      out.moments_[std::size_t{track} * columns + of_column[a]] += Moments(track)[a];
    out.time_[of_column[a]] += time_[a];
    out.noise_[of_column[a]] += noise_[a];
  }
  out.rest_ = of_column[rest_];
  out.squares_ = squares_;
  out.rows_ = rows_;
  return out;
}

NormalEquations::Explanation NormalEquations::Explained(uint32_t track, std::span<const double> x) const {
  Explanation sums;
  const std::span<const double> moments = Moments(track);
  for (uint32_t a = 0; a < columns_; ++a) {
    double row = x[a] * Product(a, a);
    for (uint32_t b = 0; b < a; ++b) row += 2 * x[b] * Product(a, b);
    sums.itself += x[a] * row;
    sums.measured += x[a] * moments[a];
  }
  return sums;
}

double NormalEquations::Unexplained(uint32_t track, std::span<const double> x) const {
  const Explanation sums = Explained(track, x);
  return std::max(squares_[track] - 2 * sums.measured + sums.itself, 0.0);
}

Solver::Solver(const NormalEquations& equations)
    : columns_(equations.columns()), lower_(std::size_t{columns_} * columns_) {
  double most = 0;
  for (uint32_t i = 0; i < columns_; ++i) most = std::max(most, equations.Product(i, i));
  for (uint32_t i = 0; i < columns_; ++i) {
    const double square = equations.Product(i, i);
    for (uint32_t j = 0; j <= i; ++j) {
      double rest = equations.Product(i, j);
      for (uint32_t k = 0; k < j; ++k) rest -= L(i, k) * L(j, k);
      if (i == j) {
        L(i, i) = std::sqrt(std::max({rest, kLeastPivot * square, kLeastPivot * kLeastPivot * most, 1e-300}));
      } else {
        L(i, j) = rest / L(j, j);
      }
    }
  }
}

std::vector<double> Solver::Forward(std::span<const double> moments) const {
  std::vector<double> x(moments.begin(), moments.end());
  for (uint32_t i = 0; i < columns_; ++i) {
    for (uint32_t k = 0; k < i; ++k) x[i] -= L(i, k) * x[k];
    x[i] /= L(i, i);
  }
  return x;
}

NormalEquations Solver::Rest(const NormalEquations& equations, uint32_t first) const {
  NormalEquations rest(columns_ - first, equations.tracks());
  rest.rows_ = equations.rows();
  for (uint32_t i = 0; i < first; ++i) rest.rows_ -= equations.Product(i, i) > 0 ? 1 : 0;
  for (uint32_t a = first; a < columns_; ++a) {
    for (uint32_t b = first; b <= a; ++b) {
      for (uint32_t k = first; k <= b; ++k) rest.gram_[NormalEquations::At(a - first, b - first)] += L(a, k) * L(b, k);
    }
  }
  for (uint32_t track = 0; track < equations.tracks(); ++track) {
    const std::vector<double> z = Forward(equations.Moments(track));
    rest.squares_[track] = equations.squares_[track];
    for (uint32_t k = 0; k < first; ++k) rest.squares_[track] -= z[k] * z[k];
    for (uint32_t a = first; a < columns_; ++a) {
      for (uint32_t k = first; k <= a; ++k)
        rest.moments_[std::size_t{track} * rest.columns_ + a - first] += L(a, k) * z[k];
    }
  }
  return rest;
}

std::vector<double> Solver::Solve(std::span<const double> moments) const {
  std::vector<double> x = Forward(moments);
  for (uint32_t i = columns_; i-- > 0;) {
    for (uint32_t k = i + 1; k < columns_; ++k) x[i] -= L(k, i) * x[k];
    x[i] /= L(i, i);
  }
  return x;
}

std::vector<double> Solver::SolveNonNegative(const NormalEquations& equations, uint32_t track, uint32_t columns) const {
  constexpr int kMostSweeps = 2000;
  constexpr double kEnough = 1e-9;
  const std::span<const double> moments = equations.Moments(track);
  std::vector<double> x = Solve(moments);
  const std::span<double> bounded = std::span(x).first(columns);
  if (std::ranges::all_of(bounded, [](double value) { return value >= 0; })) return x;
  double scale = 0;
  for (double& value : bounded) {
    value = std::max(value, 0.0);
    scale = std::max(scale, value);
  }
  for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
    double moved = 0;
    for (uint32_t i = 0; i < columns_; ++i) {
      const double square = equations.Product(i, i);
      if (square <= 0) continue;
      double slope = moments[i];
      for (uint32_t k = 0; k < columns_; ++k) slope -= equations.Product(i, k) * x[k];
      const double next = i < columns ? std::max(x[i] + slope / square, 0.0) : x[i] + slope / square;
      moved = std::max(moved, std::abs(next - x[i]));
      x[i] = next;
    }
    if (moved <= kEnough * scale) break;
  }
  return x;
}

std::vector<double> Solver::Inverse() const {
  std::vector<double> inverse(std::size_t{columns_} * columns_), unit(columns_);
  for (uint32_t i = 0; i < columns_; ++i) {
    unit[i] = 1;
    const std::vector<double> column = Solve(unit);
    unit[i] = 0;
    std::ranges::copy(column, inverse.begin() + static_cast<std::ptrdiff_t>(std::size_t{i} * columns_));
  }
  return inverse;
}

}  // namespace gprof

// Least squares by sums: the products of the columns with each other and with the measured values. Rows are not kept,
// so that a million samples take no more memory than a thousand, and sums of parts of the time can be added up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace gprof {

// What one column has of one row.
struct ColumnShare {
  uint32_t column = 0;
  double share = 0;
};

class NormalEquations {
 public:
  NormalEquations(uint32_t columns, uint32_t tracks);

  // `values`: what was measured, one of each track.
  void AddRow(std::span<const ColumnShare> row, std::span<const double> values);
  void Add(const NormalEquations& other, double weight);
  // As if all shares had been so many times what they were.
  void ScaleShares(double times);
  // Shares of `column` are not exact: something of that variance was moved between it and `rest`.
  void AddShareNoise(uint32_t column, uint32_t rest, double variance);
  // What the squares of these errors added to the products, times `x`: solved for, it is what values are too small by.
  std::vector<double> ShareNoise(std::span<const double> x) const;
  // What is known of the value of a column beforehand counts as so much of a measurement of it, of each track.
  void AddPrior(uint32_t column, double value, double weight);
  // Likewise that two columns have about the same value.
  void AddLikeness(uint32_t a, uint32_t b, double weight);
  // Columns with the same number in `of_column` become one.
  NormalEquations Merged(std::span<const uint32_t> of_column, uint32_t columns) const;

  uint32_t columns() const { return columns_; }
  uint32_t tracks() const { return tracks_; }
  double rows() const { return rows_; }
  double Time(uint32_t column) const { return time_[column]; }  // the sum of its shares, whatever their scale
  double Product(uint32_t a, uint32_t b) const { return gram_[At(a, b)]; }
  std::span<const double> Moments(uint32_t track) const { return {moments_.data() + track * columns_, columns_}; }
  // The products of what `x` says of the rows with what was measured, and with itself.
  struct Explanation {
    double measured = 0, itself = 0;
  };
  Explanation Explained(uint32_t track, std::span<const double> x) const;
  // Sum of the squares of what `x` leaves unexplained.
  double Unexplained(uint32_t track, std::span<const double> x) const;

 private:
  friend class Solver;
  static std::size_t At(uint32_t a, uint32_t b) {
    return a < b ? std::size_t{b} * (b + 1) / 2 + a : std::size_t{a} * (a + 1) / 2 + b;
  }

  uint32_t columns_, tracks_;
  double rows_ = 0;
  std::vector<double> gram_;          // lower triangle, row by row
  std::vector<double> time_, noise_;  // by column
  uint32_t rest_ = 0;                 // where its shares came from
  std::vector<double> moments_;       // by track
  std::vector<double> squares_;
};

// The solution for any track, by Cholesky. Columns that never ran, or that others explain entirely, get next to nothing
// added to their square, so that there always is one: such columns have an enormous variance.
class Solver {
 public:
  explicit Solver(const NormalEquations& equations);

  std::vector<double> Solve(std::span<const double> moments) const;
  // As above, with none of the first `columns` values below zero: by coordinate descent from there.
  std::vector<double> SolveNonNegative(const NormalEquations& equations, uint32_t track, uint32_t columns) const;
  // For the columns from `first` on, what is left once those before have explained what they can. `equations`: those it
  // was made of.
  NormalEquations Rest(const NormalEquations& equations, uint32_t first) const;
  // Full and symmetric: how variances of the columns go together.
  std::vector<double> Inverse() const;

 private:
  std::vector<double> Forward(std::span<const double> moments) const;
  double& L(uint32_t row, uint32_t column) { return lower_[std::size_t{row} * columns_ + column]; }
  double L(uint32_t row, uint32_t column) const { return lower_[std::size_t{row} * columns_ + column]; }

  uint32_t columns_;
  std::vector<double> lower_;
};

}  // namespace gprof

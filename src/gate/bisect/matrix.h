// A small dense matrix, of which the model of steps needs little.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

namespace gprof {

class Matrix {
 public:
  Matrix(std::size_t rows, std::size_t columns) : columns_(columns), values_(rows * columns) {}
  double& at(std::size_t row, std::size_t column) { return values_[row * columns_ + column]; }
  double at(std::size_t row, std::size_t column) const { return values_[row * columns_ + column]; }
  std::size_t size() const { return columns_; }

 private:
  std::size_t columns_;
  std::vector<double> values_;
};

// Of a positive definite matrix, by Gauss–Jordan without pivots.
inline Matrix InverseOf(Matrix matrix, double* log_determinant) {
  const std::size_t n = matrix.size();
  *log_determinant = 0;
  for (std::size_t k = 0; k < n; ++k) {
    const double pivot = matrix.at(k, k);
    *log_determinant += std::log(pivot);
    matrix.at(k, k) = 1;
    for (std::size_t j = 0; j < n; ++j) matrix.at(k, j) /= pivot;
    for (std::size_t i = 0; i < n; ++i) {
      if (i == k) continue;
      const double factor = matrix.at(i, k);
      matrix.at(i, k) = 0;
      for (std::size_t j = 0; j < n; ++j) matrix.at(i, j) -= factor * matrix.at(k, j);
    }
  }
  return matrix;
}

// Each element becomes the sum of itself and of all behind it.
inline void SumFromTheEnd(std::vector<double>* values) {
  for (std::size_t i = values->size(); i-- > 1;) (*values)[i - 1] += (*values)[i];
}
inline void SumFromTheEnd(Matrix* matrix) {
  const std::size_t n = matrix->size();
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = n; j-- > 1;) matrix->at(i, j - 1) += matrix->at(i, j);
  }
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t i = n; i-- > 1;) matrix->at(i - 1, j) += matrix->at(i, j);
  }
}

}  // namespace gprof

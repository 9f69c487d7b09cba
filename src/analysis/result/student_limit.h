// How far an estimate may be off that rests on few samples.
#pragma once

#include <algorithm>

namespace gprof {

// Of Student's t with so many degrees of freedom, what 2.5 % exceed (Cornish and Fisher's expansion, right to 1 % from
// three degrees on).
inline double StudentLimit(double freedom) {
  constexpr double z = 1.959964;
  const double z3 = z * z * z, z5 = z3 * z * z, z7 = z5 * z * z, n = std::max(freedom, 1.0);
  return z + (z3 + z) / (4 * n) + (5 * z5 + 16 * z3 + 3 * z) / (96 * n * n) +
         (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * n * n * n);
}

}  // namespace gprof

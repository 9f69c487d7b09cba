// Shortened names beside each other: what was different stays different.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace gprof {

// ShortName of each. Where different names would then read alike, each has what tells it from the others in brackets:
// "elementwise_kernel<…FillFunctor<float>…>". Equal names come back equal.
std::vector<std::string> ShortNames(const std::vector<std::string>& names);

// What sentences call kernels: their functions, without namespaces where they are different without them, in at most 40
// columns each. Equal names come back equal, and different ones different.
std::vector<std::string> BriefNames(const std::vector<std::string>& names);
std::string BriefName(const std::string& name);

// At most `width` columns of each text, which must be Printable: cut in the middle, or where others would read alike,
// so that what follows their common beginning can be seen; where there is no room for it, numbered: "launch_a…#2".
std::vector<std::string> ShortenApart(const std::vector<std::string>& texts, std::size_t width);

}  // namespace gprof

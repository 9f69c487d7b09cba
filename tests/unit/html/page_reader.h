// Reads the events of a page as src/web/shared/data.ts describes them, without anything of what writes them.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace gprof::test {

using Columns = std::map<std::string, std::vector<int64_t>>;

// Columns of a lane or a counter; those that are all zeros are filled in for `names`.
Columns ReadColumns(const nlohmann::ordered_json& holder, const std::string& blob,
                    const std::vector<std::string>& names = {});

}  // namespace gprof::test

# gprof_precompile(TARGET HEADERS...): what nearly all of its files include is read once. Where there is ccache, what it
# has is worth more. Files with options of their own skip it (SKIP_PRECOMPILE_HEADERS): g++ may take those of the header.
function(gprof_precompile target)
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND NOT GPROF_CCACHE)
    target_precompile_headers(${target} ${ARGN})
  endif()
endfunction()

# What libraries include. g++ takes one such header at every level of optimisation but -Os, which has its own.
function(gprof_precompile_usual name)
  file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/${name}.cpp" CONTENT "")
  add_library(${name} OBJECT EXCLUDE_FROM_ALL "${PROJECT_BINARY_DIR}/${name}.cpp")
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/include" "${PROJECT_BINARY_DIR}/include")
  target_link_libraries(${name} PRIVATE gprof_warnings gprof_sanitize gprof_fmt)
  target_compile_options(${name} PRIVATE ${ARGN})
  gprof_precompile(${name} PRIVATE <algorithm> <array> <charconv> <cstdint> <functional> <map> <memory> <optional> <set> <span>
    <string> <string_view> <tuple> <unordered_map> <utility> <variant> <vector> <fmt/format.h>
    "${PROJECT_SOURCE_DIR}/include/gprof/trace.h")
endfunction()
gprof_precompile_usual(gprof_usual_headers)
gprof_precompile_usual(gprof_usual_headers_small $<$<CONFIG:Release>:-Os>)

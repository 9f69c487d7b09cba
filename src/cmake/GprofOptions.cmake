# Options of the build, and the flags that every target of ours carries.
option(GPROF_BUILD_TESTS "Build the tests" ON)
option(GPROF_BUILD_EXAMPLES "Build the example programs (CUDA ones where nvcc is found)" ON)
option(GPROF_BUILD_HTML "Build the page of `report --format html` into gprof-cli (needs esbuild)" ON)
option(GPROF_BUILD_FUZZERS "Build the libFuzzer targets (needs clang)" OFF)
option(GPROF_WERROR "Treat warnings as errors" OFF)
option(GPROF_COVERAGE "Count executed lines of offline code and tests; never on the tracer" OFF)
option(GPROF_STATIC_RUNTIME "Link libstdc++ and libgcc into gprof-cli, so that it needs libc only" ON)
include(CheckCXXSourceCompiles)
check_cxx_source_compiles("#include <features.h>
#if !defined(__GLIBC__) || !__GLIBC_PREREQ(2, 35) || !(defined(__x86_64__) || defined(__aarch64__))
#error
#endif
int main() {}" GPROF_CAN_OLD_GLIBC)
option(GPROF_OLD_GLIBC "Link so that gprof-cli and the tracer run with glibc 2.28, see src/glibc" ${GPROF_CAN_OLD_GLIBC})
option(GPROF_UNITY "Compile a few files at a time: half the time from nothing, more for a single edited file" ON)
set(GPROF_SANITIZE "" CACHE STRING "Sanitizers for offline code and tests, such as address,undefined; never on the tracer")
set(GPROF_CUDA_INCLUDE "" CACHE PATH "Folder with cupti.h and nvtx3/, found in the CUDA Toolkit where left empty")

if(GPROF_SANITIZE)
  set(GPROF_OLD_GLIBC OFF)  # the runtime of sanitizers needs what it was made for
endif()
if(GPROF_BUILD_FUZZERS AND NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  message(FATAL_ERROR "GPROF_BUILD_FUZZERS needs clang for libFuzzer, and the compiler is ${CMAKE_CXX_COMPILER_ID}.\n"
    "Use `cmake --preset fuzz`, or pass -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++.")
endif()

# One component holds everything that is ours, see GprofPackage.cmake.
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME gprof)

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
# The same figures and texts on every machine. On x86-64 a char has a sign, and a product is rounded before it is added.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  add_compile_options(-fsigned-char -ffp-contract=off)
endif()
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

# What is compiled is shared between checkouts: no path of this one counts.
find_program(GPROF_CCACHE ccache)
if(GPROF_CCACHE)
  set(gprof_ccache "${CMAKE_COMMAND}" -E env "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}" CCACHE_NOHASHDIR=1 "${GPROF_CCACHE}")
endif()
if(GPROF_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_C_COMPILER_LAUNCHER "${gprof_ccache}")
  set(CMAKE_CXX_COMPILER_LAUNCHER "${gprof_ccache}")
endif()
add_library(gprof_warnings INTERFACE)
target_compile_options(gprof_warnings INTERFACE
  -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor -Wold-style-cast -Wimplicit-fallthrough
  # g++ 12 sees overlapping copies in std::string (its bug 105651), and unset members in std::optional and std::variant,
  # that are not there.
  $<$<NOT:$<CONFIG:Debug>>:-Wno-restrict> $<$<NOT:$<CONFIG:Debug>>:-Wno-maybe-uninitialized>
  $<$<BOOL:${GPROF_WERROR}>:-Werror>)

# What instruments offline code: sanitizers and coverage.
add_library(gprof_sanitize INTERFACE)
if(GPROF_SANITIZE)
  target_compile_options(gprof_sanitize INTERFACE -fsanitize=${GPROF_SANITIZE} -fno-omit-frame-pointer
                                                  -fno-sanitize-recover=all)
  target_link_options(gprof_sanitize INTERFACE -fsanitize=${GPROF_SANITIZE})
endif()
if(GPROF_COVERAGE)
  target_compile_options(gprof_sanitize INTERFACE --coverage)
  target_link_options(gprof_sanitize INTERFACE --coverage)
endif()

# <gprof/version.h>: the version is written once, in project().
configure_file("${CMAKE_CURRENT_LIST_DIR}/version.h.in" "${PROJECT_BINARY_DIR}/include/gprof/version.h" @ONLY)

# gprof_unity(TARGET): CMake's unity build with a group for each folder, in which local names differ from each other.
# Files that cannot be with the others of their folder have SKIP_UNITY_BUILD_INCLUSION.
function(gprof_unity target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${GPROF_UNITY} UNITY_BUILD_MODE GROUP)
  cmake_language(EVAL CODE "cmake_language(DEFER CALL gprof_group_by_folder ${target})")
endfunction()
function(gprof_group_by_folder target)
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    cmake_path(ABSOLUTE_PATH source NORMALIZE OUTPUT_VARIABLE path)
    cmake_path(GET path PARENT_PATH folder)
    cmake_path(RELATIVE_PATH folder BASE_DIRECTORY "${PROJECT_SOURCE_DIR}/src")
    string(REPLACE "/" "_" group "${folder}")
    set_property(SOURCE "${path}" TARGET_DIRECTORY ${target} PROPERTY UNITY_GROUP "${group}")
  endforeach()
endfunction()

# Every offline target of ours: gprof_library(name SOURCES...) and its link line. Its folders add their sources with
# target_sources(). SMALL: not worth the space that fast code takes. TOGETHER: little enough to be compiled as one.
function(gprof_library name)
  cmake_parse_arguments(ARG "SMALL;TOGETHER" "" "" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  target_include_directories(${name} PUBLIC "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src"
                                            "${PROJECT_BINARY_DIR}/include")
  target_link_libraries(${name} PRIVATE gprof_warnings PUBLIC gprof_sanitize)
  if(ARG_SMALL)
    target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-Os>)
  endif()
  if(ARG_TOGETHER)
    set_target_properties(${name} PROPERTIES UNITY_BUILD ${GPROF_UNITY} UNITY_BUILD_BATCH_SIZE 0)
  else()
    gprof_unity(${name})
  endif()
endfunction()

# Options of the build, and the flags that every target of ours carries.
option(GPROF_BUILD_TESTS "Build the tests" ON)
option(GPROF_BUILD_EXAMPLES "Build the example programs (CUDA ones where nvcc is found)" ON)
option(GPROF_BUILD_PYTHON "Build the Python module, or fail; the tests build it where pybind11 is found" OFF)
option(GPROF_BUILD_HTML "Build the page of `report --format html` into gprof-cli (needs esbuild)" ON)
option(GPROF_BUILD_FUZZERS "Build the libFuzzer targets (needs clang)" OFF)
option(GPROF_WERROR "Treat warnings as errors" OFF)
option(GPROF_COVERAGE "Count executed lines of offline code and tests; never on the tracer" OFF)
option(GPROF_STATIC_RUNTIME "Link libstdc++ and libgcc into gprof-cli, so that it needs libc only" ON)
set(GPROF_SANITIZE "" CACHE STRING "Sanitizers for offline code and tests, such as address,undefined; never on the tracer")
set(GPROF_CUDA_INCLUDE "" CACHE PATH "Folder with cupti.h and nvtx3/, found in the CUDA Toolkit where left empty")

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
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

find_program(GPROF_CCACHE ccache)
if(GPROF_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_C_COMPILER_LAUNCHER "${GPROF_CCACHE}")
  set(CMAKE_CXX_COMPILER_LAUNCHER "${GPROF_CCACHE}")
  # Without it ccache does not see what is in a precompiled header.
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)
  endif()
endif()

add_library(gprof_warnings INTERFACE)
target_compile_options(gprof_warnings INTERFACE
  -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor -Wold-style-cast -Wimplicit-fallthrough
  # g++ 12 sees overlapping copies in std::string that are not there (its bug 105651).
  $<$<NOT:$<CONFIG:Debug>>:-Wno-restrict>
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

# Every offline target of ours: gprof_library(name SOURCES...). Folders below it add theirs with target_sources().
function(gprof_library name)
  add_library(${name} STATIC ${ARGN})
  target_include_directories(${name} PUBLIC "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src"
                                            "${PROJECT_BINARY_DIR}/include")
  target_link_libraries(${name} PRIVATE gprof_warnings PUBLIC gprof_sanitize)
  # What large traces go through: 4 % fewer instructions for 270 kB. gprof_small() is the other way round.
  if(name MATCHES "^gprof_(analysis|trace)$")
    target_compile_options(${name} PRIVATE $<$<AND:$<CONFIG:Release>,$<COMPILE_LANG_AND_ID:CXX,GNU>>:-O3>)
  endif()
  # With it, every object that formats anything has a copy of its own of what {fmt} prints floating point with, 9 kB each.
  # Where it makes hot loops faster it stays.
  if(NOT name MATCHES "^gprof_(analysis|trace)$")
    target_compile_options(${name} PRIVATE $<$<AND:$<CONFIG:Release>,$<COMPILE_LANG_AND_ID:CXX,GNU>>:-fno-ipa-sra>)
  endif()
endfunction()
# gprof_small(TARGET FILES...): code that no large trace goes through. It is half as large this way, and the tool has 10 MB.
function(gprof_small target)
  set_source_files_properties(${ARGN} TARGET_DIRECTORY ${target} PROPERTIES COMPILE_OPTIONS "$<$<CONFIG:Release>:-Os>")
endfunction()

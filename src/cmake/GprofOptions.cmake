# Options of the build, and the flags that every target of ours carries.
option(GPROF_BUILD_TESTS "Build the tests" ON)
option(GPROF_BUILD_EXAMPLES "Build the example programs (CUDA ones where nvcc is found)" ON)
option(GPROF_BUILD_PYTHON "Build the Python module; the tests build it as well" OFF)
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

# Every offline target of ours: gprof_library(name SOURCES...) and its link line come through here. A library with folders
# for its topics has no sources here: each folder adds its own with gprof_topic(). SMALL: not worth the space that fast code
# takes.
function(gprof_library name)
  cmake_parse_arguments(ARG "SMALL" "" "" ${ARGN})
  add_library(${name} STATIC)
  target_include_directories(${name} PUBLIC "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src"
                                            "${PROJECT_BINARY_DIR}/include")
  target_link_libraries(${name} PRIVATE gprof_warnings PUBLIC gprof_sanitize)
  gprof_few_at_a_time(${name} 6 ${ARG_UNPARSED_ARGUMENTS})
  if(ARG_SMALL)
    target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-Os>)
    gprof_precompile(${name} REUSE_FROM gprof_usual_headers_small)
  else()
    gprof_precompile(${name} REUSE_FROM gprof_usual_headers)
  endif()
endfunction()
# gprof_topic(TARGET SOURCES...): the sources of a folder, compiled as one where GPROF_UNITY says so.
function(gprof_topic target)
  gprof_few_at_a_time(${target} 100 ${ARGN})
endfunction()
# gprof_small_topic(): SMALL for the topic of this folder.
function(gprof_small_topic)
  set_property(DIRECTORY PROPERTY gprof_compile_options $<$<CONFIG:Release>:-Os>)
  set_property(DIRECTORY PROPERTY gprof_skips_precompiled ON)
endfunction()
# gprof_quick_topic(): the topic of this folder is not worth the time that it takes the compiler to make it fast. It sees
# too little then to tell which variables are set.
function(gprof_quick_topic)
  set_property(DIRECTORY PROPERTY gprof_compile_options $<$<CONFIG:Release>:-Og> $<$<CONFIG:Release>:-Wno-maybe-uninitialized>)
endfunction()
# gprof_apart(TARGET FILES...): files whose local names are also those of others, compiled by themselves.
function(gprof_apart target)
  set_property(DIRECTORY APPEND PROPERTY gprof_apart ${ARGN})
endfunction()
# Not CMake's UNITY_BUILD: that names sources by their absolute paths, and ccache would compile them again in every
# checkout. Files are written at the end of the folder, when it is known which of them go apart.
function(gprof_few_at_a_time target count)
  if(NOT GPROF_UNITY)
    target_sources(${target} PRIVATE ${ARGN})
  elseif(ARGN)
    set_property(DIRECTORY APPEND PROPERTY gprof_sources_of_${target} ${ARGN})
    cmake_language(EVAL CODE "cmake_language(DEFER CALL gprof_add_sources ${target} ${count})")
  endif()
endfunction()
# gprof_add_together(TARGET NAMES...): a file for the folders that were added while gprof_together was that name. Worth it
# where all of them include what takes long to compile, such as CLI11.
function(gprof_add_together target)
  foreach(name IN LISTS ARGN)
    get_property(includes GLOBAL PROPERTY gprof_includes_of_${target}_${name})
    if(NOT includes)
      continue()
    endif()
    set(path "${CMAKE_CURRENT_BINARY_DIR}/${name}_of_${target}.cpp")
    file(CONFIGURE OUTPUT "${path}" CONTENT "${includes}" @ONLY)
    target_sources(${target} PRIVATE "${path}")
  endforeach()
endfunction()
function(gprof_add_sources target count)
  get_property(sources DIRECTORY PROPERTY gprof_sources_of_${target})
  get_property(apart DIRECTORY PROPERTY gprof_apart)
  get_property(options DIRECTORY PROPERTY gprof_compile_options)
  get_property(skips DIRECTORY PROPERTY gprof_skips_precompiled)
  file(RELATIVE_PATH folder "${PROJECT_SOURCE_DIR}/src" "${CMAKE_CURRENT_SOURCE_DIR}")
  string(REPLACE "../" "" name "${folder}")
  string(REPLACE "/" "_" name "${name}")
  set(number 0)
  set(files)
  set(paths)
  foreach(source IN LISTS sources)
    if(source IN_LIST apart OR IS_ABSOLUTE "${source}")
      list(APPEND paths "${source}")
      continue()
    endif()
    math(EXPR file "${number} / ${count}")
    math(EXPR number "${number} + 1")
    string(APPEND includes_${file} "#include \"${folder}/${source}\"\n")
    list(APPEND files ${file})
  endforeach()
  list(REMOVE_DUPLICATES files)
  foreach(file IN LISTS files)
    if(gprof_together)
      set_property(GLOBAL APPEND_STRING PROPERTY gprof_includes_of_${target}_${gprof_together} "${includes_${file}}")
      continue()
    endif()
    set(path "${CMAKE_CURRENT_BINARY_DIR}/${name}_of_${target}_${file}.cpp")
    file(CONFIGURE OUTPUT "${path}" CONTENT "${includes_${file}}" @ONLY)
    list(APPEND paths "${path}")
  endforeach()
  if(NOT paths)
    return()
  endif()
  target_sources(${target} PRIVATE ${paths})
  set_property(SOURCE ${paths} TARGET_DIRECTORY ${target} APPEND PROPERTY COMPILE_OPTIONS ${options})
  if(skips)  # an empty value skips them as well
    set_property(SOURCE ${paths} TARGET_DIRECTORY ${target} PROPERTY SKIP_PRECOMPILE_HEADERS ON)
  endif()
endfunction()

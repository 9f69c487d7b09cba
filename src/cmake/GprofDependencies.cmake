# Libraries come from the distribution's packages; setup.sh installs them.
find_package(CLI11 REQUIRED)
find_package(fmt REQUIRED)
# The headers without the library: src/base/fmt.cpp is the library.
add_library(gprof_fmt INTERFACE)
get_target_property(gprof_fmt_include fmt::fmt-header-only INTERFACE_INCLUDE_DIRECTORIES)
target_include_directories(gprof_fmt SYSTEM INTERFACE "${gprof_fmt_include}")
find_package(nlohmann_json REQUIRED)
find_package(Threads REQUIRED)
find_path(ZSTD_INCLUDE_DIR zstd.h REQUIRED)
find_library(ZSTD_LIBRARY NAMES libzstd.a zstd REQUIRED)
add_library(gprof_zstd INTERFACE)
target_include_directories(gprof_zstd INTERFACE "${ZSTD_INCLUDE_DIR}")
target_link_libraries(gprof_zstd INTERFACE "${ZSTD_LIBRARY}")
find_path(ZLIB_INCLUDE_DIR zlib.h REQUIRED)
find_library(ZLIB_LIBRARY NAMES libz.a z REQUIRED)
add_library(gprof_zlib INTERFACE)
target_include_directories(gprof_zlib INTERFACE "${ZLIB_INCLUDE_DIR}")
target_link_libraries(gprof_zlib INTERFACE "${ZLIB_LIBRARY}")
find_path(SQLITE3_INCLUDE_DIR sqlite3.h REQUIRED)
find_library(SQLITE3_LIBRARY NAMES libsqlite3.a sqlite3 REQUIRED)
add_library(gprof_sqlite INTERFACE)
target_include_directories(gprof_sqlite INTERFACE "${SQLITE3_INCLUDE_DIR}")
target_link_libraries(gprof_sqlite INTERFACE "${SQLITE3_LIBRARY}" m ${CMAKE_DL_LIBS} Threads::Threads)
find_path(RE2_INCLUDE_DIR re2/re2.h REQUIRED)
find_library(RE2_LIBRARY NAMES libre2.a re2 REQUIRED)
add_library(gprof_re2 INTERFACE)
target_include_directories(gprof_re2 SYSTEM INTERFACE "${RE2_INCLUDE_DIR}")
target_link_libraries(gprof_re2 INTERFACE "${RE2_LIBRARY}" Threads::Threads)
# The full screen of `gprof-cli tree`. Without it, that prints.
find_path(NCURSES_INCLUDE_DIR curses.h)
find_library(NCURSES_LIBRARY NAMES libncursesw.a ncursesw)
find_library(TINFO_LIBRARY NAMES libtinfo.a tinfo)  # in ncursesw itself where there is none
if(NCURSES_INCLUDE_DIR AND NCURSES_LIBRARY)
  add_library(gprof_ncurses INTERFACE)
  target_include_directories(gprof_ncurses SYSTEM INTERFACE "${NCURSES_INCLUDE_DIR}")
  target_compile_definitions(gprof_ncurses INTERFACE NCURSES_WIDECHAR=1)
  target_link_libraries(gprof_ncurses INTERFACE "${NCURSES_LIBRARY}" "$<$<BOOL:${TINFO_LIBRARY}>:${TINFO_LIBRARY}>")
else()
  message(STATUS "ncursesw was not found (Debian: libncurses-dev): `gprof-cli tree` prints, and has no full screen")
endif()
# Writes the messages of the perfetto export. Headers only.
find_path(PROTOZERO_INCLUDE_DIR protozero/pbf_writer.hpp REQUIRED)
add_library(gprof_protozero INTERFACE)
target_include_directories(gprof_protozero SYSTEM INTERFACE "${PROTOZERO_INCLUDE_DIR}")
# Makes one script of src/web, see src/html.
if(GPROF_BUILD_HTML)
  find_program(GPROF_ESBUILD esbuild)
  if(NOT GPROF_ESBUILD)
    message(FATAL_ERROR "The page of `report --format html` is made with esbuild, which was not found.\n"
      "Install it (Debian: apt-get install esbuild, or ./setup.sh deps), name it with -DGPROF_ESBUILD=FILE,\n"
      "or build without the page with -DGPROF_BUILD_HTML=OFF.")
  endif()
endif()
if(GPROF_BUILD_TESTS)
  find_package(GTest REQUIRED)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
endif()

# Headers of CUPTI and NVTX; libcupti itself is never linked.
find_path(GPROF_CUPTI_INCLUDE cupti.h
  HINTS "${GPROF_CUDA_INCLUDE}" ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda
  PATH_SUFFIXES include extras/CUPTI/include)
find_path(GPROF_NVTX_INCLUDE nvtx3/nvToolsExt.h
  HINTS "${GPROF_CUDA_INCLUDE}" ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda
  PATH_SUFFIXES include)
find_path(GPROF_CUDA_H_INCLUDE cuda.h
  HINTS "${GPROF_CUDA_INCLUDE}" ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda
  PATH_SUFFIXES include)
find_path(GPROF_CUDA_OCCUPANCY_INCLUDE cuda_occupancy.h
  HINTS "${GPROF_CUDA_INCLUDE}" ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda
  PATH_SUFFIXES include)
set(gprof_have_cuda_headers OFF)
if(GPROF_CUPTI_INCLUDE AND GPROF_NVTX_INCLUDE AND GPROF_CUDA_H_INCLUDE)
  set(gprof_have_cuda_headers ON)
endif()
option(GPROF_BUILD_TRACER "Build the tracer (needs the headers of CUPTI and NVTX)" ${gprof_have_cuda_headers})
if(GPROF_BUILD_TRACER AND NOT gprof_have_cuda_headers)
  message(FATAL_ERROR "The tracer needs cupti.h, cuda.h and nvtx3/nvToolsExt.h, and not all were found.\n"
    "Install the CUDA Toolkit, or run ./setup.sh deps and pass -DGPROF_CUDA_INCLUDE=build/cuda/include,\n"
    "or build the offline commands alone with -DGPROF_BUILD_TRACER=OFF.")
endif()

# libgprof.a: all that reads and analyses traces, as one relocatable object.
#
# A static library, because the model is plain structs of the standard library, whose layout follows every change of a
# header: there is no binary interface to keep, and programs that are linked need no file beside them. What it is made
# with (zstd, zlib, SQLite) is inside, with its names made local, so that nothing is asked of the programs that use it,
# and a copy of zstd or SQLite of their own does not meet ours.
set(gprof_bundle_parts gprof_library_calls gprof_report gprof_records gprof_import gprof_analysis gprof_trace gprof_base)
set(gprof_bundle "${PROJECT_BINARY_DIR}/lib/libgprof.a")

# Archives are taken in. A library that is there as a shared one only is linked by the programs.
set(gprof_bundle_archives)
set(gprof_bundle_needs m ${CMAKE_DL_LIBS} Threads::Threads)
foreach(dependency gprof_zstd gprof_zlib gprof_sqlite)
  get_target_property(libraries ${dependency} INTERFACE_LINK_LIBRARIES)
  foreach(library ${libraries})
    if(library MATCHES "\\.a$")
      list(APPEND gprof_bundle_archives "${library}")
    else()
      list(APPEND gprof_bundle_needs "${library}")
    endif()
  endforeach()
endforeach()
list(REMOVE_DUPLICATES gprof_bundle_needs)

set(gprof_bundle_files)
foreach(target ${gprof_bundle_parts})
  list(APPEND gprof_bundle_files "$<TARGET_FILE:${target}>")
endforeach()
add_custom_command(OUTPUT "${gprof_bundle}" VERBATIM
  DEPENDS ${gprof_bundle_parts} "${CMAKE_CURRENT_LIST_DIR}/bundle.cmake"
  COMMAND "${CMAKE_COMMAND}" "-DOUTPUT=${gprof_bundle}" "-DOURS=${gprof_bundle_files}" "-DTHEIRS=${gprof_bundle_archives}"
          "-DCXX=${CMAKE_CXX_COMPILER}" "-DLINKER=${CMAKE_LINKER}" "-DNM=${CMAKE_NM}" "-DOBJCOPY=${CMAKE_OBJCOPY}"
          "-DAR=${CMAKE_AR}" -P "${CMAKE_CURRENT_LIST_DIR}/bundle.cmake")
add_custom_target(gprof_bundle ALL DEPENDS "${gprof_bundle}")
# What a target of ours links to have it all.
add_library(gprof_bundled INTERFACE)
target_link_libraries(gprof_bundled INTERFACE "${gprof_bundle}" ${gprof_bundle_needs})
add_dependencies(gprof_bundled gprof_bundle)

# The package gprof-cli-dev. The headers of the format come with gprof-cli, see GprofPackage.cmake.
include(CMakePackageConfigHelpers)
set(gprof_config_dir "${CMAKE_INSTALL_LIBDIR}/cmake/gprof")
configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/gprof-config.cmake.in" "${PROJECT_BINARY_DIR}/cmake/gprof-config.cmake"
  INSTALL_DESTINATION "${gprof_config_dir}" PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR)
# Structs change with every minor version.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/cmake/gprof-config-version.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${gprof_bundle}" DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT dev)
install(FILES "${PROJECT_BINARY_DIR}/cmake/gprof-config.cmake" "${PROJECT_BINARY_DIR}/cmake/gprof-config-version.cmake"
        DESTINATION "${gprof_config_dir}" COMPONENT dev)
install(FILES "${PROJECT_SOURCE_DIR}/include/gprof/analysis.h" "${PROJECT_SOURCE_DIR}/include/gprof/calibration.h"
              "${PROJECT_SOURCE_DIR}/include/gprof/error.h"
              "${PROJECT_SOURCE_DIR}/include/gprof/events.h" "${PROJECT_SOURCE_DIR}/include/gprof/fact.h"
              "${PROJECT_SOURCE_DIR}/include/gprof/library.h"
              "${PROJECT_SOURCE_DIR}/include/gprof/packed.h" "${PROJECT_SOURCE_DIR}/include/gprof/packed_list.h"
              "${PROJECT_SOURCE_DIR}/include/gprof/packed_ranges.h"
              "${PROJECT_SOURCE_DIR}/include/gprof/fields.h" "${PROJECT_SOURCE_DIR}/include/gprof/lists.h"
              "${PROJECT_SOURCE_DIR}/include/gprof/host_activity.h"
              "${PROJECT_SOURCE_DIR}/include/gprof/kernel_counters.h"
              "${PROJECT_SOURCE_DIR}/include/gprof/metric_tracks.h"
              "${PROJECT_SOURCE_DIR}/include/gprof/prefetch.h"
              "${PROJECT_SOURCE_DIR}/include/gprof/trace.h"
              "${PROJECT_BINARY_DIR}/include/gprof/version.h"
        DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/gprof" COMPONENT dev)
# The pages and examples of gprof-cli leave out the files of the build; this example is about one.
install(FILES "${PROJECT_SOURCE_DIR}/examples/library/CMakeLists.txt"
        DESTINATION "${CMAKE_INSTALL_DOCDIR}/examples/library" COMPONENT dev)

# What is installed, and the .deb, .rpm and .tar.gz that hold it (`cpack --preset release`). docs/install.md has the other
# channels; what they are made with is in package/.
#
# Component gprof is the tool. Component examples holds the example programs: they carry code for several GPU generations,
# which would be most of the size, so they are a package of their own.

if(TARGET gprof-cli)
  install(TARGETS gprof-cli RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT gprof)
  if(GPROF_STATIC_RUNTIME AND NOT GPROF_SANITIZE)
    target_link_options(gprof-cli PRIVATE -static-libstdc++ -static-libgcc)
  endif()
endif()

install(DIRECTORY include/gprof/trace DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/gprof" COMPONENT gprof)
install(DIRECTORY include/gprof_cli DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT gprof)
# Laid out as in the repository, so that the links between pages hold.
install(DIRECTORY docs examples kernels DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT gprof
        PATTERN CMakeLists.txt EXCLUDE PATTERN __pycache__ EXCLUDE)
# What agents read to learn the loop; wheels have it as well.
install(DIRECTORY docs/skills DESTINATION "${CMAKE_INSTALL_DATADIR}/gprof-cli" COMPONENT gprof)
install(FILES README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT gprof)
if(TARGET gprof-cli)
  set(completions "${PROJECT_BINARY_DIR}/completions")
  foreach(shell bash zsh fish)
    add_custom_command(OUTPUT "${completions}/${shell}" DEPENDS gprof-cli VERBATIM
      COMMAND "${CMAKE_COMMAND}" -E make_directory "${completions}"
      COMMAND gprof-cli completion ${shell} > "${completions}/${shell}")
  endforeach()
  add_custom_target(completions ALL DEPENDS "${completions}/bash" "${completions}/zsh" "${completions}/fish")
  install(FILES "${completions}/bash" RENAME gprof-cli
          DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions" COMPONENT gprof)
  install(FILES "${completions}/zsh" RENAME _gprof-cli
          DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/site-functions" COMPONENT gprof)
  install(FILES "${completions}/fish" RENAME gprof-cli.fish
          DESTINATION "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d" COMPONENT gprof)
endif()

# `man gprof-cli-report`: made from the pages of the commands, where there is a Python to make them.
find_package(Python3 QUIET COMPONENTS Interpreter)
if(Python3_FOUND)
  file(GLOB pages CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/docs/commands/*.md")
  set(manuals)
  foreach(page ${pages})
    get_filename_component(command "${page}" NAME_WE)
    set(manual "${PROJECT_BINARY_DIR}/man/gprof-cli-${command}.1.gz")
    set(script "${PROJECT_SOURCE_DIR}/src/cmake/package/man_page.py")
    add_custom_command(OUTPUT "${manual}" DEPENDS "${page}" "${script}" VERBATIM
      COMMAND "${CMAKE_COMMAND}" -E make_directory "${PROJECT_BINARY_DIR}/man"
      COMMAND "${Python3_EXECUTABLE}" -B "${script}" "${page}" "gprof-cli-${command}" "${PROJECT_VERSION}" > "${manual}")
    list(APPEND manuals "${manual}")
  endforeach()
  add_custom_target(manuals ALL DEPENDS ${manuals})
  install(FILES ${manuals} DESTINATION "${CMAKE_INSTALL_MANDIR}/man1" COMPONENT gprof)
endif()

# gprof_licences(COMPONENT FOLDER PARTS...): each package has our licence and those of what is in its files, all that
# gprof-cli contains without PARTS.
function(gprof_licences component folder)
  install(FILES LICENSE DESTINATION "${folder}" RENAME copyright COMPONENT ${component})
  if(NOT Python3_FOUND)
    return()
  endif()
  set(out "${PROJECT_BINARY_DIR}/licences/${component}")
  set(script "${PROJECT_SOURCE_DIR}/src/cmake/package/licences.py")
  add_custom_command(OUTPUT "${out}/third-party-licences.txt" VERBATIM
    DEPENDS "${script}" "${PROJECT_SOURCE_DIR}/src/cmake/package/sbom.py"
    COMMAND "${CMAKE_COMMAND}" -E make_directory "${out}"
    COMMAND "${CMAKE_COMMAND}" -E env "CXX=${CMAKE_CXX_COMPILER}" "GPROF_CUDA_INCLUDE=${GPROF_CUPTI_INCLUDE}"
            "${Python3_EXECUTABLE}" -B "${script}" ${ARGN} > "${out}/third-party-licences.txt")
  add_custom_target(licences_${component} ALL DEPENDS "${out}/third-party-licences.txt")
  install(FILES "${out}/third-party-licences.txt" DESTINATION "${folder}" COMPONENT ${component})
endfunction()
gprof_licences(gprof "${CMAKE_INSTALL_DOCDIR}")
if(GPROF_BUILD_EXAMPLES)
  set(gprof_parts_of_examples libstdc++ libgcc NVTX)
  if(GPROF_HAVE_CUDA)
    list(APPEND gprof_parts_of_examples "CUDA runtime")
  endif()
  gprof_licences(examples "${CMAKE_INSTALL_DOCDIR}-examples" ${gprof_parts_of_examples})
endif()

set(CPACK_GENERATOR "DEB;TGZ")
find_program(GPROF_RPMBUILD rpmbuild)
if(GPROF_RPMBUILD)
  list(APPEND CPACK_GENERATOR RPM)
endif()
set(CPACK_PACKAGE_NAME gprof-cli)
set(CPACK_PACKAGE_VENDOR "The gprof-cli developers")
set(CPACK_PACKAGE_CONTACT "The gprof-cli developers <gprof-cli@users.noreply.github.com>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_RESOURCE_FILE_LICENSE "${PROJECT_SOURCE_DIR}/LICENSE")
set(CPACK_STRIP_FILES ON)
set(CPACK_PROJECT_CONFIG_FILE "${CMAKE_CURRENT_LIST_DIR}/package/cpack_generator.cmake")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_COMPONENTS_ALL gprof)
if(GPROF_BUILD_EXAMPLES)
  list(APPEND CPACK_COMPONENTS_ALL examples)
endif()
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_ARCHIVE_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_GPROF_PACKAGE_NAME gprof-cli)
set(CPACK_DEBIAN_EXAMPLES_PACKAGE_NAME gprof-cli-examples)
set(CPACK_COMPONENT_EXAMPLES_DESCRIPTION "Example programs for gprof-cli")
set(CPACK_COMPONENT_GPROF_DESCRIPTION "${PROJECT_DESCRIPTION}")
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
if(CMAKE_CROSSCOMPILING AND CMAKE_SYSTEM_PROCESSOR STREQUAL aarch64)
  # Otherwise it would be that of the machine that packs.
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE arm64)
  set(CPACK_RPM_PACKAGE_ARCHITECTURE aarch64)
endif()
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
if(GPROF_OLD_GLIBC)
  # dpkg-shlibdeps asks for the glibc in which a function came to libc.so.6, and not for that which has its version.
  set(CPACK_DEBIAN_GPROF_PACKAGE_SHLIBDEPS OFF)
  set(CPACK_DEBIAN_GPROF_PACKAGE_DEPENDS "libc6 (>= 2.28)")
endif()
# The tracer takes the program's own libcupti; a machine without one records NVTX alone.
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "nvidia-cuda-toolkit")
set(CPACK_RPM_COMPONENT_INSTALL ON)
set(CPACK_RPM_MAIN_COMPONENT gprof)
set(CPACK_RPM_FILE_NAME RPM-DEFAULT)
set(CPACK_RPM_PACKAGE_LICENSE Apache-2.0)
set(CPACK_RPM_PACKAGE_GROUP Development/Debuggers)
set(CPACK_RPM_GPROF_PACKAGE_NAME gprof-cli)
set(CPACK_RPM_EXAMPLES_PACKAGE_NAME gprof-cli-examples)
# Folders of the system belong to its own package.
set(CPACK_RPM_EXCLUDE_FROM_AUTO_FILELIST_ADDITION
    /usr/share/man /usr/share/man/man1 /usr/share/zsh /usr/share/zsh/site-functions /usr/share/fish
    /usr/share/fish/vendor_completions.d /usr/share/bash-completion /usr/share/bash-completion/completions)
# Stripped already, and a package of debug symbols would be most of the build.
set(CPACK_RPM_SPEC_MORE_DEFINE "%define _build_id_links none")
set(gprof_archive_suffix "${PROJECT_VERSION}-${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR}")
set(CPACK_ARCHIVE_GPROF_FILE_NAME "gprof-cli-${gprof_archive_suffix}")
set(CPACK_ARCHIVE_EXAMPLES_FILE_NAME "gprof-cli-examples-${gprof_archive_suffix}")
include(CPack)

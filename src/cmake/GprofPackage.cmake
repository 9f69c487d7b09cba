# What is installed, and the .deb and .tar.gz that hold it (`cpack --preset release`).
#
# Everything is one component, so that libraries which a dependency installs never get into a package. The example
# programs are installed as sources: their binaries hold code for several GPU generations and would be most of the size.

if(TARGET gprof-cli)
  install(TARGETS gprof-cli RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT gprof)
  if(GPROF_STATIC_RUNTIME AND NOT GPROF_SANITIZE)
    target_link_options(gprof-cli PRIVATE -static-libstdc++ -static-libgcc)
  endif()
endif()

install(DIRECTORY examples kernels DESTINATION "${GPROF_SHARE_DIR}" COMPONENT gprof
        PATTERN CMakeLists.txt EXCLUDE PATTERN __pycache__ EXCLUDE)
install(DIRECTORY include/gprof/trace DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/gprof" COMPONENT gprof)
install(DIRECTORY docs/ DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT gprof FILES_MATCHING PATTERN "*.md")
install(FILES README.md CHANGELOG.md DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT gprof)
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DOCDIR}" RENAME copyright COMPONENT gprof)
install(FILES src/cmake/package/gprof-cli.bash RENAME gprof-cli
        DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions" COMPONENT gprof)
install(FILES src/cmake/package/gprof-cli.zsh RENAME _gprof-cli
        DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/site-functions" COMPONENT gprof)
install(FILES src/cmake/package/gprof-cli.fish
        DESTINATION "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d" COMPONENT gprof)

set(CPACK_GENERATOR "DEB;TGZ")
set(CPACK_PACKAGE_NAME gprof-cli)
set(CPACK_PACKAGE_VENDOR "The gprof-cli developers")
set(CPACK_PACKAGE_CONTACT "The gprof-cli developers <gprof-cli@users.noreply.github.com>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_RESOURCE_FILE_LICENSE "${PROJECT_SOURCE_DIR}/LICENSE")
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_COMPONENTS_ALL gprof)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_ARCHIVE_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# The tracer takes the program's own libcupti; a machine without one records NVTX alone.
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "nvidia-cuda-toolkit")
set(CPACK_ARCHIVE_FILE_NAME "gprof-cli-${PROJECT_VERSION}-${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR}")
include(CPack)

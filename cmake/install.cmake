# What `cmake --install` puts where. Relocatable: the pkg-config file and the CMake package find themselves.
#
#   find_package(tern)                     -> tern::tern    the shared library (the static one if that is all)
#   find_package(tern COMPONENTS static)   -> tern::static  and what it needs

include(CMakePackageConfigHelpers)

file(GLOB public_headers CONFIGURE_DEPENDS include/tern/*.h)
install(FILES ${public_headers} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tern)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tern)
install(TARGETS tern_static EXPORT tern-static-targets ARCHIVE)
# CMake strips programs and shared libraries by itself. -S is -g of GNU's strip, and the only word for it of macOS'.
if(CMAKE_STRIP)
    install(CODE "if(CMAKE_INSTALL_DO_STRIP)
    set(archive \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/$<TARGET_FILE_NAME:tern_static>\")
    execute_process(COMMAND \"${CMAKE_STRIP}\" -S \"\${archive}\" COMMAND_ERROR_IS_FATAL ANY)
endif()")
endif()
install(EXPORT tern-static-targets NAMESPACE tern:: DESTINATION ${package_dir})
if(TERN_SHARED)
    install(TARGETS tern_shared EXPORT tern-targets LIBRARY)
    install(EXPORT tern-targets NAMESPACE tern:: DESTINATION ${package_dir})
endif()

configure_package_config_file(cmake/tern-config.cmake.in ${PROJECT_BINARY_DIR}/tern-config.cmake
                              INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/tern-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/tern-config.cmake ${PROJECT_BINARY_DIR}/tern-config-version.cmake
        DESTINATION ${package_dir})

set(pc_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH pc_to_prefix /prefix/${pc_dir} /prefix)
string(REGEX REPLACE "/$" "" pc_to_prefix "${pc_to_prefix}")
list(JOIN TERN_PC_REQUIRES_PRIVATE " " TERN_PC_REQUIRES_PRIVATE)
configure_file(cmake/tern.pc.in ${PROJECT_BINARY_DIR}/tern.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/tern.pc DESTINATION ${pc_dir})

# What --help speaks of: docs/graph-text.md, examples/graphs/mlp.tern. From this folder its examples can be typed as they stand.
install(DIRECTORY docs examples DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES README.md CHANGELOG.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

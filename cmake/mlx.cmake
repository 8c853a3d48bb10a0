# libtern_mlx: the device `mlx`, a plugin of its own that the library loads when it is asked for. The only C++ here, and the only
# thing that links MLX. Without MLX nothing is built, and `tern devices` says so.
#
# MLX is what scripts/install-mlx.sh puts into build/mlx, or whatever MLX_DIR or CMAKE_PREFIX_PATH names. Sanitized builds leave
# the plugin out: MLX and its threads are not instrumented.

set(TERN_MLX_LEAST 0.32)
set(TERN_MLX_BELOW 0.33)

# Leaves the plugin out, and says why: now, and in `tern devices`, where the library does not find one.
macro(tern_leave_mlx_out why)
    message(STATUS "no device `mlx`: ${why}")
    set_property(SOURCE src/devices/devices.c APPEND PROPERTY COMPILE_DEFINITIONS "TERN_LEFT_OUT=\"mlx: ${why}\"")
    return()
endmacro()

if(NOT TERN_MLX)
    tern_leave_mlx_out("this build leaves it out (-DTERN_MLX=OFF)")
elseif(TERN_SANITIZE OR TERN_FUZZ OR CMAKE_CROSSCOMPILING)
    tern_leave_mlx_out("builds with sanitizers or for other machines leave it out")
endif()

# Installed after the first configuration, it is found by the next build.
file(GLOB mlx_installed CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/build/mlx/mlx/share/cmake/MLX/MLXConfig.cmake)
set(FPHSA_NAME_MISMATCHED ON) # its file asks for more than its name
find_package(MLX ${TERN_MLX_LEAST} CONFIG QUIET HINTS ${PROJECT_SOURCE_DIR}/build/mlx/mlx)
set(mlx_remedy "scripts/install-deps.sh mlx installs it, then build again")
if(NOT MLX_FOUND AND MLX_CONSIDERED_VERSIONS)
    tern_leave_mlx_out("this build found MLX ${MLX_CONSIDERED_VERSIONS}, and needs ${TERN_MLX_LEAST}: ${mlx_remedy}")
elseif(NOT MLX_FOUND)
    tern_leave_mlx_out("this build found no MLX ${TERN_MLX_LEAST}: ${mlx_remedy}")
elseif(NOT MLX_VERSION VERSION_LESS TERN_MLX_BELOW)
    tern_leave_mlx_out("this build found MLX ${MLX_VERSION}, and needs one below ${TERN_MLX_BELOW}: ${mlx_remedy}")
endif()
include(CheckLanguage)
check_language(CXX)
if(NOT CMAKE_CXX_COMPILER)
    tern_leave_mlx_out("this build found no C++ compiler, which its plugin needs: ${mlx_remedy}")
endif()
enable_language(CXX)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()

file(GLOB mlx_sources CONFIGURE_DEPENDS src/devices/mlx/*.c src/devices/mlx/*.cpp)
tern_name_headers(mlx_sources)
add_library(tern_mlx MODULE ${mlx_sources})
add_dependencies(tern_mlx tern_abi)
set_target_properties(tern_mlx PROPERTIES PREFIX lib CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF
                      C_VISIBILITY_PRESET hidden CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
                      INSTALL_RPATH "$<TARGET_FILE_DIR:mlx>" BUILD_WITH_INSTALL_RPATH ON LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
if(APPLE)
    set_target_properties(tern_mlx PROPERTIES SUFFIX .dylib)
endif()
target_include_directories(tern_mlx PRIVATE include src)
# Its headers count as the system's; the kernels are in the library, so optimising the plugin would only take time.
target_include_directories(tern_mlx SYSTEM PRIVATE ${MLX_INCLUDE_DIRS})
target_compile_options(tern_mlx PRIVATE -O1 -Wall -Wextra -Wshadow $<$<COMPILE_LANGUAGE:C>:-Wconversion>
                       $<$<COMPILE_LANGUAGE:CXX>:-Wno-deprecated-enum-enum-conversion> $<$<BOOL:${werror}>:-Werror>)
target_link_libraries(tern_mlx PRIVATE mlx)
install(TARGETS tern_mlx LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})

# Programs look beside themselves first, then along their own path: test programs in their folders, and what is installed.
set(CMAKE_BUILD_RPATH ${PROJECT_BINARY_DIR})
if(TARGET tern_program)
    # The same in the build: CMake would pad another one with colons, and an empty place is the current directory.
    set_target_properties(tern_program PROPERTIES BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH
                          "$<IF:$<PLATFORM_ID:Darwin>,@loader_path,$ORIGIN>/../${CMAKE_INSTALL_LIBDIR}")
endif()

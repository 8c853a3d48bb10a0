# Compiler flags of everything built here, collected on one interface target, `tern_flags`.
#
# Results must not depend on the compiler: no -march=native, no -ffast-math, and a*b+c is never contracted into
# a fused multiply-add behind our back. errno of math functions is never read.

set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE Release)
endif()
# Without -DNDEBUG: the sources do not use assert(), and a release differs from a debug build only by TERN_DEBUG.
set(CMAKE_C_FLAGS_RELEASE "-O3 -g")

find_program(CCACHE ccache)
mark_as_advanced(CCACHE)
if(CCACHE AND NOT CMAKE_C_COMPILER_LAUNCHER)
    set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE})
endif()

add_library(tern_flags INTERFACE)
target_compile_options(tern_flags INTERFACE
    -Wall -Wextra -Wshadow -Wconversion -Wmissing-prototypes -Wstrict-prototypes
    -ffp-contract=off -fno-math-errno)
target_compile_definitions(tern_flags INTERFACE $<$<CONFIG:Debug>:TERN_DEBUG=1>)

if(TERN_WERROR STREQUAL "AUTO")
    set(werror OFF)
    if((CMAKE_C_COMPILER_ID STREQUAL "GNU" AND CMAKE_C_COMPILER_VERSION MATCHES "^12\\.")
       OR (CMAKE_C_COMPILER_ID STREQUAL "Clang" AND CMAKE_C_COMPILER_VERSION MATCHES "^14\\."))
        set(werror ON)
    endif()
else()
    set(werror ${TERN_WERROR})
endif()
if(werror)
    target_compile_options(tern_flags INTERFACE -Werror)
endif()

# Flags of the shared library alone.
add_library(tern_link_flags INTERFACE)

if(TERN_SANITIZE)
    # Everything, the tests included, runs under the sanitizer; the first finding ends the program.
    add_compile_options(-fsanitize=${TERN_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    add_link_options(-fsanitize=${TERN_SANITIZE})
    if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
        # The instrumentation hides from gcc what it needs to know; the release build gives this warning reliably.
        target_compile_options(tern_flags INTERFACE -Wno-maybe-uninitialized)
    endif()
elseif(CMAKE_SYSTEM_NAME STREQUAL "Linux")
    target_link_options(tern_link_flags INTERFACE -Wl,--no-undefined)
endif()
if(TERN_FUZZ)
    add_compile_options(-fsanitize=fuzzer-no-link)
endif()

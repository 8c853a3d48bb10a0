# What the library needs from the system. Each optional part defines TERN_HAVE_<NAME> to 1 or 0.
# `tern_private_dependencies` reaches the sources; TERN_LINK_LIBRARIES is what a static user links as well,
# TERN_PC_LIBS_PRIVATE and TERN_PC_REQUIRES_PRIVATE the same for pkg-config, TERN_FIND_DEPENDENCIES the same for find_package.

add_library(tern_private_dependencies INTERFACE)
set(TERN_LINK_LIBRARIES "")
set(TERN_PC_LIBS_PRIVATE "")
set(TERN_PC_REQUIRES_PRIVATE "")
set(TERN_FIND_DEPENDENCIES Threads)

# Threads, mathematics, dlopen.
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
list(APPEND TERN_LINK_LIBRARIES Threads::Threads ${CMAKE_DL_LIBS})
if(NOT APPLE)
    list(APPEND TERN_LINK_LIBRARIES m)
endif()
set(TERN_PC_LIBS_PRIVATE "-lm -pthread")
foreach(library IN LISTS CMAKE_DL_LIBS)
    string(APPEND TERN_PC_LIBS_PRIVATE " -l${library}")
endforeach()

# xxHash, used header-only. Its one header is copied into the build, so that a cross build can use the host's
# copy without seeing any other header of the host.
find_path(XXHASH_INCLUDE_DIR xxhash.h)
if(NOT XXHASH_INCLUDE_DIR)
    find_path(XXHASH_INCLUDE_DIR xxhash.h PATHS /usr/include NO_CMAKE_FIND_ROOT_PATH)
endif()
if(NOT XXHASH_INCLUDE_DIR)
    message(FATAL_ERROR "xxhash.h not found: run `make deps`, or install libxxhash-dev (Debian) or xxhash (Homebrew)")
endif()
configure_file(${XXHASH_INCLUDE_DIR}/xxhash.h ${PROJECT_BINARY_DIR}/foreign/xxhash.h COPYONLY)
target_include_directories(tern_private_dependencies SYSTEM INTERFACE ${PROJECT_BINARY_DIR}/foreign)

# zlib: compressed .npz members.
find_package(ZLIB QUIET)
if(ZLIB_FOUND)
    target_compile_definitions(tern_private_dependencies INTERFACE TERN_HAVE_ZLIB=1)
    target_link_libraries(tern_private_dependencies INTERFACE ZLIB::ZLIB)
    list(APPEND TERN_LINK_LIBRARIES ZLIB::ZLIB)
    list(APPEND TERN_FIND_DEPENDENCIES ZLIB)
    string(PREPEND TERN_PC_LIBS_PRIVATE "-lz ")
else()
    message(STATUS "zlib not found: compressed .npz members will be refused")
    target_compile_definitions(tern_private_dependencies INTERFACE TERN_HAVE_ZLIB=0)
endif()

# SQLite: tuning results that outlive the process.
find_package(SQLite3 QUIET)
if(SQLite3_FOUND)
    target_compile_definitions(tern_private_dependencies INTERFACE TERN_HAVE_SQLITE=1)
    target_link_libraries(tern_private_dependencies INTERFACE SQLite::SQLite3)
    list(APPEND TERN_LINK_LIBRARIES SQLite::SQLite3)
    list(APPEND TERN_FIND_DEPENDENCIES SQLite3)
    list(APPEND TERN_PC_REQUIRES_PRIVATE sqlite3)
else()
    message(STATUS "SQLite not found: tuning results will last as long as the process")
    target_compile_definitions(tern_private_dependencies INTERFACE TERN_HAVE_SQLITE=0)
endif()

# tern_find_library(NAME header library pkg-config-name what-is-lost): a library that has no module of CMake's.
macro(tern_find_library name header library pc lost)
    find_path(${name}_INCLUDE_DIR ${header})
    find_library(${name}_LIBRARY ${library})
    if(${name}_INCLUDE_DIR AND ${name}_LIBRARY)
        target_compile_definitions(tern_private_dependencies INTERFACE TERN_HAVE_${name}=1)
        target_include_directories(tern_private_dependencies SYSTEM INTERFACE ${${name}_INCLUDE_DIR})
        list(APPEND TERN_LINK_LIBRARIES ${${name}_LIBRARY})
        list(APPEND TERN_PC_REQUIRES_PRIVATE ${pc})
    else()
        message(STATUS "${library} not found: ${lost}")
        target_compile_definitions(tern_private_dependencies INTERFACE TERN_HAVE_${name}=0)
    endif()
endmacro()

tern_find_library(JANSSON jansson.h jansson jansson "safetensors and tokenizer.json will be refused")
tern_find_library(PCRE2 pcre2.h pcre2-8 libpcre2-8 "tokenizers of LLaMA-3 and GPT-2 will be refused")

# OpenCL: its headers alone, since the library is loaded when it is asked for. Installed after the first configuration, they are found
# by the next build, as __has_include would not be: a header that was not there is no dependency of what asked for it.
set(opencl_headers "")
foreach(folder IN LISTS CMAKE_C_IMPLICIT_INCLUDE_DIRECTORIES)
    file(GLOB found CONFIGURE_DEPENDS ${folder}/CL/cl.h)
    list(APPEND opencl_headers ${found})
endforeach()
if(opencl_headers)
    target_compile_definitions(tern_private_dependencies INTERFACE TERN_HAVE_OPENCL=1)
else()
    message(STATUS "OpenCL's headers not found: no device `opencl`; scripts/install-deps.sh opencl installs them")
    target_compile_definitions(tern_private_dependencies INTERFACE TERN_HAVE_OPENCL=0)
endif()

# Which kernel files are built, and with which instruction sets.
#
# Only files in folders x86 and arm (of kernels, and of measure, which probes what kernels could reach) get ISA flags,
# chosen by the file name's last word: ternary_t2_avx512vnni.c is compiled for AVX-512 VNNI. Everything else is baseline
# code for its architecture.

set(TERN_ISA_sse42      -msse4.2)
set(TERN_ISA_avx2       -mavx2 -mfma -mf16c -mbmi -mbmi2)
set(TERN_ISA_avxvnni    ${TERN_ISA_avx2} -mavxvnni)
set(TERN_ISA_avx512     ${TERN_ISA_avx2} -mavx512f -mavx512bw -mavx512dq -mavx512vl)
set(TERN_ISA_avx512vnni ${TERN_ISA_avx512} -mavx512vnni)
set(TERN_ISA_avx512vbmi ${TERN_ISA_avx512vnni} -mavx512vbmi)
set(TERN_ISA_amx        ${TERN_ISA_avx512vbmi} -mgfni -mamx-tile -mamx-int8)
set(TERN_ISA_neon       "")
set(TERN_ISA_neondot    -march=armv8.2-a+dotprod)

if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|amd64|AMD64)$")
    set(TERN_ARCH x86)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
    set(TERN_ARCH arm)
else()
    set(TERN_ARCH other)
endif()

# AMX: where Linux gives its tiles to a process, and where the compiler knows them. TERN__AMX says so to the tables.
if(TERN_ARCH STREQUAL "x86" AND CMAKE_SYSTEM_NAME STREQUAL "Linux")
    include(CheckCCompilerFlag)
    check_c_compiler_flag("-mgfni -mamx-tile -mamx-int8" TERN_AMX)
    if(TERN_AMX)
        add_compile_definitions(TERN__AMX)
    endif()
endif()

# Drops the kernels of other architectures, and of sets that this build has not, from the list variable `sources`.
function(tern_keep_this_architecture sources)
    set(kept ${${sources}})
    foreach(arch x86 arm)
        if(NOT arch STREQUAL TERN_ARCH)
            list(FILTER kept EXCLUDE REGEX "/src/(kernels|measure)/${arch}/")
        endif()
    endforeach()
    if(NOT TERN_AMX)
        list(FILTER kept EXCLUDE REGEX "_amx\\.c$")
    endif()
    set(${sources} ${kept} PARENT_SCOPE)
endfunction()

function(tern_set_isa_flags)
    foreach(source IN LISTS ARGN)
        if(source MATCHES "/src/(kernels|measure)/(x86|arm)/.*_([a-z0-9]+)\\.c$")
            set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS ${TERN_ISA_${CMAKE_MATCH_3}})
        endif()
        # Probes are hundreds of loops over blocks of their own: sanitizers find nothing there and take minutes to build.
        if(TERN_SANITIZE AND source MATCHES "/src/measure/.*probes_[a-z0-9]+\\.c$")
            set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS -fno-sanitize=all)
        endif()
        # What the fuzz targets parse decides nothing inside a kernel: their search counts no branches there.
        if(TERN_FUZZ AND source MATCHES "/src/kernels/")
            set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS -fno-sanitize=fuzzer-no-link)
        endif()
    endforeach()
endfunction()

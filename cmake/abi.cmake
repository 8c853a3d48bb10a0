# What a plugin and the library have to agree on: generated/device_abi.c, which defines tern__device_abi, a hash of all headers and tables
# that a plugin might include. Structures, signatures and rows of ops change in those; nobody has to remember a number. That a comment
# changes it too is no matter: plugins are built and shipped with their library.
#
# Included, it gives tern_name_headers(VARIABLE), which appends that source to the list; as a script (cmake -P, by that function's
# command) it writes the source.

function(tern_name_headers list)
    file(GLOB_RECURSE headers CONFIGURE_DEPENDS src/*.h src/*.def include/tern/*.h)
    set(output ${PROJECT_BINARY_DIR}/generated/device_abi.c)
    set(script ${PROJECT_SOURCE_DIR}/cmake/abi.cmake)
    if(NOT TARGET tern_abi) # one command, though several libraries have the source
        add_custom_command(OUTPUT ${output} DEPENDS ${headers} ${script} VERBATIM
                           COMMAND ${CMAKE_COMMAND} "-DHEADERS=${headers}" "-DOUTPUT=${output}" -P ${script}
                           COMMENT "Naming the headers")
        add_custom_target(tern_abi DEPENDS ${output})
    endif()
    set(${list} ${${list}} ${output} PARENT_SCOPE)
endfunction()

if(CMAKE_SCRIPT_MODE_FILE AND DEFINED OUTPUT)
    set(hashes "")
    foreach(header IN LISTS HEADERS)
        file(SHA256 ${header} hash)
        string(APPEND hashes ${hash})
    endforeach()
    string(SHA256 all "${hashes}")
    file(WRITE ${OUTPUT} "/* Made by cmake/abi.cmake from all headers. */\nextern const char tern__device_abi[];\n"
                         "const char tern__device_abi[] = \"${all}\";\n")
endif()

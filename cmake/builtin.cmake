# The model that is part of the program. tern_embed_model(SOURCE) tells SOURCE, a C file that includes the bytes by the
# assembler's .incbin, where the file is and what it is called; without the file nothing is told, and the program has no model.
# The file is looked for at every build, and the source is compiled again when it changes.

set(TERN_BUILTIN_MODEL models/shakespeare.gguf CACHE STRING
    "Model that is part of the program, GGUF; empty: none")

function(tern_embed_model source)
    if(NOT TERN_BUILTIN_MODEL)
        return()
    endif()
    file(REAL_PATH "${TERN_BUILTIN_MODEL}" path BASE_DIRECTORY ${PROJECT_SOURCE_DIR})
    file(GLOB found CONFIGURE_DEPENDS ${path})
    if(NOT found AND NOT TERN_BUILTIN_MODEL STREQUAL models/shakespeare.gguf)
        message(FATAL_ERROR "TERN_BUILTIN_MODEL: there is no ${path}")
    elseif(NOT found)
        message(STATUS "${TERN_BUILTIN_MODEL} is not there: no model is built in")
        return()
    endif()
    cmake_path(GET path STEM name)
    set_source_files_properties(${source} PROPERTIES OBJECT_DEPENDS ${path}
                                COMPILE_DEFINITIONS "BUILTIN_PATH=\"${path}\";BUILTIN_NAME=\"${name}\"")
endfunction()

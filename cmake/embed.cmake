# Text files that are part of the library (styles and scripts of the pages that it writes), as C: src/**/NAME.css becomes
# tern__NAME_css, a terminated string. As bytes, so that no compiler's limit on the length of strings matters.
#
# Included, it gives tern_embed_assets(VARIABLE), which appends the generated source to the list; as a script
# (cmake -P, by that function's command) it writes the source.

function(tern_embed_assets list)
    file(GLOB_RECURSE assets CONFIGURE_DEPENDS src/*.css src/*.js)
    set(output ${PROJECT_BINARY_DIR}/generated/assets.c)
    set(script ${PROJECT_SOURCE_DIR}/cmake/embed.cmake)
    add_custom_command(OUTPUT ${output} DEPENDS ${assets} ${script} VERBATIM
                       COMMAND ${CMAKE_COMMAND} "-DASSETS=${assets}" "-DOUTPUT=${output}" -P ${script}
                       COMMENT "Embedding styles and scripts")
    set(${list} ${${list}} ${output} PARENT_SCOPE)
endfunction()

if(CMAKE_SCRIPT_MODE_FILE AND DEFINED OUTPUT)
    set(source "/* Made by cmake/embed.cmake from the styles and scripts under src/. */\n")
    foreach(asset IN LISTS ASSETS)
        cmake_path(GET asset FILENAME name)
        string(MAKE_C_IDENTIFIER ${name} name)
        file(READ ${asset} bytes HEX)
        string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," bytes "${bytes}")
        string(REGEX REPLACE "(('\\\\x..',){16})" "\\1\n    " bytes "${bytes}")
        string(APPEND source "\nextern const char tern__${name}[];\nconst char tern__${name}[] = {\n    ${bytes}0};\n")
    endforeach()
    file(WRITE ${OUTPUT} "${source}")
endif()

# The commit that is built, as C: generated/build_commit.c, which defines tern__build_commit.
#
# Included, it gives tern_note_commit(VARIABLE), which appends that source to the list; as a script (cmake -P, at every build) it asks
# git, and writes the source only if the answer is another one: then one file is compiled and the libraries are linked again. Sources
# outside of git, or in somebody else's work tree, have no commit.

function(tern_note_commit list)
    set(output ${PROJECT_BINARY_DIR}/generated/build_commit.c)
    set(script ${PROJECT_SOURCE_DIR}/cmake/commit.cmake)
    add_custom_target(tern_commit BYPRODUCTS ${output} VERBATIM
                      COMMAND ${CMAKE_COMMAND} "-DSOURCE=${PROJECT_SOURCE_DIR}" "-DOUTPUT=${output}" -P ${script}
                      COMMENT "Looking up the commit")
    set_source_files_properties(${output} PROPERTIES GENERATED ON)
    set(${list} ${${list}} ${output} PARENT_SCOPE)
endfunction()

function(tern_ask_git variable)
    execute_process(COMMAND ${GIT} -C ${SOURCE} ${ARGN} OUTPUT_VARIABLE answer ERROR_QUIET RESULT_VARIABLE failed
                    OUTPUT_STRIP_TRAILING_WHITESPACE)
    if(failed)
        set(answer "")
    endif()
    set(${variable} "${answer}" PARENT_SCOPE)
endfunction()

if(CMAKE_SCRIPT_MODE_FILE AND DEFINED OUTPUT)
    find_program(GIT git)
    set(commit "unavailable: built outside git")
    if(GIT AND EXISTS ${SOURCE}/.git)
        tern_ask_git(head rev-parse HEAD)
        tern_ask_git(changes status --porcelain --untracked-files=no)
        if(head AND changes)
            set(commit "${head} with changes")
        elseif(head)
            set(commit "${head}")
        endif()
    endif()
    set(source "/* Made by cmake/commit.cmake. */\nextern const char tern__build_commit[];\n")
    string(APPEND source "const char tern__build_commit[] = \"${commit}\";\n")
    file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "${source}" @ONLY)
endif()

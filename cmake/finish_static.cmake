# finish_static(TARGET): what happens to the static executable behind the linker.
#
# - late_relocations ends the relocations before main() where those of the late parts begin (late.ld).
# - strip removes the symbols.
function(finish_static target)
  if(NOT RDMANET_STATIC)
    return()
  endif()
  if(NOT CMAKE_STRIP)
    message(FATAL_ERROR "no program \"strip\" was found: install binutils, or set CMAKE_STRIP")
  endif()
  if(NOT CMAKE_CROSSCOMPILING)
    add_executable(late_relocations ${CMAKE_SOURCE_DIR}/cmake/late_relocations.cpp)
    add_dependencies(${target} late_relocations)
    add_custom_command(TARGET ${target} POST_BUILD COMMAND late_relocations $<TARGET_FILE:${target}> VERBATIM)
  endif()
  add_custom_command(TARGET ${target} POST_BUILD COMMAND ${CMAKE_STRIP} $<TARGET_FILE:${target}> VERBATIM)
endfunction()

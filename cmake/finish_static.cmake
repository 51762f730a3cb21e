# finish_static(TARGET): what happens to the static executable behind the linker.
#
# - late_relocations moves the relocations of sections ".late.*" (late.cmake) into a table that base::start_late_parts() reads.
# - cache_sizes answers what the C library would ask the processor at each start. It needs the symbols.
# - strip removes the symbols.
function(finish_static target)
  if(NOT RDMANET_STATIC)
    return()
  endif()
  if(NOT CMAKE_STRIP)
    message(FATAL_ERROR "no program \"strip\" was found: install binutils, or set CMAKE_STRIP")
  endif()
  if(NOT CMAKE_CROSSCOMPILING)
    foreach(step late_relocations cache_sizes)
      if(NOT TARGET ${step})
        add_executable(${step} ${CMAKE_SOURCE_DIR}/cmake/${step}.cpp)
      endif()
      add_dependencies(${target} ${step})
      add_custom_command(TARGET ${target} POST_BUILD COMMAND ${step} $<TARGET_FILE:${target}> VERBATIM)
    endforeach()
  endif()
  add_custom_command(TARGET ${target} POST_BUILD COMMAND ${CMAKE_STRIP} $<TARGET_FILE:${target}> VERBATIM)
endfunction()

# Libraries that most calls don't need, and that no call shall wait for at its start. They are in a folder of their
# own, by which the linker script of the static executable (late.ld) knows them.
set(late_folder ${CMAKE_BINARY_DIR}/late_libraries)
file(MAKE_DIRECTORY ${late_folder})

# late_library(NAME LIBRARY TARGET [USES...]): an interface target NAME, which is TARGET, or in the static executable
# the archive LIBRARY by its name in the folder.
function(late_library name library target)
  add_library(${name} INTERFACE)
  if(NOT RDMANET_STATIC)
    target_link_libraries(${name} INTERFACE ${target})
    return()
  endif()
  file(CREATE_LINK ${library} ${late_folder}/lib${name}.a SYMBOLIC)
  target_include_directories(${name} SYSTEM INTERFACE $<TARGET_PROPERTY:${target},INTERFACE_INCLUDE_DIRECTORIES>)
  target_link_libraries(${name} INTERFACE ${late_folder}/lib${name}.a ${ARGN})
endfunction()

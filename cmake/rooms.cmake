# A room is a static library that sees the public headers of the rooms it may use and of no other: its own headers
# and theirs are linked one folder at a time into an include root, so a forbidden include does not compile.

function(add_room name)
  cmake_parse_arguments(ROOM "" "" "SOURCES;USES;LIBRARIES" ${ARGN})
  set(root ${CMAKE_BINARY_DIR}/include-roots/${name}/rdmanet)
  file(MAKE_DIRECTORY ${root})
  file(CREATE_LINK ${CMAKE_SOURCE_DIR}/include/rdmanet/${name} ${root}/${name} SYMBOLIC)

  add_library(${name} STATIC ${ROOM_SOURCES})
  target_include_directories(${name} PUBLIC ${CMAKE_BINARY_DIR}/include-roots/${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(${name} PUBLIC ${ROOM_USES} PRIVATE ${ROOM_LIBRARIES})
endfunction()

# Unit tests of a room: one executable "<room>_test", Catch2. Target "unit_tests" builds them all.
add_custom_target(unit_tests)
function(add_room_test name)
  add_executable(${name}_test ${ARGN})
  target_link_libraries(${name}_test PRIVATE ${name} test_reporter)
  add_dependencies(unit_tests ${name}_test)
  add_test(NAME ${name} COMMAND ${name}_test -r progress)
endfunction()

# A module is a static library. It sees its own public headers and those of the modules in its USES, but not those that
# these use. A module's headers are linked into an include root, so a forbidden include does not compile.

# In a unity build, what most files include is precompiled once. Without it each module would spend two seconds on these
# headers. The preset debug does not precompile them, and thereby finds missing includes. An executable is compiled like
# the libraries here, because compilers refuse a header that was precompiled with other options.
set(common_headers <algorithm> <chrono> <cstdint> <functional> <map> <memory> <optional> <set> <string> <string_view>
                   <thread> <utility> <variant> <vector> <rdmanet/base/format.hpp>)
function(share_headers target)
  if(NOT CMAKE_UNITY_BUILD)
    return()
  endif()
  get_target_property(type ${target} TYPE)
  if(type STREQUAL EXECUTABLE)
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(${target} PRIVATE -fPIC)
  endif()
  if(target STREQUAL base)
    target_precompile_headers(base PRIVATE ${common_headers})
  else()
    target_precompile_headers(${target} REUSE_FROM base)
  endif()
endfunction()

function(add_module name)
  cmake_parse_arguments(MODULE "" "" "SOURCES;USES;PARTS;LIBRARIES" ${ARGN})
  set(root ${CMAKE_BINARY_DIR}/include-roots/${name}/rdmanet)
  file(MAKE_DIRECTORY ${root})
  file(CREATE_LINK ${CMAKE_SOURCE_DIR}/include/rdmanet/${name} ${root}/${name} SYMBOLIC)

  add_library(${name} STATIC ${MODULE_SOURCES})
  target_include_directories(${name} PUBLIC ${CMAKE_BINARY_DIR}/include-roots/${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  list(TRANSFORM MODULE_PARTS PREPEND ${name}_)
  target_link_libraries(${name} PRIVATE ${MODULE_USES} ${MODULE_PARTS} ${MODULE_LIBRARIES})
  share_headers(${name})
endfunction()

# A part of a module is a folder in it. Its headers are included as "PART/HEADER.hpp". A part sees the public headers of
# the modules that it may use, the listed HEADERS of its own module, and the parts that it may use. CMake therefore
# enforces the arrows between parts like those between modules. A module sees all of its parts.
function(add_part module name)
  cmake_parse_arguments(PART "" "" "SOURCES;HEADERS;USES;PARTS" ${ARGN})
  set(root ${CMAKE_BINARY_DIR}/include-roots/${module}_${name})
  file(MAKE_DIRECTORY ${root}/rdmanet/${module})
  file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR} ${root}/${name} SYMBOLIC)
  foreach(header ${PART_HEADERS})
    file(CREATE_LINK ${CMAKE_SOURCE_DIR}/include/rdmanet/${module}/${header} ${root}/rdmanet/${module}/${header} SYMBOLIC)
  endforeach()

  add_library(${module}_${name} STATIC ${PART_SOURCES})
  target_include_directories(${module}_${name} PUBLIC ${root})
  list(TRANSFORM PART_PARTS PREPEND ${module}_)
  target_link_libraries(${module}_${name} PRIVATE ${PART_USES} ${PART_PARTS})
  share_headers(${module}_${name})
endfunction()

# Tests are neither optimised nor checked for undefined behaviour. The code that they test is checked.
set(test_options -O0 -fno-sanitize=undefined)

# A test sees all that these modules see, and their own folders.
function(look_into target)
  target_link_libraries(${target} PRIVATE ${ARGN})
  foreach(module ${ARGN})
    target_include_directories(${target} PRIVATE $<TARGET_PROPERTY:${module},INCLUDE_DIRECTORIES>)
  endforeach()
endfunction()

# Unit tests of a module: one executable "<module>_test", Catch2. Target "unit_tests" builds them all.
add_custom_target(unit_tests)
function(add_module_test name)
  add_executable(${name}_test ${ARGN})
  look_into(${name}_test ${name})
  use_test_headers(${name}_test)
  add_dependencies(unit_tests ${name}_test)
  add_test(NAME ${name} COMMAND ${name}_test -r progress)
endfunction()

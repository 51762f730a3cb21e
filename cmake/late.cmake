# Parts of the static executable that most calls don't need, and that no call shall wait for at its start.
#
# Two things happen before main(): static constructors run, and the executable, which is static-PIE, relocates its tables of
# pointers. A page that has such a table is copied for that, and OpenSSL has 90 of them. In its section .init, OpenSSL also asks the
# processor what it is, which takes long in a virtual machine. Copies of the libraries have both
# in sections of their own, which base::start_late_parts() attends to. Elsewhere than in the static executable it does
# nothing.
#
# libnl's part for routes and libibverbs' providers also have destructors. They would run at the end of every call, over
# what has not been started, and would only free memory. The copies have none.

# late_library(NAME LIBRARY TARGET): an interface target NAME, which is TARGET, or in the static executable a late copy of the
# archive LIBRARY.
function(late_library name library target)
  add_library(${name} INTERFACE)
  if(NOT RDMANET_STATIC)
    target_link_libraries(${name} INTERFACE ${target})
    return()
  endif()
  set(late ${CMAKE_BINARY_DIR}/lib${name}.a)
  set(flags alloc,load,data,contents)
  add_custom_command(OUTPUT ${late}
    COMMAND ${CMAKE_OBJCOPY} --rename-section .init_array=late_constructors,${flags}
            --rename-section .data.rel.ro=.late.data.rel.ro,${flags}
            --rename-section .data.rel.ro.local=.late.data.rel.ro.local,${flags}
            --rename-section .data=.late.data,${flags} --rename-section .data.rel=.late.data.rel,${flags}
            --rename-section .data.rel.local=.late.data.rel.local,${flags} --remove-section .init
            --remove-section .fini_array ${library} ${late}
    DEPENDS ${library} COMMENT "What ${name} does before main() is done later" VERBATIM)
  add_custom_target(make_${name} DEPENDS ${late})
  add_dependencies(${name} make_${name})
  get_target_property(folders ${target} INTERFACE_INCLUDE_DIRECTORIES)
  if(folders)
    target_include_directories(${name} SYSTEM INTERFACE ${folders})
  endif()
  target_link_libraries(${name} INTERFACE ${late} ${ARGN})
endfunction()

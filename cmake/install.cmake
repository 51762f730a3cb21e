# cmake --install: the plugin where runtimes look for it, a link to it for the person on the node, licence, documentation
# and examples.

include(GNUInstallDirs)

# Not below a library directory of the architecture: Debian, openSUSE and Arch have the plugins in /usr/lib/cni. A string,
# because CMake would complete a path from its own working directory.
set(RDMANET_PLUGIN_DIR lib/cni CACHE STRING
    "Where the runtime looks for CNI plugins, below the prefix or absolute: lib/cni (Debian), libexec/cni (Fedora), /opt/cni/bin (upstream)")

install(TARGETS rdmanet RUNTIME DESTINATION ${RDMANET_PLUGIN_DIR})

# Relative as long as both move with the prefix.
if(IS_ABSOLUTE ${RDMANET_PLUGIN_DIR} OR IS_ABSOLUTE ${CMAKE_INSTALL_SBINDIR})
  cmake_path(ABSOLUTE_PATH RDMANET_PLUGIN_DIR BASE_DIRECTORY ${CMAKE_INSTALL_PREFIX} OUTPUT_VARIABLE plugin_dir)
else()
  file(RELATIVE_PATH plugin_dir /${CMAKE_INSTALL_SBINDIR} /${RDMANET_PLUGIN_DIR})
endif()
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/link)
file(CREATE_LINK ${plugin_dir}/rdmanet ${CMAKE_BINARY_DIR}/link/rdmanet SYMBOLIC)
install(FILES ${CMAKE_BINARY_DIR}/link/rdmanet DESTINATION ${CMAKE_INSTALL_SBINDIR})

# Laid out as in the repository, so that every link from page to page works.
install(FILES README.md CHANGELOG.md ARCHITECTURE.md CONTRIBUTING.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES netns-harness/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR}/netns-harness)
install(DIRECTORY conf-examples DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} OPTIONAL)

# cmake --install: the plugin where runtimes look for it, a link to it for a person on the node, licence,
# documentation and examples.

include(GNUInstallDirs)

# Not below the architecture's library directory, because Debian, openSUSE and Arch have the plugins in /usr/lib/cni.
# Type STRING, because CMake would complete a PATH from its own working directory.
set(RDMANET_PLUGIN_DIR lib/cni CACHE STRING
    "Where the runtime looks for CNI plugins, below the prefix or absolute: lib/cni (Debian), libexec/cni (Fedora), /opt/cni/bin (upstream)")

install(TARGETS rdmanet RUNTIME DESTINATION ${RDMANET_PLUGIN_DIR})

# The link is relative if both ends move with the prefix.
if(IS_ABSOLUTE ${RDMANET_PLUGIN_DIR} OR IS_ABSOLUTE ${CMAKE_INSTALL_SBINDIR})
  cmake_path(ABSOLUTE_PATH RDMANET_PLUGIN_DIR BASE_DIRECTORY ${CMAKE_INSTALL_PREFIX} OUTPUT_VARIABLE plugin_dir)
else()
  file(RELATIVE_PATH plugin_dir /${CMAKE_INSTALL_SBINDIR} /${RDMANET_PLUGIN_DIR})
endif()
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/link)
file(CREATE_LINK ${plugin_dir}/rdmanet ${CMAKE_BINARY_DIR}/link/rdmanet SYMBOLIC)
install(FILES ${CMAKE_BINARY_DIR}/link/rdmanet DESTINATION ${CMAKE_INSTALL_SBINDIR})

# The layout is the repository's, so that links between pages work.
install(FILES README.md CHANGELOG.md ARCHITECTURE.md CONTRIBUTING.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES netns-harness/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR}/netns-harness)
install(DIRECTORY conf-examples DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} OPTIONAL)

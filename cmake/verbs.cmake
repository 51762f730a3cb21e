# Target "verbs": libibverbs, which talks to RDMA devices. Its providers know the hardware. Shared, libibverbs loads them.
# The static executable has all of them in it (infiniband/verbs.h, RDMA_STATIC_PROVIDERS), because it loads nothing.
if(NOT RDMANET_STATIC)
  late_library(verbs "" PkgConfig::LIBIBVERBS)
  return()
endif()

set(providers bnxt_re cxgb4 efa erdma hfi1verbs hns ipathverbs irdma mana mlx4 mlx5 mthca ocrdma qedr rxe siw vmw_pvrdma)
set(all_verbs ${late_folder}/libverbs.a)
set(script "CREATE ${all_verbs}\n")
foreach(provider ${providers})
  # Providers that have functions for programs are libraries with a plain name.
  find_library(RDMANET_PROVIDER_${provider} NAMES ${provider}-rdmav34 ${provider} REQUIRED NO_CACHE)
  string(APPEND script "ADDLIB ${RDMANET_PROVIDER_${provider}}\n")
endforeach()
set(script_file ${CMAKE_BINARY_DIR}/libverbs_all.mri)
file(CONFIGURE OUTPUT ${script_file} CONTENT "${script}ADDLIB ${pkgcfg_lib_LIBIBVERBS_ibverbs}\nSAVE\nEND\n" @ONLY)
add_custom_command(OUTPUT ${all_verbs}
  COMMAND sh -c "'${CMAKE_AR}' -M <'${script_file}'"
  DEPENDS ${script_file} COMMENT "One archive of libibverbs and its providers" VERBATIM)

find_library(RDMANET_LIBNL_ROUTE nl-route-3 REQUIRED NO_CACHE) # of libnl: routes and neighbours, for providers
late_library(nl_route ${RDMANET_LIBNL_ROUTE} PkgConfig::LIBNL PkgConfig::LIBNL)
add_custom_target(make_verbs DEPENDS ${all_verbs})
add_library(verbs INTERFACE)
add_dependencies(verbs make_verbs)
target_include_directories(verbs SYSTEM INTERFACE $<TARGET_PROPERTY:PkgConfig::LIBIBVERBS,INTERFACE_INCLUDE_DIRECTORIES>)
target_link_libraries(verbs INTERFACE ${all_verbs} nl_route)
list(JOIN providers "," providers)
target_compile_definitions(verbs INTERFACE RDMA_STATIC_PROVIDERS=${providers})

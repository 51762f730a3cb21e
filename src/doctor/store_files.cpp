#include "store_files.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/base/file.hpp>
#include <rdmanet/kube/access.hpp>

#include <cstddef>
#include <string_view>

namespace rdmanet::doctor {
namespace {

constexpr std::size_t kMost = std::size_t{1} << 20U;
constexpr const char* kCure = "write it on this node, or correct its path in the network or in the node's file";

/// A message with the host's own path where it has the path from here.
std::string as_on_host(std::string text, const std::string& from_here, const std::string& file) {
    if (const std::size_t at = text.find(from_here); at != std::string::npos) text.replace(at, from_here.size(), file);
    return text;
}

/// Whether it is there. Throws base::SystemError if it must not be read.
bool require_file(const std::string& place, std::string_view what, const std::string& file, const Context& context,
                  Findings& found) {
    if (base::read_named_file_if_exists(context.path(file), kMost)) return true;
    found.warning(place, fmt::format("its {} {} is missing on this node, so ADD fails here", what, file), kCure);
    return false;
}

void examine_kubeconfig(const std::string& place, const std::string& file, const Context& context, Findings& found) {
    if (file.empty() || !require_file(place, "kubeconfig", file, context, found)) return;
    const std::string path = context.path(file);
    try {
        (void)kube::read_kubeconfig(path);
    } catch (const kube::KubeconfigError& error) {
        found.warning(place, fmt::format("ADD fails here: {}", as_on_host(error.what(), path, file)), "correct it");
    }
}

} // namespace

void examine_store_files(const std::string& place, const ipam::StoreChoice& store, const Context& context,
                         Findings& found) {
    if (store.kind == ipam::StoreKind::whereabouts || store.kind == ipam::StoreKind::blocks)
        examine_kubeconfig(place, store.kubeconfig, context, found);
    if (store.kind != ipam::StoreKind::etcd) return;
    struct File {
        std::string_view what;
        const std::string& path;
    };
    for (const File& file :
         {File{"CA of etcd", store.etcd.ca}, File{"client certificate for etcd", store.etcd.certificate},
          File{"key for etcd", store.etcd.key}, File{"password file of etcd", store.etcd.password_file}})
        if (!file.path.empty()) (void)require_file(place, file.what, file.path, context, found);
}

} // namespace rdmanet::doctor

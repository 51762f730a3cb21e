#include "configured_node.hpp"

#include "attachment_stage.hpp"
#include "cluster_stage.hpp"
#include "markdown.hpp"

#include "support/concat.hpp"
#include "support/process.hpp"

#include <filesystem>
#include <fstream>

namespace rdmanet::test {

NodeOfCluster::NodeOfCluster() {
    std::filesystem::create_directories(kNodeFiles);
    shell(concat("cp ", source_path("conf-examples/rdmanet.conf"), ' ', cluster(), "/pki/ca.crt ", kNodeFiles,
                 " && echo rdmanet-token >", kNodeFiles, "/token"));
    std::ofstream(kNodeFiles + "/rdmanet.kubeconfig") << replaced(
        source_text("conf-examples/rdmanet.kubeconfig"), "https://192.0.2.1:6443", shell(cluster() + "/get --url"));
}

NodeOfCluster::~NodeOfCluster() {
    std::error_code ignored; // a test's end; the next one writes its own files
    std::filesystem::remove_all(kNodeFiles, ignored);
    std::filesystem::remove_all("/run/rdmanet", ignored); // has blocks that only this kubeconfig leads to
}

} // namespace rdmanet::test

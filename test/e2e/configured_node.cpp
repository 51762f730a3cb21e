#include "configured_node.hpp"

#include "attachment_stage.hpp"
#include "cluster_stage.hpp"
#include "markdown.hpp"

#include "support/concat.hpp"
#include "support/process.hpp"

#include <filesystem>
#include <fstream>

namespace rdmanet::test {

ConfiguredNode::ConfiguredNode() {
    std::filesystem::create_directories(kNodeFiles);
}

ConfiguredNode::~ConfiguredNode() {
    std::error_code ignored; // a test's end; the next one writes its own files
    std::filesystem::remove_all(kNodeFiles, ignored);
}

NodeOfCluster::NodeOfCluster() {
    shell(concat("cp ", source_path("conf-examples/rdmanet.conf"), ' ', cluster(), "/pki/ca.crt ", kNodeFiles,
                 " && echo rdmanet-token >", kNodeFiles, "/token"));
    std::ofstream(kNodeFiles + "/rdmanet.kubeconfig") << replaced(
        source_text("conf-examples/rdmanet.kubeconfig"), "https://192.0.2.1:6443", shell(cluster() + "/get --url"));
}

NodeOfEtcd::NodeOfEtcd(const std::string& etcd) {
    const std::string secure = etcd + "/secure";
    shell(concat("cp ", secure, "/ca.crt ", kNodeFiles, " && cp ", secure, "/rdmanet.password ", kNodeFiles,
                 "/password"));
    const std::string text = replaced(source_text("conf-examples/rdmanet-etcd.conf"),
                                      R"("https://192.0.2.1:2379", "https://192.0.2.2:2379", "https://192.0.2.3:2379")",
                                      concat('"', shell(concat("tr -d '\n' <", secure, "/endpoints")), '"'));
    std::ofstream(kNodeFiles + "/rdmanet.conf")
        << replaced(text, R"("username")",
                    concat(R"("cert": ")", secure, R"(/client.crt", "key": ")", secure, R"(/client.key", "username")"));
}

} // namespace rdmanet::test

#include "api_server.hpp"

#include "support/concat.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/cluster/pools_store.hpp>
#include <rdmanet/json/writer.hpp>

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <variant>

namespace rdmanet::test {
namespace {

constexpr http::Limits kPatient{.connect = std::chrono::minutes(2), .request = std::chrono::minutes(2)};
constexpr const char* kPools = "/apis/whereabouts.cni.cncf.io/v1alpha1/namespaces/kube-system/ippools";

std::string directory() {
    const char* directory = std::getenv("RDMANET_CLUSTER");
    return directory == nullptr ? "" : directory;
}

void expect_done(const kube::Outcome& outcome) {
    if (const auto* refused = std::get_if<kube::Refused>(&outcome)) throw base::Error(refused->message);
}

/// Whether the line counts requests to one of our objects, in the text format of Prometheus.
bool is_of_interest(const std::string& line) {
    if (line.find("verb=\"WATCH\"") != std::string::npos) return false;
    for (const char* resource :
         {"ippools", "overlappingrangeipreservations", "leases", "addressblocks", "addressranges", "nodes"})
        if (line.find(concat("resource=\"", resource, '"')) != std::string::npos) return true;
    return false;
}

cluster::Place place(const std::string& space, const std::string& subnet) {
    return {.space = space, .subnet = base::IpPrefix::parse(subnet).value()};
}

} // namespace

base::Deadline with_patience() {
    return base::Deadline::in(std::chrono::minutes(5));
}

ApiServer::ApiServer()
    : admin_(access("admin")), client_(admin_.server, admin_.tls, kPatient), api_(connect("admin")) {}

bool ApiServer::is_there() {
    return !directory().empty();
}

kube::Access ApiServer::access(const std::string& user) {
    return kube::read_kubeconfig(concat(directory(), '/', user, ".kubeconfig"));
}

std::unique_ptr<kube::Api> ApiServer::connect(const std::string& user) {
    return std::make_unique<kube::Api>(access(user), kPatient);
}

Requests ApiServer::count() {
    const http::Response answer = client_.ask(
        {.method = "GET", .target = "/metrics", .headers = {{"Authorization", admin_.authorization}}}, with_patience());
    if (answer.status != 200) throw base::Error(concat("the API server's /metrics: HTTP ", answer.status));
    Requests requests;
    std::istringstream lines(answer.body);
    for (std::string line; std::getline(lines, line);) {
        const double value = std::strtod(line.c_str() + std::min(line.rfind(' '), line.size()), nullptr);
        if (line.starts_with("process_cpu_seconds_total ")) requests.cpu_seconds = value;
        if (line.starts_with("apiserver_request_total{") && is_of_interest(line)) requests.all += value;
    }
    return requests;
}

void ApiServer::make_node(const std::string& name, const std::string& boot) {
    json::Writer node;
    node.begin_object().member("apiVersion", "v1").member("kind", "Node").key("metadata").begin_object();
    node.member("name", name).end_object().key("status").begin_object().key("nodeInfo").begin_object();
    node.member("machineID", concat("machine-", name)).member("bootID", boot);
    for (const char* key : {"architecture", "containerRuntimeVersion", "kernelVersion", "kubeProxyVersion",
                            "kubeletVersion", "operatingSystem", "osImage", "systemUUID"})
        node.member(key, "x");
    node.end_object().end_object().end_object();
    expect_done(api_->create("/api/v1/nodes", node.to_text(), with_patience()));
}

void ApiServer::declare_range(const std::string& space, const std::string& range) {
    json::Writer object;
    object.begin_object().member("apiVersion", "rdmanet.cni/v1alpha1").member("kind", "AddressRange");
    object.key("metadata").begin_object().member("name", space).end_object();
    object.key("spec").begin_object().member("networkName", space).member("range", range).end_object().end_object();
    expect_done(api_->create("/apis/rdmanet.cni/v1alpha1/addressranges", object.to_text(), with_patience()));
}

void ApiServer::make_pool(const std::string& space, const std::string& subnet, unsigned records) {
    json::Writer pool;
    pool.begin_object().member("apiVersion", "whereabouts.cni.cncf.io/v1alpha1").member("kind", "IPPool");
    pool.key("metadata").begin_object().member("name", cluster::pool_name(place(space, subnet)));
    pool.end_object().key("spec").begin_object().member("range", subnet).key("allocations").begin_object();
    for (unsigned number = 1; number <= records; ++number) {
        const std::string id = std::to_string(100'000 + number); // ids of one length, as containers have them
        pool.key(std::to_string(number)).begin_object().member("id", concat(std::string(58, 'c'), id));
        pool.member("podref", concat("tenant-workloads/trainer-", id, "-replica-x")).member("ifname", "net1");
        pool.end_object();
    }
    pool.end_object().end_object().end_object();
    expect_done(api_->create(kPools, pool.to_text(), with_patience()));
}

void ApiServer::delete_pool(const std::string& space, const std::string& subnet) {
    const std::string path = concat(kPools, '/', cluster::pool_name(place(space, subnet)));
    const kube::Outcome pool = api_->get(path, with_patience(), kube::Shape::metadata);
    expect_done(pool);
    const auto metadata = std::get<kube::Object>(pool).content.root().at("metadata");
    expect_done(api_->remove(path, {.uid = metadata.at("uid").string(), .resource_version = {}}, with_patience()));
}

} // namespace rdmanet::test

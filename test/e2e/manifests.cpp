#include "manifests.hpp"

#include "support/concat.hpp"

#include <rdmanet/base/error.hpp>
#include <rdmanet/json/reader.hpp>

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <sstream>

namespace rdmanet::test {

namespace {

const char* const kNetworks = "k8s.v1.cni.cncf.io/networks";
const char* const kResource = "k8s.v1.cni.cncf.io/resourceName";
const char* const kOperatorsPrefix = "openshift.io"; // the operator's default

std::string name_of(const YAML::Node& object) {
    return object["metadata"]["name"].as<std::string>();
}

std::string namespace_of(const YAML::Node& object) {
    return object["metadata"]["namespace"].as<std::string>("default");
}

/// Empty without "spec". Multus then reads the list with the network's name from a directory of the node.
std::string config_of(const YAML::Node& definition) {
    const YAML::Node spec = definition["spec"];
    return spec ? spec["config"].as<std::string>() : "";
}

std::string resource_of(const YAML::Node& definition) {
    const YAML::Node annotations = definition["metadata"]["annotations"];
    return annotations ? annotations[kResource].as<std::string>("") : "";
}

std::string trimmed(const std::string& text) {
    const auto first = text.find_first_not_of(" \n\t");
    return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(" \n\t") - first + 1);
}

std::string qualified(const std::string& name, const std::string& pod_namespace) {
    return name.find('/') == std::string::npos ? concat(pod_namespace, '/', name) : name;
}

/// Parses "name" or "namespace/name@interface", separated by commas.
std::vector<NetworkRequest> parse_short(const std::string& annotation, const std::string& pod_namespace) {
    std::vector<NetworkRequest> requests;
    std::istringstream stream(annotation);
    for (std::string element; std::getline(stream, element, ',');) {
        element = trimmed(element);
        const auto at = element.find('@');
        requests.push_back({.key = qualified(element.substr(0, at), pod_namespace),
                            .ifname = at == std::string::npos ? "" : element.substr(at + 1)});
    }
    return requests;
}

std::vector<NetworkRequest> parse_json(const std::string& annotation, const std::string& pod_namespace) {
    std::vector<NetworkRequest> requests;
    const json::Document document = json::Document::parse(annotation);
    for (const json::Reader& element : document.root().elements()) {
        const auto text = [&](const char* key) {
            const auto member = element.find(key);
            return member ? member->string() : std::string();
        };
        const std::string space = text("namespace");
        NetworkRequest request{.key = qualified(text("name"), space.empty() ? pod_namespace : space),
                               .ifname = text("interface"),
                               .mac = text("mac"),
                               .guid = text("infiniband-guid")};
        if (const auto ips = element.find("ips"))
            for (const json::Reader& ip : ips->elements()) request.ips.push_back(ip.string());
        requests.push_back(std::move(request));
    }
    return requests;
}

std::vector<NetworkRequest> parse_annotation(const std::string& annotation, const std::string& pod_namespace) {
    auto requests = annotation.find_first_of("[{\"") == std::string::npos ? parse_short(annotation, pod_namespace)
                                                                          : parse_json(annotation, pod_namespace);
    for (std::size_t at = 0; at < requests.size(); ++at)
        if (requests[at].ifname.empty()) requests[at].ifname = concat("net", at + 1);
    return requests;
}

bool locks_memory(const YAML::Node& container) {
    const YAML::Node added = container["securityContext"]["capabilities"]["add"];
    return std::any_of(added.begin(), added.end(),
                       [](const auto& name) { return name.template as<std::string>() == "IPC_LOCK"; });
}

PodManifest parse_pod(const YAML::Node& object) {
    PodManifest pod{.pod_namespace = namespace_of(object), .name = name_of(object), .networks = {}};
    pod.networks = parse_annotation(object["metadata"]["annotations"][kNetworks].as<std::string>(), pod.pod_namespace);
    for (const YAML::Node& container : object["spec"]["containers"]) {
        pod.every_container_locks_memory = pod.every_container_locks_memory && locks_memory(container);
        for (const auto& limit : container["resources"]["limits"])
            pod.resources[limit.first.as<std::string>()] += limit.second.as<unsigned>();
    }
    return pod;
}

std::vector<std::string> strings_of(const json::Reader& array) {
    std::vector<std::string> strings;
    for (const json::Reader& element : array.elements()) strings.push_back(element.string());
    return strings;
}

/// The plugin's own default of "resourcePrefix" is "rdma".
void parse_shared_devices(const json::Reader& list, std::vector<DeviceResource>& into) {
    for (const json::Reader& element : list.elements()) {
        const auto prefix = element.find("resourcePrefix");
        DeviceResource resource{
            .name = concat(prefix ? prefix->string() : "rdma", '/', element.at("resourceName").string()),
            .interfaces = strings_of(element.at("selectors").at("ifNames"))};
        into.push_back(std::move(resource));
    }
}

bool selects_only(const json::Reader& selector, const char* key, const std::string& wanted) {
    const auto selected = selector.find(key);
    return selected && strings_of(*selected) == std::vector<std::string>{wanted};
}

/// Not every auxiliary device is a sub-function: only a selector with "auxTypes" chooses sub-functions.
void parse_functions(const json::Reader& list, std::vector<FunctionResource>& into) {
    for (const json::Reader& element : list.elements()) {
        const auto type = element.find("deviceType");
        const bool is_auxiliary = type && type->string() == "auxNetDevice";
        for (const json::Reader& selector : element.at("selectors").elements())
            into.push_back(
                {.name = concat(element.at("resourcePrefix").string(), '/', element.at("resourceName").string()),
                 .pfs = strings_of(selector.at("pfNames")),
                 .is_rdma = selector.at("isRdma").boolean(),
                 .is_infiniband = selects_only(selector, "linkTypes", "infiniband"),
                 .is_subfunction = is_auxiliary && selects_only(selector, "auxTypes", "sf"),
                 .from = "ConfigMap"});
    }
}

/// Parses the configuration of the RDMA shared device plugin or of the SR-IOV network device plugin.
void parse_device_plugin(const YAML::Node& object, Manifests& into) {
    const json::Document document = json::Document::parse(object["data"]["config.json"].as<std::string>());
    if (const auto functions = document.root().find("resourceList"))
        parse_functions(*functions, into.function_resources);
    else
        parse_shared_devices(document.root().at("configList"), into.resources);
}

FunctionResource parse_policy(const YAML::Node& spec) {
    FunctionResource resource{.name = concat(kOperatorsPrefix, '/', spec["resourceName"].as<std::string>()),
                              .pfs = spec["nicSelector"]["pfNames"].as<std::vector<std::string>>(),
                              .is_rdma = spec["isRdma"].as<bool>(),
                              .is_infiniband = spec["linkType"].as<std::string>() == "ib",
                              .from = "SriovNetworkNodePolicy"};
    // The policy's definition requires the first two. Another deviceType makes a VF without a net device.
    if (spec["numVfs"].as<unsigned>() == 0 || spec["nodeSelector"].size() == 0 ||
        spec["deviceType"].as<std::string>() != "netdevice")
        throw base::Error(concat("policy of ", resource.name, " makes no VF with a net device"));
    return resource;
}

NodeScript parse_daemon_set(const YAML::Node& pod) {
    const YAML::Node container = pod["containers"][0];
    return {.script = container["command"][2].as<std::string>(),
            .sees_processes = pod["hostPID"].as<bool>(),
            .privileged = container["securityContext"]["privileged"].as<bool>()};
}

ClusterJob parse_cron_job(const YAML::Node& object) {
    const YAML::Node pod = object["spec"]["jobTemplate"]["spec"]["template"]["spec"];
    const YAML::Node container = pod["containers"][0];
    ClusterJob job{.service_account = concat(namespace_of(object), '/', pod["serviceAccountName"].as<std::string>()),
                   .command = container["command"].as<std::vector<std::string>>(),
                   .is_root = !container["securityContext"]["runAsNonRoot"].as<bool>()};
    // The image has no rdmanet: the node's is mounted.
    const std::string directory = container["volumeMounts"][0]["mountPath"].as<std::string>();
    if (!job.command.front().starts_with(directory) ||
        pod["volumes"][0]["hostPath"]["path"].as<std::string>() != directory)
        throw base::Error(concat("a CronJob runs ", job.command.front(), ", which is not mounted"));
    return job;
}

} // namespace

const NetworkAttachmentDefinition& Manifests::network(const std::string& key) const {
    for (const auto& definition : networks)
        if (definition.key == key) return definition;
    throw base::Error(concat("no NetworkAttachmentDefinition ", key));
}

const PodManifest& Manifests::pod(const std::string& name) const {
    for (const PodManifest& pod : pods)
        if (pod.name == name) return pod;
    throw base::Error(concat("no pod ", name));
}

namespace {

/// test/cluster/cluster.sh gives these to a real API server, and the cases with the tag [cluster] use what it makes of
/// them.
bool is_of_api_server(const std::string& kind) {
    return kind == "CustomResourceDefinition" || kind == "ServiceAccount" || kind == "Secret" || kind == "Namespace" ||
           kind == "Role" || kind == "RoleBinding" || kind == "ClusterRole" || kind == "ClusterRoleBinding" ||
           kind == "AddressRange" || kind.starts_with("ValidatingAdmissionPolicy");
}

} // namespace

void read_manifests(const std::string& text, Manifests& into) {
    for (const YAML::Node& object : YAML::LoadAll(text)) {
        const std::string kind = object["kind"].as<std::string>();
        if (kind == "NetworkAttachmentDefinition")
            into.networks.push_back({.key = concat(namespace_of(object), '/', name_of(object)),
                                     .name = name_of(object),
                                     .config = config_of(object),
                                     .resource = resource_of(object)});
        else if (kind == "Pod")
            into.pods.push_back(parse_pod(object));
        else if (kind == "ConfigMap")
            parse_device_plugin(object, into);
        else if (kind == "SriovNetworkNodePolicy")
            into.function_resources.push_back(parse_policy(object["spec"]));
        else if (kind == "SriovNetworkPoolConfig")
            into.rdma_modes.push_back(object["spec"]["rdmaMode"].as<std::string>());
        else if (kind == "DaemonSet")
            into.node_scripts.push_back(parse_daemon_set(object["spec"]["template"]["spec"]));
        else if (kind == "CronJob")
            into.cluster_jobs.push_back(parse_cron_job(object));
        else if (!is_of_api_server(kind))
            throw base::Error(concat("no test knows what to do with a ", kind));
    }
}

} // namespace rdmanet::test

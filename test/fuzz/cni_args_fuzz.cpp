// CNI_ARGS: if ADD accepts a text, DEL reads it in the same way, and the journal and messages can hold it.
#include "refusal.hpp"

#include <rdmanet/base/format.hpp>
#include <rdmanet/cni/args.hpp>
#include <rdmanet/cni/net_conf.hpp>
#include <rdmanet/json/writer.hpp>

#include <vector>

using namespace rdmanet;
using namespace rdmanet::fuzz;

namespace {

std::string joined(const std::vector<std::string>& texts) {
    std::string all;
    for (const std::string& text : texts) all += (all.empty() ? "" : ",") + text;
    return all;
}

std::string printed(const cni::Args& args) {
    return fmt::format("K8S_POD_NAMESPACE={};K8S_POD_NAME={};K8S_POD_UID={};MAC={};IP={}", args.pod_namespace,
                       args.pod_name, args.pod_uid, args.mac, joined(args.ips));
}

std::string stored_and_loaded(const std::string& text) {
    const std::string stored = json::Writer().value(text).to_text();
    return json::Document::parse(stored).root().string();
}

void check_requested(const cni::Args& args) {
    const cni::NetConf conf = cni::parse_net_conf(R"({"name": "n"})", cni::Strictness::strict);
    const auto mac = unless_refused([&] { return cni::requested_mac(conf, args); });
    if (mac && *mac) demand(!(*mac)->mac.is_multicast() && !(*mac)->mac.is_zero(), "no MAC address of an interface");
    const auto ips = unless_refused([&] { return cni::requested_ips(conf, args); });
    if (!ips) return;
    demand(ips->size() == args.ips.size(), "an address was lost");
    for (const cni::RequestedIp& ip : *ips)
        demand(ip.prefix_length.value_or(0) <= base::address_bits(ip.address.family()), "an impossible prefix length");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    const std::string_view text = as_text(data, size);
    const cni::Args lenient = cni::parse_args(text, cni::Strictness::lenient);
    const auto strict = unless_refused([&] { return cni::parse_args(text, cni::Strictness::strict); });
    if (!strict) return 0;
    const std::string once = printed(*strict);
    demand(printed(lenient) == once, "DEL understands something else than ADD");
    demand(printed(cni::parse_args(once, cni::Strictness::strict)) == once, "printed, it means something else");
    demand(stored_and_loaded(once) == once, "the journal can't hold it");
    check_requested(*strict);
    return 0;
}

// Many pods come and go at the same time. No address is given twice, no attachment is half done, and nothing is left.
//
//   RDMANET_FAULT_PODS    how many at a time; default 100
#include "sampling.hpp"
#include "stage.hpp"

#include "support/concat.hpp"
#include "support/reporter.hpp"

#include <rdmanet/base/text.hpp>

#include <catch2/catch.hpp>

#include <cstdlib>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace rdmanet::test {
namespace {

unsigned number_of_pods() {
    const char* chosen = std::getenv("RDMANET_FAULT_PODS");
    return chosen != nullptr ? static_cast<unsigned>(std::strtoul(chosen, nullptr, 10)) : 100;
}

std::vector<ProcessResult> run_together(const std::vector<PluginCall>& calls) {
    std::vector<ProcessResult> results(calls.size());
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < calls.size(); ++i) threads.emplace_back([&, i] { results[i] = calls[i].run(); });
    for (std::thread& thread : threads) thread.join();
    return results;
}

std::vector<std::string> addresses_of(const ProcessResult& result) {
    const json::Document document = document_of(result);
    std::vector<std::string> addresses;
    for (const json::Reader& ip : document.root().at("ips").elements()) addresses.push_back(ip.at("address").string());
    return addresses;
}

/// 256 different MACs are enough. A parent refuses children with the same MAC.
std::string mac_of(unsigned number) {
    constexpr const char* kDigits = "0123456789abcdef";
    return concat("02:00:00:00:01:", kDigits[number / 16 % 16], kDigits[number % 16]);
}

void come_and_go_together(const char* kind) {
    NEEDS(missing_for(kind, Ipam::built_in).empty(), missing_for(kind, Ipam::built_in));
    Stage stage(kind, Ipam::built_in);
    std::vector<std::unique_ptr<Pod>> pods;
    std::vector<PluginCall> adds;
    for (unsigned i = 0; i < number_of_pods(); ++i) {
        pods.push_back(std::make_unique<Pod>(concat("many-", i)));
        adds.push_back(stage.call("ADD"));
        adds.back().container = concat("container-", i);
        adds.back().netns = pods.back()->path();
        adds.back().args = concat("IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME=many-", i,
                                  ";K8S_POD_UID=uid-", i, ";MAC=", mac_of(i));
    }
    const NodeState before = NodeState::take();
    for (int round = 0; round < 2; ++round) {
        std::set<std::string> addresses;
        for (const ProcessResult& result : run_together(adds)) {
            INFO(result.out << result.err);
            CHECK(result.exit_status == 0);
            if (result.exit_status != 0) continue;
            for (const std::string& address : addresses_of(result)) CHECK(addresses.insert(address).second);
        }
        CHECK(addresses.size() == std::size_t{2} * number_of_pods());
        std::vector<PluginCall> dels;
        for (const PluginCall& add : adds) dels.push_back(add.with_command("DEL"));
        for (const ProcessResult& result : run_together(dels)) {
            INFO(result.out << result.err);
            CHECK(result.exit_status == 0);
            CHECK(result.out.empty());
        }
        CHECK(difference_from(before) == "");
    }
}

} // namespace

TEST_CASE("many pods come and go at the same time", "[parallel]") {
    come_and_go_together("macvlan");
}

TEST_CASE("many pods whose interfaces another plugin makes come and go at the same time", "[parallel][ipam-only]") {
    come_and_go_together("ipam-only");
}

} // namespace rdmanet::test

// The client against gRPC's own server.
#include "connection.hpp"

#include <rdmanet/podresources/client.hpp>

#include <rdmanet/base/unique_fd.hpp>

#include "support/directory.hpp"
#include "support/kubelet.hpp"

#include <catch2/catch.hpp>

#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <chrono>
#include <cstring>
#include <string>

using namespace rdmanet;
using namespace rdmanet::podresources;
using Catch::Contains;

namespace {

struct Folder : rdmanet::test::Directory {
    [[nodiscard]] std::string socket() const { return file("kubelet.sock"); }
};

base::UniqueFd bound_to(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strcpy(address.sun_path, path.c_str());
    base::UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    REQUIRE(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    return fd;
}

base::Deadline soon() {
    return base::Deadline::in(std::chrono::seconds(30));
}

constexpr const char* kState = R"({"allocatable": {"example.com/vf": ["0000:3b:00.2", "0000:3b:00.3"], "rdma/a": ["0"]},
    "pods": [{"namespace": "shop", "name": "till", "devices": {"example.com/vf": ["0000:3b:00.2"]}},
             {"namespace": "shop", "name": "door", "devices": {}}]})";

} // namespace

TEST_CASE("the client reads what a gRPC server answers") {
    const Folder folder;
    const test::Kubelet kubelet(folder.socket(), kState);
    const auto pods = list_pods(folder.socket(), soon());
    REQUIRE(pods.size() == 2);
    CHECK((pods[0].name_space == "shop" && pods[0].name == "till"));
    REQUIRE(pods[0].devices.size() == 1);
    CHECK(pods[0].devices[0].ids == std::vector<std::string>{"0000:3b:00.2"});
    CHECK(pods[1].devices.empty());
    const auto allocatable = list_allocatable(folder.socket(), soon());
    REQUIRE(allocatable.size() == 3);
    CHECK(allocatable[1].ids == std::vector<std::string>{"0000:3b:00.3"});
    CHECK(allocatable[2].resource == "rdma/a");

    kubelet.set(R"({"pods": []})");
    CHECK(list_pods(folder.socket(), soon()).empty());
    CHECK_THROWS_WITH(list_allocatable(folder.socket(), soon()),
                      Contains("GetAllocatableResources: gRPC status 12") && Contains("unknown method"));
}

TEST_CASE("an answer is read in many pieces, and one that is too large is refused") {
    const Folder folder;
    const auto state = [](std::size_t pods) {
        std::string text = R"({"allocatable": {}, "pods": [)";
        for (std::size_t number = 0; number < pods; ++number)
            text += (number == 0 ? "" : ",") + std::string(R"({"namespace": "n", "name": "p)") +
                    std::to_string(number) + R"(", "devices": {"example.com/a-resource-with-a-long-name": [")" +
                    std::string(4000, 'x') + R"("]}})";
        return text + "]}";
    };
    const test::Kubelet kubelet(folder.socket(), state(500)); // 2 MB
    const auto pods = list_pods(folder.socket(), soon());
    REQUIRE(pods.size() == 500);
    CHECK((pods.back().name == "p499" && pods.back().devices.at(0).ids.at(0).size() == 4000));
    kubelet.set(state(4500)); // 18 MB
    CHECK_THROWS_WITH(list_pods(folder.socket(), soon()), Contains("more than 16777216 bytes"));
}

TEST_CASE("a kubelet that is not there, or says nothing, is an error before the deadline is over") {
    const Folder folder;
    CHECK_THROWS_WITH(list_pods(folder.socket(), soon()), Contains("kubelet.sock") && Contains("no such file"));
    CHECK_THROWS_WITH(list_pods(folder.socket() + std::string(100, 'x'), soon()), Contains("107 at most"));
    {
        const test::Kubelet kubelet(folder.socket(), R"({"silent": true})");
        CHECK_THROWS_WITH(list_pods(folder.socket(), base::Deadline::in(std::chrono::milliseconds(100))),
                          Contains("no answer in time"));
    }

    folder.remove("kubelet.sock");
    const base::UniqueFd listener = bound_to(folder.socket());
    CHECK_THROWS_WITH(list_pods(folder.socket(), soon()), Contains("connection refused"));
    REQUIRE(::listen(listener.get(), 1) == 0);
    CHECK_THROWS_WITH(list_pods(folder.socket(), base::Deadline::in(std::chrono::milliseconds(100))),
                      Contains("no answer in time"));
}

TEST_CASE("a kubelet that always has more to say does not prolong the call") {
    const Folder folder;
    const base::UniqueFd listener = bound_to(folder.socket());
    REQUIRE(::listen(listener.get(), 2) == 0);
    std::array<std::uint8_t, 4> bytes{};
    for (const auto& [time, is_late] : {std::pair{std::chrono::seconds(30), false}, {std::chrono::seconds(0), true}}) {
        const Connection connection(folder.socket(), base::Deadline::in(time));
        const base::UniqueFd server(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
        REQUIRE(::send(server.get(), "more", bytes.size(), MSG_NOSIGNAL) == 4);
        if (is_late)
            CHECK_THROWS_WITH(connection.receive(bytes), Contains("no answer in time"));
        else
            CHECK(connection.receive(bytes) == bytes.size());
    }
}

#include <rdmanet/podresources/client.hpp>

#include "answers.hpp"
#include "call.hpp"
#include "protobuf.hpp"

#include <rdmanet/base/format.hpp>

#include <string_view>

namespace rdmanet::podresources {
namespace {

constexpr std::string_view kList = "/v1.PodResourcesLister/List";
constexpr std::string_view kGetAllocatable = "/v1.PodResourcesLister/GetAllocatableResources";

template <class Parse>
auto ask(const std::string& socket, std::string_view method, const base::Deadline& deadline, Parse parse) {
    const std::string answer = call(socket, method, deadline);
    try {
        return parse(answer);
    } catch (const MessageError& error) {
        throw CallError(fmt::format("{}: {}: the answer is not a message: {}", socket, method, error.what()));
    }
}

} // namespace

std::vector<Pod> list_pods(const std::string& socket, const base::Deadline& deadline) {
    return ask(socket, kList, deadline, parse_pods);
}

std::vector<Devices> list_allocatable(const std::string& socket, const base::Deadline& deadline) {
    return ask(socket, kGetAllocatable, deadline, parse_allocatable);
}

} // namespace rdmanet::podresources
